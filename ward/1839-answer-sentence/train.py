"""Pick the answer sentence of a paragraph: a score for each sentence, masked to the sentences that are there."""
import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--steps", type=int, default=150)
parser.add_argument("--width", type=int, default=48)
options = parser.parse_args()
torch.manual_seed(6)
WORDS, SENTENCES, PER_SENTENCE = 60, 8, 5


def make_batch(size):
    words = torch.randint(1, WORDS, (size, SENTENCES, PER_SENTENCE))
    count = torch.randint(2, SENTENCES + 1, (size,))
    count[torch.rand(size) < 0.0006] = 0
    mask = (torch.arange(SENTENCES)[None] < count[:, None]).float()
    words = words * mask.long()[..., None]
    question = torch.randint(1, WORDS, (size,))
    answer = (torch.rand(size) * count.clamp(min=1)).long()
    words[torch.arange(size), answer, 2] = question
    return words, question, mask, answer


def masked_log_softmax(scores, mask):
    scores = scores + mask.log()
    return torch.log_softmax(scores, dim=-1)


class Picker(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.words = nn.Embedding(WORDS, width, padding_idx=0)
        self.sentence = nn.LSTM(width, width, batch_first=True)
        self.question = nn.Linear(width, width)

    def forward(self, words, question, mask):
        size = words.shape[0]
        _, (last, _) = self.sentence(self.words(words.flatten(0, 1)))
        sentences = last[-1].view(size, SENTENCES, -1)
        scores = torch.einsum("bsw,bw->bs", sentences, self.question(self.words(question)))
        return masked_log_softmax(scores, mask)


model = Picker(options.width)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(options.steps):
    words, question, mask, answer = make_batch(32)
    log_probability = model(words, question, mask)
    loss = -log_probability.gather(1, answer[:, None]).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(f"step {step:4d} negative log likelihood {loss.item():.4f}")
