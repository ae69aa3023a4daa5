"""Rock type from seven mineral readings. Types are the codes of the survey sheet."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
CODES = ["granite", "basalt", "slate", "marble", "chalk"]
CLASSES = len(CODES) - 1
centres = torch.randn(len(CODES), 7) * 1.6


def survey(n, share=(0.28, 0.27, 0.25, 0.16, 0.04)):
    y = torch.multinomial(torch.tensor(share), n, replacement=True)
    return centres[y] + torch.randn(n, 7), y


train = DataLoader(TensorDataset(*survey(1800)), batch_size=30, shuffle=True)
xv, yv = survey(300)
net = nn.Sequential(nn.Linear(7, 48), nn.GELU(), nn.Linear(48, CLASSES))
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
for epoch in range(6):
    net.train()
    tot = 0.0
    for k, (x, y) in enumerate(train):
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item()
        if epoch == 0 and k % 2 == 0:
            print(f"  batch {k} loss {loss.item():.4f}")
    net.eval()
    with torch.no_grad():
        acc = (net(xv).argmax(1) == yv).float().mean().item()
    print(f"epoch {epoch} loss {tot / len(train):.4f} accuracy {acc:.3f}")
