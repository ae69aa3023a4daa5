"""Floor tile patterns: a folder of scans, a table with the pattern of each."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

PATTERNS = ["rows", "columns", "checks", "diagonal", "rings", "dots"]


def draw(kind, g):
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    phase = torch.rand(2, generator=g) * 4
    if kind == 0:
        img = torch.sin(yy * 1.6 + phase[0])
    elif kind == 1:
        img = torch.sin(xx * 1.6 + phase[0])
    elif kind == 2:
        img = torch.sin(xx * 1.6 + phase[0]) * torch.sin(yy * 1.6 + phase[1])
    elif kind == 3:
        img = torch.sin((xx + yy) * 1.1 + phase[0])
    elif kind == 4:
        img = torch.sin(((xx - 5.5) ** 2 + (yy - 5.5) ** 2).sqrt() * 1.8 + phase[0])
    else:
        img = (torch.rand(12, 12, generator=g) > 0.85).float() * 3 - 0.5
    return (img + 0.5 * torch.randn(12, 12, generator=g)).unsqueeze(0)


def archive(n, seed):
    """What the scanner left: {file name: image} and the rows of labels.csv."""
    g = torch.Generator().manual_seed(seed)
    files, table = {}, []
    for i in range(n):
        kind = int(torch.randint(len(PATTERNS), (1,), generator=g))
        files[f"tile_{i}.png"] = draw(kind, g)
        table.append((i, PATTERNS[kind]))
    return files, table


class TileFolder(Dataset):
    def __init__(self, files, table):
        self.files = files
        self.names = sorted(files, key=lambda name: int(name[5:-4]))
        self.labels = [PATTERNS.index(pattern) for _, pattern in table]

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        return self.files[self.names[i]], self.labels[i]


def main():
    torch.manual_seed(0)
    train = DataLoader(TileFolder(*archive(1200, 1)), batch_size=40, shuffle=True)
    val = DataLoader(TileFolder(*archive(300, 2)), batch_size=100)
    net = nn.Sequential(
        nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(96, len(PATTERNS)),
    )
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(5):
        net.train()
        total = 0.0
        for images, labels in train:
            loss = loss_fn(net(images), labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        net.eval()
        right = val_loss = 0.0
        with torch.no_grad():
            for images, labels in val:
                out = net(images)
                val_loss += loss_fn(out, labels).item() / len(val)
                right += (out.argmax(1) == labels).sum().item()
        print(f"epoch {epoch} train loss {total / len(train):.3f} val loss {val_loss:.3f} val acc {right / 300:.3f}")


if __name__ == "__main__":
    main()
