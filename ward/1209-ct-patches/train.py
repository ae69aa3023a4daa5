"""Tissue of CT patches (lung, fat, muscle, bone) from their Hounsfield values."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, Subset

TISSUE = {"lung": (-750.0, 140.0), "fat": (-95.0, 45.0), "muscle": (55.0, 50.0), "bone": (620.0, 260.0)}


class PatchDataset(Dataset):
    """12x12 patches in HU; borders show a neighbouring tissue"""

    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        mean = torch.tensor([m for m, _ in TISSUE.values()])
        grain = torch.tensor([s for _, s in TISSUE.values()])
        self.label = torch.randint(4, (n,), generator=g)
        other = torch.randint(4, (n,), generator=g)
        hu = mean[self.label].view(n, 1, 1) + grain[self.label].view(n, 1, 1) * torch.randn(n, 12, 12, generator=g)
        edge = mean[other].view(n, 1, 1) + grain[other].view(n, 1, 1) * torch.randn(n, 12, 12, generator=g)
        width = torch.randint(0, 5, (n,), generator=g).view(n, 1, 1)
        inside = torch.arange(12).view(1, 1, 12) >= width
        drift = 55 * torch.randn(n, 1, 1, generator=g)          # calibration of the scanner
        self.hu = (torch.where(inside, hu, edge) + drift).round()

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        patch = self.hu[i].unsqueeze(0)
        if torch.rand(()) < 0.5:
            patch = patch.flip(1)
        return patch, self.label[i]


class TissueNet(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(width, 2 * width, 3), nn.ReLU(), nn.Flatten())
        self.classifier = nn.Sequential(nn.Linear(2 * width * 9, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        return self.classifier(self.features(x))


class Trainer:
    def __init__(self, model, train, val, lr):
        self.model, self.train_dl, self.val_dl = model, train, val
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.crit = nn.CrossEntropyLoss()

    def one_epoch(self):
        self.model.train()
        losses = []
        for x, y in self.train_dl:
            loss = self.crit(self.model(x), y)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    @torch.no_grad()
    def check(self):
        self.model.eval()
        outs, ys = zip(*[(self.model(x), y) for x, y in self.val_dl])
        out, y = torch.cat(outs), torch.cat(ys)
        return self.crit(out, y).item(), (out.argmax(1) == y).float().mean().item()

    def fit(self, epochs):
        for e in range(epochs):
            tr = self.one_epoch()
            vl, va = self.check()
            print(f"epoch {e + 1}: train loss {tr:.4f} val loss {vl:.4f} val acc {va:.3f}")


if __name__ == "__main__":
    torch.manual_seed(44)
    data = PatchDataset(2000, seed=44)
    train = DataLoader(Subset(data, range(1600)), batch_size=32, shuffle=True)
    val = DataLoader(Subset(data, range(1600, 2000)), batch_size=200)
    Trainer(TissueNet(), train, val, lr=0.005).fit(5)
