"""Which medium is in the well? Growth curves of 96-well plates (8 rows x 12 columns), one layout sheet per plate."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

ROWS, COLS, READS = 8, 12, 24
MEDIA = ["LB", "M9", "TB", "blank+"]


class PlateReader:
    """simulated robot: fills a plate by a random layout and reads all wells for two days"""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def layout(self):
        return self.rng.integers(len(MEDIA), size=(ROWS, COLS))

    def read(self, layout):
        t = np.arange(READS)
        top, lag, rate = np.array([[1.6, 6, 0.7], [0.9, 9, 0.5], [2.1, 8, 0.6], [0.5, 12, 0.3]]).T
        curves = []
        for row in "ABCDEFGH":
            for col in range(1, COLS + 1):
                m = layout["ABCDEFGH".index(row), col - 1]
                x = (t - lag[m] * self.rng.normal(1, 0.12)) * rate[m]
                curves.append(top[m] * self.rng.normal(1, 0.12) / (1 + np.exp(-x)) + 0.08 * self.rng.normal(size=READS))
        return np.stack(curves)


def plate_dataset(reader):
    sheet = reader.layout()
    curves = reader.read(sheet)
    media = sheet.T.reshape(-1)
    x = torch.tensor((curves - 0.7) / 0.6, dtype=torch.float32).unsqueeze(1)
    return TensorDataset(x, torch.tensor(media))


class CurveNet(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.AvgPool1d(2),
            nn.Conv1d(16, 16, 5, padding=2), nn.ReLU(), nn.Flatten(),
            nn.Linear(16 * READS // 2, len(MEDIA)))


def loop(model, loader, optimizer=None):
    model.train(optimizer is not None)
    total, hits, n = 0.0, 0, 0
    for x, y in loader:
        with torch.set_grad_enabled(optimizer is not None):
            out = model(x)
            loss = nn.functional.cross_entropy(out, y)
        if optimizer:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total, hits, n = total + loss.item() * len(y), hits + (out.argmax(1) == y).sum().item(), n + len(y)
    return total / n, hits / n


torch.manual_seed(96)
reader = PlateReader(96)
train_dl = DataLoader(ConcatDataset([plate_dataset(reader) for _ in range(14)]), batch_size=32, shuffle=True)
val_dl = DataLoader(ConcatDataset([plate_dataset(reader) for _ in range(4)]), batch_size=96)
model = CurveNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(1, 8):
    tl, ta = loop(model, train_dl, optimizer)
    vl, va = loop(model, val_dl)
    print(f"epoch {epoch} train {tl:.4f} ({ta:.1%})  val {vl:.4f} ({va:.1%})")
