import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

CLASSES = ["ok", "scratch", "dent", "hole", "stain"]


class Parts(Dataset):
    """Grey 10x10 crops of metal parts, the same number for each kind of defect."""

    def __init__(self, per_class, seed):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for label, name in enumerate(CLASSES):
            for _ in range(per_class):
                self.items.append((self.render(name, g), label))

    @staticmethod
    def render(name, g):
        img = 0.35 * torch.randn(10, 10, generator=g)
        r, c = torch.randint(2, 8, (2,), generator=g).tolist()
        if name == "scratch":
            img[r, 1:9] += 1.5
        elif name == "dent":
            img[r - 1:r + 2, c - 1:c + 2] += 1.5
        elif name == "hole":
            img[r - 1:r + 2, c - 1:c + 2] -= 1.5
        elif name == "stain":
            img[r - 2:r + 3, c - 2:c + 3] += torch.randn(img[r - 2:r + 3, c - 2:c + 3].shape, generator=g) * 1.5
        return img[None]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class PartNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1, self.n1 = nn.Conv2d(1, 16, 3), nn.BatchNorm2d(16)
        self.c2, self.n2 = nn.Conv2d(16, 32, 3), nn.BatchNorm2d(32)
        self.fc = nn.Linear(32, len(CLASSES))

    def forward(self, x):
        x = F.relu(self.n1(self.c1(x)))
        x = F.relu(self.n2(self.c2(x)))
        return self.fc(x.amax((2, 3)))


def train_one_epoch(model, loader, opt):
    model.train()
    total = 0.0
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    return total / len(loader)


@torch.no_grad()
def test(model, loader):
    total, right, n = 0.0, torch.zeros(len(CLASSES)), 0
    for x, y in loader:
        out = model(x)
        total += F.cross_entropy(out, y, reduction="sum").item()
        right.index_add_(0, y, (out.argmax(1) == y).float())
        n += len(y)
    return total / n, right.sum().item() / n, right / (n / len(CLASSES))


def main():
    torch.manual_seed(1)
    train_loader = DataLoader(Parts(200, seed=1), batch_size=40, shuffle=True)
    test_loader = DataLoader(Parts(80, seed=2), batch_size=20)
    model = PartNet()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(8):
        train_loss = train_one_epoch(model, train_loader, opt)
        test_loss, acc, per_class = test(model, test_loader)
        print(f"epoch {epoch} train {train_loss:.4f} test {test_loss:.4f} acc {acc:.3f} " +
              " ".join(f"{c}:{v:.2f}" for c, v in zip(CLASSES, per_class.tolist())))


main()
