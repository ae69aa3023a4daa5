"""Next-hour load of several feeders; the LSTM keeps its state from one chunk of the year to the next."""
import math
import torch
import torch.nn as nn

FEEDERS, HOURS, CHUNK = 16, 24 * 120, 24


def load_curves(seed=50):
    g = torch.Generator().manual_seed(seed)
    h = torch.arange(HOURS).float()
    level = 0.4 * torch.randn(FEEDERS, 1, generator=g)
    phase = 2 * torch.rand(FEEDERS, 1, generator=g)
    day = torch.sin((h[None] - 6 - phase) / 24 * 2 * math.pi) + 0.4 * torch.sin((h[None] - phase) / 12 * 2 * math.pi)
    weekend = ((h // 24) % 7 >= 5).float()
    drift = torch.zeros(FEEDERS, HOURS)
    noise = 0.1 * torch.randn(FEEDERS, HOURS, generator=g)
    for t in range(1, HOURS):
        drift[:, t] = 0.97 * drift[:, t - 1] + noise[:, t]
    load = level + day * (1 - 0.4 * weekend) + drift
    calendar = torch.stack([torch.sin(h / 24 * 2 * math.pi), torch.cos(h / 24 * 2 * math.pi), weekend], 1)
    return load, calendar


class LoadModel(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(4, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        h, state = self.lstm(x, state)
        return x[..., 0] + self.out(h)[..., 0], state


def chunks(load, calendar, start, end):
    for t in range(start, end - 1, CHUNK):
        stop = min(t + CHUNK, end - 1)
        x = torch.cat([load[:, t:stop, None], calendar[t:stop].expand(FEEDERS, -1, -1)], 2)
        yield x, load[:, t + 1:stop + 1]


def main():
    torch.manual_seed(50)
    load, calendar = load_curves()
    cut = 24 * 98
    model = LoadModel()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)
    for epoch in range(1, 9):
        model.train()
        state, losses = None, []
        for x, y in chunks(load, calendar, 0, cut):
            if state is not None:
                state = tuple(s.detach() for s in state)
            pred, state = model(x, state)
            loss = nn.functional.mse_loss(pred, y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            losses.append(loss.item())
        sched.step()
        model.eval()
        with torch.no_grad():
            pairs = []
            for x, y in chunks(load, calendar, cut, HOURS):
                pred, state = model(x, state)
                pairs.append((pred, y))
            v = nn.functional.mse_loss(torch.cat([p for p, _ in pairs], 1), torch.cat([y for _, y in pairs], 1)).item()
            naive = nn.functional.mse_loss(load[:, cut:-1], load[:, cut + 1:]).item()
        print(f"epoch {epoch}  train {sum(losses) / len(losses):.4f}  val {v:.4f}  (as the hour before: {naive:.4f})")


if __name__ == "__main__":
    main()
