# classify the nesting depth of bracket strings with a small GRU
import torch
import torch.nn as nn
import random

random.seed(21)
torch.manual_seed(21)
VOCAB = {"(": 0, ")": 1, "a": 2, "b": 3}
T = 14


def make(depth):
    while True:
        s, d, mx = [], 0, 0
        for _ in range(T):
            c = random.choice("(()ab") if d < depth else random.choice(")ab")
            if c == ")" and d == 0:
                c = "a"
            d += {"(": 1, ")": -1}.get(c, 0)
            mx = max(mx, d)
            s.append(c)
        if mx == depth:
            return s


def dataset(n):
    xs, ys = [], []
    for i in range(n):
        k = random.randint(0, 3)
        xs.append([VOCAB[c] for c in make(k + 1)])
        ys.append(k)
    return torch.tensor(xs), torch.tensor(ys)


class DepthGRU(nn.Module):
    def __init__(self, hid=32):
        super().__init__()
        self.emb = nn.Embedding(4, 8)
        self.gru = nn.GRU(8, hid, batch_first=True)
        self.out = nn.Linear(hid, 4)

    def forward(self, x):
        h, _ = self.gru(self.emb(x))
        return self.out(h.max(dim=1).values)


LR = 0.006
EPOCHS = 14
x, y = dataset(1600)
xv, yv = dataset(400)
model = DepthGRU()
opt = torch.optim.Adam(model.parameters(), lr=LR)
ce = nn.CrossEntropyLoss()
for epoch in range(EPOCHS):
    tot = 0
    for b in torch.randperm(1600).split(64):
        opt.zero_grad()
        l = ce(model(x[b]), y[b])
        l.backward()
        opt.step()
        tot += l.item() * len(b) / 1600
    with torch.no_grad():
        o = model(xv)
        print(f"epoch {epoch + 1:2d}/{EPOCHS} loss {tot:.4f} val_loss {ce(o, yv).item():.4f} val_acc {(o.argmax(1) == yv).float().mean().item():.3f}")
