"""Tell three plastics apart from near-infrared spectra (simulated spectrometer)."""
import torch
from torch import nn

N_TRAIN, N_VAL, N_BANDS = 160, 400, 120
CENTRES = {0: (25, 60, 88), 1: (27, 60, 92), 2: (25, 64, 90)}

g = torch.Generator().manual_seed(31)
torch.manual_seed(31)


def spectra(n):
    bands = torch.arange(N_BANDS).float()
    y = torch.randint(0, 3, (n,), generator=g)
    x = torch.zeros(n, N_BANDS)
    for i in range(n):
        for c in CENTRES[int(y[i])]:
            height = 0.6 + 0.4 * torch.rand(1, generator=g)
            shift = 1.6 * torch.randn(1, generator=g)
            x[i] += height * torch.exp(-0.5 * ((bands - c - shift) / 5.0) ** 2)
        slope, offset = torch.randn(2, generator=g) * 0.3
        x[i] += offset + slope * (bands / N_BANDS - 0.5)
    x += 0.25 * torch.randn(x.shape, generator=g)
    return (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True), y


class SpectraNet(nn.Module):
    def __init__(self, channels=16, hidden=32, p=0.4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, channels, 9, padding=4), nn.ReLU(), nn.MaxPool1d(2),
            nn.Conv1d(channels, channels, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(p), nn.Linear(channels * 30, hidden), nn.ReLU(),
                                        nn.Dropout(p), nn.Linear(hidden, 3))

    def forward(self, x):
        return self.classifier(self.features(x.unsqueeze(1)))


x_train, y_train = spectra(N_TRAIN)
x_val, y_val = spectra(N_VAL)
net = SpectraNet()
opt = torch.optim.AdamW(net.parameters(), lr=7e-4, weight_decay=0.1)
ce = nn.CrossEntropyLoss()

for epoch in range(1, 28):
    net.train()
    total = hits = 0
    for idx in torch.randperm(N_TRAIN).split(20):
        out = net(x_train[idx])
        loss = ce(out, y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
        hits += (out.argmax(1) == y_train[idx]).sum().item()
    net.eval()
    with torch.no_grad():
        out = net(x_val)
    if epoch % 3 == 0 or epoch == 1:
        print(f"epoch {epoch:3d}  train loss {total / N_TRAIN:.4f} acc {hits / N_TRAIN:.3f}   "
              f"val loss {ce(out, y_val).item():.4f} acc {(out.argmax(1) == y_val).float().mean().item():.3f}")
