# find which of four motifs is planted in a random DNA string
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
BASES = "ACGT"
MOTIFS = ["TATAAT", "GGCCAA", "CACGTG", "GATTAC"]


def sample():
    k = random.randrange(4)
    s = [random.choice(BASES) for _ in range(40)]
    at = random.randrange(40 - 6)
    m = list(MOTIFS[k])
    if random.random() < 0.3:
        m[random.randrange(6)] = random.choice(BASES)
    s[at:at + 6] = m
    return "".join(s), k


def one_hot(s):
    return F.one_hot(torch.tensor([BASES.index(c) for c in s]), 4).float().t()


def dataset(n):
    pairs = [sample() for _ in range(n)]
    return torch.stack([one_hot(s) for s, _ in pairs]), torch.tensor([k for _, k in pairs])


class MotifNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 24, 6)
        self.fc = nn.Linear(24, 4)
        self.logsoftmax = nn.LogSoftmax(dim=1)

    def forward(self, x):
        h = F.relu(self.conv(x)).amax(-1)
        return self.logsoftmax(self.fc(h))


Xt, yt = dataset(3000)
Xv, yv = dataset(600)
net, criterion = MotifNet(), nn.NLLLoss()
opt = torch.optim.Adam(net.parameters(), lr=0.008)
for epoch in range(1, 10):
    net.train()
    tot = 0.0
    for i in torch.randperm(len(yt)).split(100):
        loss = criterion(net(Xt[i]), yt[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(i) / len(yt)
    net.eval()
    with torch.no_grad():
        logp = net(Xv)
    print(f"epoch {epoch:2d} nll {tot:.4f} val nll {criterion(logp, yv).item():.4f} acc {(logp.argmax(1) == yv).float().mean().item():.3f}")
