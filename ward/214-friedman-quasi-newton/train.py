import torch
import torch.nn as nn
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

torch.manual_seed(0)
X, y = make_friedman1(n_samples=800, n_features=6, noise=0.5, random_state=0)
Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.4, random_state=0)
mx, sx, my, sy = Xtr.mean(0), Xtr.std(0), ytr.mean(), ytr.std()
as_t = lambda a: torch.tensor(a, dtype=torch.float32)
Xtr, Xte = as_t((Xtr - mx) / sx), as_t((Xte - mx) / sx)
ytr, yte = as_t((ytr - my) / sy)[:, None], as_t((yte - my) / sy)[:, None]

model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
opt = torch.optim.LBFGS(model.parameters(), lr=1.0, max_iter=10, history_size=10, line_search_fn="strong_wolfe")
mse = nn.MSELoss()
evals = 0


def closure():
    global evals
    evals += 1
    opt.zero_grad()
    loss = mse(model(Xtr), ytr) + 1e-3 * sum((p ** 2).sum() for p in model.parameters())
    loss.backward()
    return loss


for it in range(25):
    loss = opt.step(closure)
    if it % 2 == 0:
        with torch.no_grad():
            print(f"outer {it:2d} evals {evals:3d} objective {loss.item():.4f} train mse {mse(model(Xtr), ytr).item():.4f} test mse {mse(model(Xte), yte).item():.4f}")
