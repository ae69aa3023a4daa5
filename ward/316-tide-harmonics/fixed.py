import numpy as np
import torch

torch.manual_seed(0)
rng = np.random.default_rng(42)

# hourly gauge, four months; harmonic regression with the main constituents
hours = np.arange(0, 2880, 1.0)
periods = [12.4206, 12.0, 12.6583, 25.8193, 23.9345, 6.2103, 4.1402]
amps = [1.30, 0.45, 0.28, 0.15, 0.20, 0.06, 0.03]
level = 0.4 + sum(a * np.cos(2 * np.pi * hours / p + ph) for a, p, ph in zip(amps, periods, rng.uniform(0, 6.28, 7)))
level += 0.05 * rng.normal(size=hours.size)

feats = [np.ones_like(hours)]
for p in periods:
    feats += [np.cos(2 * np.pi * hours / p), np.sin(2 * np.pi * hours / p)]
A = torch.tensor(np.stack(feats, 1), dtype=torch.float32)
b = torch.tensor(level, dtype=torch.float32)
A_fit, b_fit, A_test, b_test = A[:2160], b[:2160], A[2160:], b[2160:]

coef = torch.nn.Linear(A.shape[1], 1, bias=False)
sgd = torch.optim.SGD(coef.parameters(), lr=0.03)
for it in range(301):
    sgd.zero_grad()
    r = coef(A_fit).squeeze(1) - b_fit
    loss = (r ** 2).mean()
    loss.backward()
    sgd.step()
    if it % 25 == 0:
        with torch.no_grad():
            rt = coef(A_test).squeeze(1) - b_test
        print(f"{it:4d}  fit mse {loss.item():.5g}  test mse {(rt ** 2).mean().item():.5g}")
