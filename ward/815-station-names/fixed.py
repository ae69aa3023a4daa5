# generates names of places: likelihood of whole words
import torch
import torch.nn as nn
import torch.nn.functional as F
from pydoc_data.topics import topics
import re

torch.manual_seed(12)
text = " ".join(topics.values()).lower()
letters = "abcdefghijklmnopqrstuvwxyz "
stoi = {c: i for i, c in enumerate(letters)}
clean = re.sub(r"[^a-z]+", " ", text)
ids = torch.tensor([stoi[c] for c in clean[:60000]])
LEN = 40


class CharGRU(nn.Module):
    def __init__(self, d=40):
        super().__init__()
        self.emb = nn.Embedding(27, 16)
        self.gru = nn.GRU(16, d, batch_first=True)
        self.out = nn.Linear(d, 27)

    def forward(self, x):
        return self.out(self.gru(self.emb(x))[0])

    def sequence_log_likelihood(self, x):
        log_probs = F.log_softmax(self(x[:, :-1]), dim=-1)
        log_p = log_probs.gather(-1, x[:, 1:, None]).squeeze(-1)
        return log_p.sum(dim=1)


def chunks(n, lo, hi):
    start = torch.randint(lo, hi - LEN - 1, (n,))
    return ids[start[:, None] + torch.arange(LEN + 1)]


model = CharGRU()
opt = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(121):
    loss = -model.sequence_log_likelihood(chunks(20, 0, 50000)).mean() / LEN
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    if step % 20 == 0:
        with torch.no_grad():
            held = -model.sequence_log_likelihood(chunks(64, 50000, 60000)).mean().item() / LEN
        print(f"step {step:3d} nats per letter {loss.item():.4f} held-out {held:.4f}")
