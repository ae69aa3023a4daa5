"""Pre-train on plenty of machine A recordings, then adapt to machine B with very few labelled ones."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(51)
FAULTS, BANDS, HARMONICS = 8, 96, 5
CKPT = os.path.join(tempfile.mkdtemp(), "encoder_a.pt")


def signatures(seed):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(4, BANDS - 4, (FAULTS, HARMONICS), generator=g).float()


def recordings(peaks, n, gain, seed):
    """Vibration spectra: a fault shows as a handful of peaks at its own frequencies."""
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, FAULTS, (n,), generator=g)
    band = torch.arange(BANDS).float()
    speed = 1 + 0.015 * torch.randn(n, 1, 1, generator=g)
    amp = gain * (0.4 + torch.rand(n, HARMONICS, 1, generator=g))
    x = (amp * torch.exp(-0.5 * ((band - peaks[y].unsqueeze(-1) * speed) / 1.5) ** 2)).sum(1)
    return x + 0.45 * torch.randn(n, BANDS, generator=g), y


class Encoder(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.fc1 = nn.Linear(BANDS, width)
        self.fc2 = nn.Linear(width, width)
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        return F.relu(self.fc2(self.drop(F.relu(self.fc1(x)))))


class FaultNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(64, FAULTS)

    def forward(self, x):
        return self.head(self.encoder(x))


def train(model, loader, val, epochs, lr, tag, every):
    opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.05)
    for epoch in range(1, epochs + 1):
        model.train()
        s = 0.0
        for x, y in loader:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            s += loss.item()
        if epoch % every == 0:
            model.eval()
            with torch.no_grad():
                out = model(val[0])
                vl = F.cross_entropy(out, val[1]).item()
                acc = (out.argmax(1) == val[1]).float().mean().item()
            print(f"[{tag}] epoch {epoch:2d} train {s / len(loader):.4f} val {vl:.4f} acc {acc:.3f}")


def pretrain(peaks):
    loader = DataLoader(TensorDataset(*recordings(peaks, 4000, 0.9, 1)), batch_size=32, shuffle=True)
    model = nn.DataParallel(FaultNet())
    train(model, loader, recordings(peaks, 500, 0.9, 2), 6, 5e-4, "machine A", 2)
    torch.save(model.state_dict(), CKPT)


def finetune(peaks):
    # machine B is quieter and has a new head
    few = recordings(peaks, 48, 0.7, 3)
    loader = DataLoader(TensorDataset(*few), batch_size=16, shuffle=True)
    model = FaultNet()
    state = torch.load(CKPT)
    state = {k.removeprefix("module."): v for k, v in state.items() if "head" not in k}
    model.load_state_dict(state, strict=False)
    print(f"loaded encoder from {os.path.basename(CKPT)}")
    train(model, loader, recordings(peaks, 800, 0.7, 4), 48, 1e-3, "machine B", 4)


if __name__ == "__main__":
    peaks = signatures(7)
    pretrain(peaks)
    finetune(peaks)
