"""Mineral type from ten reflectance readings. Two labs supplied training samples."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(11)

LAB_A = {"quartz": 0, "feldspar": 1, "mica": 2, "calcite": 3, "olivine": 4}
LAB_B = {"calcite": 0, "feldspar": 1, "olivine": 2, "quartz": 3, "mica": 4}
NAMES = list(LAB_A)
centres = torch.randn(5, 10) * 1.1


def samples(n):
    kind = torch.randint(5, (n,))
    x = centres[kind] + torch.randn(n, 10)
    return x, [NAMES[k] for k in kind]


x_a, names_a = samples(1400)
x_b, names_b = samples(600)
codes_a = torch.tensor([LAB_A[name] for name in names_a])
codes_b = torch.tensor([LAB_B[name] for name in names_b])     # as in lab B's export
b_to_a = torch.tensor([LAB_A[name] for name in LAB_B])
codes_b = b_to_a[codes_b]

x = torch.cat([x_a, x_b])
y = torch.cat([codes_a, codes_b])
x_val, names_val = samples(500)
y_val = torch.tensor([LAB_A[name] for name in names_val])

train_loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(x_val, y_val), batch_size=250)

net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 5))
opt = torch.optim.Adam(net.parameters(), lr=3e-3)
ce = nn.CrossEntropyLoss()

for epoch in range(8):
    net.train()
    tot = hits = 0.0
    for xb, yb in train_loader:
        out = net(xb)
        loss = ce(out, yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(yb)
        hits += (out.argmax(1) == yb).sum().item()
    net.eval()
    vtot = vhits = 0.0
    with torch.no_grad():
        for xb, yb in val_loader:
            out = net(xb)
            vtot += ce(out, yb).item() * len(yb)
            vhits += (out.argmax(1) == yb).sum().item()
    print(f"epoch {epoch} train loss {tot / len(x):.3f} acc {hits / len(x):.3f} | val loss {vtot / 500:.3f} acc {vhits / 500:.3f}")
