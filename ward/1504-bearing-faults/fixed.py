"""Which fault does a bearing have? Vibration records of a test bench."""
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

FAULTS = ["none", "inner race", "outer race", "ball"]


def bench(n=900, length=256, seed=21):
    """The archive of the bench: name -> signal, and the log book (number, fault)."""
    rng = np.random.default_rng(seed)
    t = np.arange(length) / 1000
    archive, log_book = {}, []
    for number in range(1, n + 1):
        fault = int(rng.integers(len(FAULTS)))
        shaft = rng.uniform(22, 26)
        signal = np.sin(2 * np.pi * shaft * t + rng.uniform(0, 6.28)) + 0.5 * rng.normal(size=length)
        if fault:
            rate = shaft * (0, 5.4, 3.6, 2.3)[fault]
            ring = np.sin(2 * np.pi * (0, 210, 150, 310)[fault] * t)
            signal += 1.6 * ring * (np.sin(2 * np.pi * rate * t + rng.uniform(0, 6.28)) > 0.6)
        archive[f"rec_{number}"] = signal.astype("float32")
        log_book.append((number, fault))
    return archive, log_book


def load():
    archive, log_book = bench()
    signals = np.stack([archive[f"rec_{number}"] for number, _ in log_book])
    spectra = np.log1p(np.abs(np.fft.rfft(signals * np.hanning(signals.shape[1]), axis=1))).astype("float32")
    spectra = (spectra - spectra.mean(0)) / spectra.std(0)
    faults = np.array([fault for _, fault in log_book])
    return TensorDataset(torch.from_numpy(spectra), torch.from_numpy(faults))


def evaluate(model, loader):
    model.eval()
    loss, hits, n = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, hits / n


torch.manual_seed(21)
train_set, val_set = random_split(load(), [700, 200])
train_loader = DataLoader(train_set, batch_size=35, shuffle=True)
val_loader = DataLoader(val_set, batch_size=200)
model = nn.Sequential(nn.Linear(129, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, len(FAULTS)))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
for epoch in range(20):
    model.train()
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    if epoch % 2 == 1:
        (tl, ta), (vl, va) = evaluate(model, train_loader), evaluate(model, val_loader)
        print(f"epoch {epoch + 1:2d}  train {tl:.3f} ({ta:.3f})  val {vl:.3f} ({va:.3f})")
