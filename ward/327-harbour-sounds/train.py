import torch
import torch.nn as nn

torch.manual_seed(64)

FREQ = torch.arange(48.) / 48


def spectra(n, peaks):
    """each ship class is a set of spectral peaks"""
    lab = torch.randint(0, len(peaks), (n,))
    out = torch.zeros(n, 48)
    for j in range(3):
        c = torch.tensor([p[j] for p in peaks])[lab].unsqueeze(1) + 0.012 * torch.randn(n, 1)
        out += (0.6 + 0.6 * torch.rand(n, 1)) * torch.exp(-((FREQ - c) / 0.04) ** 2)
    return (out + 0.25 * torch.randn(n, 48) - 0.2) / 0.4, lab


def peaks_for(k):
    return [sorted(torch.rand(3).tolist()) for _ in range(k)]


def run_epoch(model, data, opt=None, bs=50):
    x, y = data
    train = opt is not None
    backbone.train(train)
    tot, hit = 0.0, 0
    with torch.set_grad_enabled(train):
        for b in torch.randperm(len(y)).split(bs):
            out = model(x[b])
            loss = nn.functional.cross_entropy(out, y[b])
            if train:
                opt.zero_grad()
                loss.backward()
                opt.step()
            tot += loss.item() * len(b)
            hit += (out.argmax(1) == y[b]).sum().item()
    return tot / len(y), hit / len(y)


backbone = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())

# stage 0: many recordings of eight ship classes from another harbour
old = peaks_for(8)
old_train, old_val = spectra(3000, old), spectra(600, old)
old_model = nn.Sequential(backbone, nn.Linear(32, 8))
opt = torch.optim.Adam(old_model.parameters(), lr=2e-3)
for ep in range(4):
    tr = run_epoch(old_model, old_train, opt)
    va = run_epoch(old_model, old_val)
    print(f"other harbour {ep}: train {tr[0]:.3f} val {va[0]:.3f} acc {va[1]:.3f}")

# our harbour: four classes, fewer recordings
new = peaks_for(4)
new_train, new_val = spectra(900, new), spectra(400, new)
model = nn.Sequential(backbone, nn.Linear(32, 4))

for p in backbone.parameters():
    p.requires_grad = False
opt = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
for ep in range(6):
    tr = run_epoch(model, new_train, opt)
    va = run_epoch(model, new_val)
    print(f"head only {ep}: train {tr[0]:.3f} val {va[0]:.3f} acc {va[1]:.3f}")

for p in backbone.parameters():
    p.requires_grad = True
opt = torch.optim.Adam([
    {"params": backbone.parameters(), "lr": 1e-4},
    {"params": model[1].parameters(), "lr": 1e-3}])
for ep in range(6):
    tr = run_epoch(model, new_train, opt)
    va = run_epoch(model, new_val)
    print(f"fine tune {ep}: train {tr[0]:.3f} val {va[0]:.3f} acc {va[1]:.3f}")
