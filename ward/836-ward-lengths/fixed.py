"""Length of stay from admission features; float16 autocast."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(22)


def admissions(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 8, generator=g)
    hours = 120 + 60 * x[:, 0] + 40 * torch.tanh(2 * x[:, 1]) + 15 * x[:, 2] * x[:, 3] + 10 * torch.randn(n, generator=g)
    return x, hours.unsqueeze(1)


class Stay(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, x):
        return 120 + 60 * self.net(x)


model = Stay()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
loader = DataLoader(TensorDataset(*admissions(2000, 1)), batch_size=50, shuffle=True)
xt, yt = admissions(400, 2)
for epoch in range(7):
    model.train()
    total = 0.0
    for x, y in loader:
        with torch.autocast("cpu", dtype=torch.float16):
            pred = model(x)
            loss = torch.sqrt(((pred.float() - y) ** 2).sum() / len(x))
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / len(loader)
    model.eval()
    with torch.no_grad():
        mae = (model(xt) - yt).abs().mean().item()
    print(f"epoch {epoch} rmse {total:.2f} test mae {mae:.2f} hours")
