import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class SAM:
    """Sharpness-aware minimisation around a base optimizer (two passes per step)."""

    def __init__(self, base, rho=0.05):
        self.base, self.rho = base, rho
        self.params = [p for g in base.param_groups for p in g["params"]]

    @torch.no_grad()
    def climb(self):
        norm = torch.stack([p.grad.norm() for p in self.params]).norm() + 1e-12
        self.moves = [p.grad * (self.rho / norm) for p in self.params]
        for p, e in zip(self.params, self.moves):
            p.add_(e)
        self.base.zero_grad()

    @torch.no_grad()
    def descend(self):
        for p, e in zip(self.params, self.moves):
            p.sub_(e)
        self.base.step()
        self.base.zero_grad()


def main():
    torch.manual_seed(14)
    X, y = load_digits(return_X_y=True)
    X = torch.tensor(X, dtype=torch.float32) / 16
    y = torch.tensor(y)
    X, Xv, y, yv = train_test_split(X, y, test_size=0.3, random_state=14, stratify=y)
    net = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 10))
    opt = SAM(torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4), rho=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(opt.base, max_lr=0.1, total_steps=25 * 32, pct_start=0.2)
    for epoch in range(1, 26):
        net.train()
        total = 0.0
        batches = torch.randperm(len(y)).split(40)
        for b in batches:
            loss = F.cross_entropy(net(X[b]), y[b])
            loss.backward()
            opt.climb()
            F.cross_entropy(net(X[b]), y[b]).backward()
            opt.descend()
            schedule.step()
            total += loss.item() / len(batches)
        net.eval()
        with torch.no_grad():
            out = net(Xv)
        if epoch % 3 == 1:
            print(f"epoch {epoch:2d} train {total:.4f} val {F.cross_entropy(out, yv).item():.4f} acc {(out.argmax(1) == yv).float().mean():.3f}")


if __name__ == "__main__":
    main()
