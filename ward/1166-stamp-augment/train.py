"""Postage stamps by country of origin: small CNN, strong augmentation, dropout."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

COUNTRIES = 6
DESIGNS = F.avg_pool2d(torch.randn(COUNTRIES, 1, 16, 16, generator=torch.Generator().manual_seed(1)), 3, 1, 1) * 2.2


class Stamps(Dataset):
    def __init__(self, n, seed, augment):
        g = torch.Generator().manual_seed(seed)
        self.country = torch.randint(COUNTRIES, (n,), generator=g)
        self.scans = DESIGNS[self.country] + 0.6 * torch.randn(n, 1, 16, 16, generator=g)
        self.augment = augment

    def __len__(self):
        return len(self.country)

    def __getitem__(self, i):
        x = self.scans[i]
        if self.augment:
            dy, dx = torch.randint(-2, 3, (2,)).tolist()
            x = x.roll((dy, dx), (1, 2)) * (0.7 + 0.6 * torch.rand(1))
            x = x + 0.5 * torch.randn(x.shape)
            top, left = torch.randint(0, 10, (2,)).tolist()         # a postmark covers part of it
            x = x.clone()
            x[:, top:top + 6, left:left + 6] = 0.0
        return x, self.country[i]


class StampNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.drop = nn.Dropout(0.4)
        self.fc = nn.Linear(24 * 16, COUNTRIES)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


def main():
    torch.manual_seed(27)
    train = DataLoader(Stamps(800, seed=2, augment=True), batch_size=32, shuffle=True)
    val = DataLoader(Stamps(300, seed=3, augment=False), batch_size=150)
    net = StampNet()
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.01)
    for epoch in range(1, 7):
        net.train()
        loss_sum, right = 0.0, 0
        for x, y in train:
            out = net(x)
            loss = F.cross_entropy(out, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss_sum += loss.item() * len(y)
            right += (out.argmax(1) == y).sum().item()
        net.eval()
        val_sum, val_right = 0.0, 0
        with torch.no_grad():
            for x, y in val:
                out = net(x)
                val_sum += F.cross_entropy(out, y).item() * len(y)
                val_right += (out.argmax(1) == y).sum().item()
        print(f"epoch {epoch}: train loss {loss_sum / 800:.3f} acc {right / 800:.3f} | "
              f"val loss {val_sum / 300:.3f} acc {val_right / 300:.3f}")


if __name__ == "__main__":
    main()
