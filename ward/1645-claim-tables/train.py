"""Insurance claims: forty coded columns with a table each, four slices of a batch per update."""
import torch
from torch import nn

torch.manual_seed(13)
COLUMNS, CODES, WIDTH, SLICES = 40, 8, 4, 4


def claims(n, weights):
    codes = torch.randint(0, CODES, (n, COLUMNS))
    cost = torch.stack([weights[c][codes[:, c]] for c in range(COLUMNS)], 1).sum(1) / COLUMNS**0.5
    return codes, cost + 0.1 * torch.randn(n)


class ClaimNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(CODES, WIDTH) for _ in range(COLUMNS))
        self.out = nn.Sequential(nn.Linear(COLUMNS * WIDTH, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, codes):
        parts = [table(codes[:, c]) for c, table in enumerate(self.tables)]
        return self.out(torch.cat(parts, 1)).squeeze(1)


weights = torch.randn(COLUMNS, CODES)
codes, cost = claims(3000, weights)
val_codes, val_cost = claims(600, weights)
model = ClaimNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()

for epoch in range(10):
    order = torch.randperm(len(codes))
    running = 0.0
    for start in range(0, len(order), 120):
        optimizer.zero_grad()
        for part in order[start : start + 120].chunk(SLICES):
            loss = criterion(model(codes[part]), cost[part]) / SLICES
            loss.backward()
            running += loss.item()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        errors = [criterion(model(val_codes[i : i + 10]), val_cost[i : i + 10]).item() for i in range(0, len(val_codes), 10)]
    model.train()
    print(f"epoch {epoch + 1} train {running / 25:.3f} val {sum(errors) / len(errors):.3f}")
