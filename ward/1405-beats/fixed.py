"""Heart beat types (N / S / V) from single resampled beats."""
import numpy as np
import torch
from sklearn.metrics import balanced_accuracy_score, recall_score

rng = np.random.RandomState(4)
torch.manual_seed(4)
L = 50
grid = np.linspace(0, 1, L)


def bump(centre, width, height):
    return height * np.exp(-((grid - centre) / width) ** 2)


def beat(kind):
    shift = rng.normal(0, 0.015)
    p_h, qrs_w, t_h, p_c = rng.normal(0.22, 0.08), rng.normal(0.035, 0.009), rng.normal(0.35, 0.13), 0.25
    if kind == 1:      # supraventricular: early, flat P wave
        p_h, p_c = rng.normal(0.09, 0.08), rng.normal(0.21, 0.025)
    elif kind == 2:    # ventricular: broad QRS, T wave of the other sign
        qrs_w, t_h = rng.normal(0.052, 0.011), rng.normal(0.05, 0.2)
        p_h = rng.normal(0.12, 0.1)
    sig = bump(p_c + shift, 0.04, p_h) + bump(0.45 + shift, max(qrs_w, 0.01), 1.0) - bump(0.52 + shift, 0.03, 0.25) + bump(0.72 + shift, 0.07, t_h)
    drift = 0.1 * np.sin(2 * np.pi * (grid * rng.rand() + rng.rand()))
    return sig * rng.uniform(0.85, 1.15) + drift + rng.normal(0, 0.07, L)


def ward(n):
    kinds = rng.choice(3, size=n, p=[0.955, 0.025, 0.02])
    x = np.stack([beat(k) for k in kinds]).astype("float32")
    return x, kinds


x_tr, y_tr = ward(9000)
x_va, y_va = ward(3000)
mu, sd = x_tr.mean(), x_tr.std()
x_tr, x_va = torch.tensor((x_tr - mu) / sd)[:, None], torch.tensor((x_va - mu) / sd)[:, None]
y_tr, y_va = torch.tensor(y_tr), torch.tensor(y_va)

model = torch.nn.Sequential(
    torch.nn.Conv1d(1, 12, 7, padding=3), torch.nn.ReLU(), torch.nn.MaxPool1d(2),
    torch.nn.Conv1d(12, 16, 5, padding=2), torch.nn.ReLU(), torch.nn.MaxPool1d(2),
    torch.nn.Flatten(), torch.nn.Dropout(0.2), torch.nn.Linear(16 * 12, 3))
opt = torch.optim.AdamW(model.parameters(), lr=7e-4, weight_decay=1e-2)
counts = torch.bincount(y_tr).float()
criterion = torch.nn.CrossEntropyLoss(weight=counts.sum() / (3 * counts))

for epoch in range(10):
    model.train()
    perm = torch.randperm(len(y_tr))
    running = 0.0
    for i in range(0, len(perm), 100):
        ids = perm[i:i + 100]
        loss = criterion(model(x_tr[ids]), y_tr[ids])
        opt.zero_grad()
        loss.backward()
        opt.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        out = model(x_va)
        vloss = criterion(out, y_va).item()
    pred = out.argmax(1).numpy()
    rec = recall_score(y_va, pred, average=None, labels=[0, 1, 2])
    print(f"epoch {epoch + 1:2d} loss {running / (len(perm) / 100):.4f} val {vloss:.4f} acc {(pred == y_va.numpy()).mean():.3f} "
          f"bal.acc {balanced_accuracy_score(y_va, pred):.3f} recall N/S/V {np.round(rec, 2)}")
