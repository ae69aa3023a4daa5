"""P-wave arrival (yes/no per window) with micro-batches that are added up before each update."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def traces(n, gen, length=48):
    t = torch.arange(length).float()
    onset = torch.randint(8, 36, (n, 1), generator=gen).float()
    has = torch.randint(0, 2, (n,), generator=gen)
    after = (t > onset).float()
    wave = after * torch.exp(-(t - onset).clamp(min=0) / 12) * torch.sin(1.3 * (t - onset)) * 2.5
    return (has[:, None] * wave + 0.6 * torch.randn(n, length, generator=gen))[:, None], has.float()


class Picker(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 10, 7, padding=3), nn.ReLU(), nn.MaxPool1d(3), nn.Conv1d(10, 16, 5, padding=2), nn.ReLU())
        self.fc = nn.Linear(16, 1)

    def forward(self, x):
        return self.fc(self.conv(x).amax(-1)).squeeze(1)


def main(updates_per_epoch=16, micro=10, group=6, epochs=7):
    torch.manual_seed(24)
    gen = torch.Generator().manual_seed(24)
    train = TensorDataset(*traces(updates_per_epoch * micro * group, gen))
    val_x, val_y = traces(400, gen)
    model = Picker()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    criterion = nn.BCEWithLogitsLoss(reduction="sum")
    for epoch in range(1, epochs + 1):
        model.train()
        running = 0.0
        optimizer.zero_grad()
        for i, (x, y) in enumerate(DataLoader(train, batch_size=micro, shuffle=True), 1):
            loss = criterion(model(x), y) / (micro * group)
            loss.backward()
            running += loss.item()
            if i % group == 0:
                optimizer.step()
                optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            out = model(val_x)
            val = criterion(out, val_y).item() / len(val_y)
        acc = ((out > 0).float() == val_y).float().mean().item()
        print(f"epoch {epoch} train {running / updates_per_epoch:.4f} val {val:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
