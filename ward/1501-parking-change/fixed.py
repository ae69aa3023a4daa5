import math
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

cfg = {"window": 24, "parks": 12, "hours": 24 * 21, "hidden": 32, "lr": 3e-3, "batch": 64, "epochs": 6, "seed": 6}


def occupancy(cfg):
    """Cars counted per hour in each car park, three weeks."""
    g = torch.Generator().manual_seed(cfg["seed"])
    hour = torch.arange(cfg["hours"]).float()
    day = torch.sin((hour % 24 - 8) / 24 * 2 * math.pi)
    weekend = ((hour // 24) % 7 >= 5).float()
    series = []
    for _ in range(cfg["parks"]):
        size = 12 + 150 * torch.rand(1, generator=g)
        level = size * torch.exp(2.0 * day - 0.5 * weekend)
        series.append(torch.poisson(level, generator=g))
    return torch.stack(series), hour


def windows(counts, hour, cfg):
    X, y = [], []
    w = cfg["window"]
    clock = torch.stack([torch.sin(hour / 24 * 2 * math.pi), torch.cos(hour / 24 * 2 * math.pi),
                         ((hour // 24) % 7 >= 5).float()], 1)
    for park in counts:
        seen = torch.log1p(park) / 5
        change = torch.log((park[1:] + 1) / (park[:-1] + 1))
        for t in range(w, len(park) - 1, 2):
            X.append(torch.cat([seen[t - w + 1:t + 1, None], clock[t - w + 1:t + 1]], 1))
            y.append(change[t])
    return torch.stack(X), torch.stack(y)


class Forecaster(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.GRU(4, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        return self.out(self.rnn(x)[0][:, -1])[:, 0]


def fit(cfg):
    torch.manual_seed(cfg["seed"])
    counts, hour = occupancy(cfg)
    cut = 24 * 16
    train = TensorDataset(*windows(counts[:, :cut], hour[:cut], cfg))
    Xv, yv = windows(counts[:, cut - cfg["window"]:], hour[cut - cfg["window"]:], cfg)
    loader = DataLoader(train, batch_size=cfg["batch"], shuffle=True)
    model = Forecaster(cfg["hidden"])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    loss_fn = nn.MSELoss()
    for epoch in range(cfg["epochs"]):
        model.train()
        losses = []
        for xb, yb in loader:
            opt.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            v = loss_fn(model(Xv), yv).item()
        print(f"epoch {epoch}: train {sum(losses) / len(losses):.4f}  val {v:.4f}  (no change: {loss_fn(torch.zeros_like(yv), yv).item():.4f})")


fit(cfg)
