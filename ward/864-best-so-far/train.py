"""Early stopping that starts from an infinite best loss."""
import copy
import math
import torch
import torch.nn as nn


class EarlyStopping:
    def __init__(self, patience=6):
        self.best, self.left, self.patience, self.state = float("inf"), patience, patience, None

    def __call__(self, value, model):
        if value < self.best:
            print(f"  best {self.best:.4f} -> {value:.4f}")
            self.best, self.left, self.state = value, self.patience, copy.deepcopy(model.state_dict())
        else:
            self.left -= 1
        return self.left <= 0


torch.manual_seed(7)
w = torch.randn(8, 3)


def table(n):
    x = torch.randn(n, 8)
    return x, (x @ w + torch.sin(2 * x[:, :3]) + 0.5 * torch.randn(n, 3)).argmax(1)


x, y = table(3000)
xv, yv = table(800)
net = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 3))
opt = torch.optim.Adam(net.parameters(), lr=4e-3)
stop = EarlyStopping()
best_train, lowest_grad = math.inf, math.inf
for epoch in range(6):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(75):
        loss = nn.functional.cross_entropy(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        lowest_grad = min(lowest_grad, nn.utils.clip_grad_norm_(net.parameters(), math.inf).item())
        opt.step()
        total += loss.item() * len(idx) / len(x)
    best_train = min(best_train, total)
    net.eval()
    with torch.no_grad():
        val = nn.functional.cross_entropy(net(xv), yv).item()
    print(f"epoch {epoch} train {total:.4f} val {val:.4f} best {best_train:.4f}")
    if stop(val, net):
        break
net.load_state_dict(stop.state)
print(f"smallest gradient norm {lowest_grad:.3f}")
