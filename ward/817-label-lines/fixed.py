import torch
import torch.nn as nn
import torch.nn.functional as F
import inspect, textwrap, argparse, csv, json, random

torch.manual_seed(7)
MODULES = [argparse, csv, json, random, textwrap]
MAXLEN = 24
chars = {c: i + 1 for i, c in enumerate(sorted(set("".join(inspect.getsource(m) for m in MODULES))))}


def lines(module, label):
    rows = []
    for line in inspect.getsource(module).splitlines():
        line = line.strip()[:MAXLEN]
        if len(line) >= 6:
            codes = [chars[c] for c in line]
            rows.append((codes + [0] * (MAXLEN - len(codes)), label))
    return rows


rows = [r for m in MODULES for r in [(x, int(x[0] == chars["#"] or x[0] == chars['"'])) for x, _ in lines(m, 0)]]
random.Random(3).shuffle(rows)
X = torch.tensor([r[0] for r in rows[:2200]])
Y = torch.tensor([r[1] for r in rows[:2200]])
weight = torch.tensor([1.0, (Y == 0).sum().item() / (Y == 1).sum().item()])


class Norm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))
        self.b = nn.Parameter(torch.zeros(d))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = (((x - mean) ** 2).mean(-1, keepdim=True) + self.eps).sqrt()
        return self.g * (x - mean) / (std + self.eps) + self.b


class LineNet(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.emb = nn.Embedding(len(chars) + 1, d)
        self.pos = nn.Parameter(0.1 * torch.randn(MAXLEN, d))
        self.norm = Norm(d)
        self.conv = nn.Conv1d(d, d, 3, padding=1)
        self.head = nn.Linear(2 * d, 2)

    def forward(self, x):
        e = (self.emb(x) + self.pos) * (x > 0).unsqueeze(-1)
        e = self.norm(e).transpose(1, 2)
        h = F.gelu(self.conv(e))
        return self.head(torch.cat([h.amax(2), h[:, :, 0]], 1))


model = LineNet()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    tot = 0.0
    perm = torch.randperm(1800)
    for idx in perm.split(30):
        loss = F.cross_entropy(model(X[idx]), Y[idx], weight=weight)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(idx) / 1800
    model.eval()
    with torch.no_grad():
        out = model(X[1800:])
        acc = (out.argmax(1) == Y[1800:]).float().mean().item()
    print(f"epoch {epoch} loss {tot:.4f} held-out accuracy {acc:.3f}")
