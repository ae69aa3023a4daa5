import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    """White shapes on a noisy 12x12 background: disc, ring, cross, frame."""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
        self.y = torch.randint(0, 4, (n,), generator=g)
        cy, cx = 4.5 + 2 * torch.rand(2, n, 1, 1, generator=g)
        r = 2.5 + 1.5 * torch.rand(n, 1, 1, generator=g)
        dy, dx = yy - cy, xx - cx
        dist, cheb = (dy ** 2 + dx ** 2).sqrt(), torch.maximum(dy.abs(), dx.abs())
        masks = torch.stack([dist < r, (dist - r).abs() < 0.7, (torch.minimum(dy.abs(), dx.abs()) < 0.7) & (cheb < r), (cheb - r).abs() < 0.6], 1)
        self.x = masks[torch.arange(n), self.y].float() + 0.3 * torch.randn(n, 12, 12, generator=g)
        self.x = ((self.x - 0.25) / 0.55).unsqueeze(1)

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class Experiment:
    def __init__(self):
        torch.manual_seed(17)
        self.net = nn.Sequential(
            nn.Conv2d(1, 16, 3, stride=2, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 9, 4))
        self.opt = torch.optim.SGD(self.net.parameters(), lr=1e-2, momentum=0.9, weight_decay=1e-3)
        self.train_dl = DataLoader(Shapes(1200, 1), batch_size=40, shuffle=True)
        self.val_dl = DataLoader(Shapes(400, 2), batch_size=200)

    def train_epoch(self):
        self.net.train()
        losses = []
        for x, y in self.train_dl:
            loss = F.cross_entropy(self.net(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    @torch.no_grad()
    def val_epoch(self):
        self.net.eval()
        loss = acc = 0.0
        for x, y in self.val_dl:
            out = self.net(x)
            loss += F.cross_entropy(out, y).item() / len(self.val_dl)
            acc += (out.argmax(1) == y).float().mean().item() / len(self.val_dl)
        return loss, acc

    def run(self, epochs):
        for e in range(epochs):
            tr = self.train_epoch()
            va, acc = self.val_epoch()
            print(f"epoch {e}  train {tr:.4f}  val {va:.4f}  acc {acc:.3f}")


if __name__ == "__main__":
    Experiment().run(7)
