"""Mixed precision on the CPU with a gradient scaler; the first steps are skipped until the scale fits."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(9)


def signals(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=g)
    y = torch.tanh(x[:, 0] + x[:, 1]) + 0.5 * x[:, 2] * x[:, 3] + 0.1 * torch.randn(n, generator=g)
    return x, y.unsqueeze(1)


model = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 20, growth_interval=500)
loader = DataLoader(TensorDataset(*signals(2000, 1)), batch_size=40, shuffle=True)
xt, yt = signals(400, 2)
for epoch in range(6):
    model.train()
    tot = 0.0
    for x, y in loader:
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.float16):
            out = model(x)
        loss = nn.functional.mse_loss(out.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(opt)
        scaler.update()
        tot += loss.item() / len(loader)
    model.eval()
    with torch.no_grad():
        test = nn.functional.mse_loss(model(xt), yt).item()
    print(f"epoch {epoch} loss {tot:.4f} test {test:.4f} scale {scaler.get_scale():.0f}")
