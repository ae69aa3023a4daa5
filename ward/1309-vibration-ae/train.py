"""Convolutional autoencoder for bearing vibration; reconstruction error is to serve as an alarm later."""
import numpy as np
import torch
from torch import nn

WINDOW = 64


def read_logger(n, seed, resync):
    """n windows of acceleration in g."""
    rng = np.random.default_rng(seed)
    t = np.arange(WINDOW)
    speed = rng.uniform(0.15, 0.35, (n, 1))
    w = np.sin(speed * t + rng.uniform(0, 6.3, (n, 1))) * rng.uniform(0.6, 1.4, (n, 1))
    w += 0.5 * np.sin(3 * speed * t + rng.uniform(0, 6.3, (n, 1)))
    w += 0.15 * rng.normal(size=w.shape)
    for i in rng.choice(n, resync, replace=False):
        a = rng.integers(0, WINDOW - 8)
        w[i, a:a + 8] = rng.choice([-327.68, 327.67], 8)
    return torch.tensor(w, dtype=torch.float32)


def make_model():
    enc = nn.Sequential(nn.Conv1d(1, 16, 5, 2, 2), nn.GELU(), nn.Conv1d(16, 32, 5, 2, 2), nn.GELU(), nn.Flatten(), nn.Linear(32 * 16, 12))
    dec = nn.Sequential(nn.Linear(12, 32 * 16), nn.GELU(), nn.Unflatten(1, (32, 16)), nn.ConvTranspose1d(32, 16, 4, 2, 1), nn.GELU(),
                        nn.ConvTranspose1d(16, 1, 4, 2, 1))
    return nn.Sequential(enc, dec)


def main(steps=1400, batch=64):
    torch.manual_seed(40)
    train = read_logger(4000, 1, resync=10)
    bench = read_logger(600, 2, resync=0)          # recorded on the test bench
    train, bench = train.unsqueeze(1), bench.unsqueeze(1)
    print("windows:", len(train), "bench:", len(bench))

    model = make_model()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: min(1.0, (steps - s) / 400))
    queue, window_loss = [], []
    for step in range(1, steps + 1):
        if len(queue) == 0:
            queue = list(torch.randperm(len(train)).split(batch))
        x = train[queue.pop()]
        loss = ((model(x) - x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        window_loss.append(loss.item())
        if step % 100 == 0:
            with torch.no_grad():
                val = ((model(bench) - bench) ** 2).mean().item()
            print(f"step {step:5d}  loss median {np.median(window_loss):8.4f} max {max(window_loss):10.2f}  bench {val:.4f}")
            window_loss = []


main()
