# ---- hospital length of stay (days), planning the beds at admission time ----
import numpy as np
import torch
from torch import nn

np.random.seed(14)
torch.manual_seed(14)

N = 6000
age = np.random.normal(58, 16, N).clip(18, 95)
severity = np.random.randint(1, 6, N)
emergency = (np.random.rand(N) < 0.4).astype(float)
n_prior = np.random.poisson(1.2, N)
albumin = np.random.normal(3.8, 0.5, N)
ward = np.random.randint(0, 5, N)
ward_extra = np.array([0.0, 0.15, 0.3, -0.2, 0.5])[ward]
mu = 0.6 + 0.011 * (age - 58) + 0.33 * severity + 0.25 * emergency + 0.08 * n_prior - 0.35 * (albumin - 3.8) + ward_extra
days = np.exp(mu + 0.22 * np.random.randn(N))
room_rate = np.random.choice([310.0, 340.0, 365.0], N)
billed = days * room_rate + np.random.normal(0, 40, N)

columns = {
    "age": age,
    "severity": severity,
    "emergency": emergency,
    "n_prior": n_prior,
    "albumin": albumin,
    "room_rate": room_rate,
}
for w in range(5):
    columns[f"ward_{w}"] = (ward == w).astype(float)
names = list(columns)
X = np.stack([columns[c] for c in names], 1).astype("float32")
y = np.log(days).astype("float32")
y_mean, y_std = y[:4500].mean(), y[:4500].std()

mu_x, sd_x = X[:4500].mean(0), X[:4500].std(0)
X = torch.tensor((X - mu_x) / sd_x)
t = torch.tensor((y - y_mean) / y_std)
X_train, X_val, t_train, t_val = X[:4500], X[4500:], t[:4500], t[4500:]
print(len(names), "columns:", ", ".join(names))

model = nn.Sequential(nn.Linear(len(names), 40), nn.SiLU(), nn.Linear(40, 40), nn.SiLU(), nn.Linear(40, 1))
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=20)
loss_fn = nn.SmoothL1Loss()


def r2(pred, true):
    return 1 - ((pred - true) ** 2).sum().item() / ((true - true.mean()) ** 2).sum().item()


for epoch in range(20):
    idx = torch.randperm(4500)
    s = 0.0
    for b in idx.split(50):
        loss = loss_fn(model(X_train[b]).squeeze(-1), t_train[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        s += loss.item() * len(b)
    sched.step()
    if (epoch + 1) % 2 == 0:
        with torch.no_grad():
            p = model(X_val).squeeze(-1)
        print("epoch %2d  train %.4f  val %.4f  R2 %.3f" % (epoch + 1, s / 4500, loss_fn(p, t_val).item(), r2(p, t_val)))

# dry run with the export of the admission desk
today = {"age": age[-300:], "severity": severity[-300:], "emergency": emergency[-300:], "n_prior": n_prior[-300:],
         "albumin": albumin[-300:], "room_rate": room_rate[-300:]}
today.update({f"ward_{w}": (ward[-300:] == w).astype(float) for w in range(5)})
Z = (np.stack([today.get(c, np.zeros(300)) for c in names], 1).astype("float32") - mu_x) / sd_x
with torch.no_grad():
    guess = model(torch.tensor(Z)).squeeze(-1) * y_std + y_mean
print("today: mean predicted stay %.1f days, true %.1f, R2 %.3f" % (
    guess.exp().mean().item(), days[-300:].mean(), r2(guess, torch.tensor(y[-300:]))))
