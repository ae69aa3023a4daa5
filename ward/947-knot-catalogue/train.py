"""Catalogue of knots: ten classes from 16 invariants."""
import torch
from torch import nn

CONFIG = {
    "classes": 10,
    "hidden": 2,
    "lr": 1.2e-2,
    "batch": 50,
    "epochs": 8,
}


class KnotTable(torch.utils.data.Dataset):
    def __init__(self, n, classes, seed):
        g = torch.Generator().manual_seed(100)
        centres = torch.randn(classes, 3, 16, generator=g) * 1.1
        g = torch.Generator().manual_seed(seed)
        self.y = torch.randint(classes, (n,), generator=g)
        self.x = centres[self.y, torch.randint(3, (n,), generator=g)] + 0.5 * torch.randn(n, 16, generator=g)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def build(cfg):
    return nn.Sequential(nn.Linear(16, cfg["hidden"]), nn.Tanh(), nn.Linear(cfg["hidden"], cfg["classes"]))


def run(cfg):
    torch.manual_seed(38)
    train = torch.utils.data.DataLoader(KnotTable(2500, cfg["classes"], 1), batch_size=cfg["batch"], shuffle=True)
    val = KnotTable(500, cfg["classes"], 2)
    net = build(cfg)
    opt = torch.optim.Adam(net.parameters(), lr=cfg["lr"])
    for epoch in range(cfg["epochs"]):
        net.train()
        total = 0.0
        for x, y in train:
            loss = nn.functional.cross_entropy(net(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() / len(train)
        net.eval()
        with torch.no_grad():
            out = net(val.x)
        acc = (out.argmax(1) == val.y).float().mean().item()
        print(f"epoch {epoch} loss {total:.4f} val {nn.functional.cross_entropy(out, val.y).item():.4f} acc {acc:.3f}")


run(CONFIG)
