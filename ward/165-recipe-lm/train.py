import random

import torch
from torch import nn

random.seed(4)
torch.manual_seed(4)

VERB = "chop slice boil fry bake stir peel mash grate roast".split()
FOOD = "onions carrots rice beans noodles apples cheese lentils leeks turnips".split()
HOW = "slowly finely twice gently well".split()
WITH = "butter salt cream pepper honey garlic lemon oil".split()
N_RECIPES = 60


def recipe():
    a, b = random.sample(FOOD, 2)
    return f"<s> {random.choice(VERB)} the {a} {random.choice(HOW)} then {random.choice(VERB)} the {b} with {random.choice(WITH)} </s>".split()


train_text = [recipe() for _ in range(N_RECIPES)]
valid_text = [recipe() for _ in range(300)]
vocab = {w: i for i, w in enumerate(sorted({w for s in valid_text + train_text for w in s}))}
encode = lambda text: torch.tensor([[vocab[w] for w in s] for s in text])
train, valid = encode(train_text), encode(valid_text)


class WordLM(nn.Module):
    def __init__(self, dim=48, hidden=96):
        super().__init__()
        self.emb = nn.Embedding(len(vocab), dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(vocab))

    def forward(self, ids):
        h, _ = self.lstm(self.emb(ids[:, :-1]))
        return nn.functional.cross_entropy(self.out(h).flatten(0, 1), ids[:, 1:].flatten())


lm = WordLM()
opt = torch.optim.Adam(lm.parameters(), lr=4e-3)
for epoch in range(1, 11):
    lm.train()
    losses = []
    for _ in range(20):                                   # 20 random batches make an "epoch"
        ids = train[torch.randint(len(train), (20,))]
        loss = lm(ids)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(lm.parameters(), 5.0)
        opt.step()
        losses.append(loss.item())
    lm.eval()
    with torch.no_grad():
        v = lm(valid).item()
    print(f"epoch {epoch:2d}  train ppl {torch.tensor(losses).mean().exp():7.2f}  valid ppl {torch.tensor(v).exp():7.2f}  (loss {sum(losses) / 20:.3f} / {v:.3f})")
