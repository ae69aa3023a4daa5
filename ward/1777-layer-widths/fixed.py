"""Which layer widths should the production model use? Small study on the digits data."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

EPOCHS, BATCH = 14, 32
SHAPES = {"straight": (64, 64), "funnel": (80, 48)}


def load():
    X, y = load_digits(return_X_y=True)
    X = torch.tensor(X, dtype=torch.float32) / 16
    return train_test_split(X, torch.tensor(y), test_size=0.2, stratify=y, random_state=7)


def make_net(first, second):
    return nn.Sequential(nn.Linear(64, first), nn.ReLU(), nn.Dropout(0.2), nn.Linear(first, second), nn.ReLU(),
                         nn.Linear(second, 10))


def accuracy(net, X, y):
    net.eval()
    with torch.no_grad():
        return (net(X).argmax(1) == y).float().mean().item()


def train(name, seed, data, verbose=True):
    X, Xv, y, yv = data
    torch.manual_seed(seed)
    net = make_net(*SHAPES[name])
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=EPOCHS)
    for epoch in range(EPOCHS):
        net.train()
        total = 0.0
        for ids in torch.randperm(len(y)).split(BATCH):
            loss = F.cross_entropy(net(X[ids]), y[ids])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(ids)
        sched.step()
        if verbose and epoch % 4 == 1:
            with torch.no_grad():
                net.eval()
                vloss = F.cross_entropy(net(Xv), yv).item()
            print(f"  {name} seed {seed} epoch {epoch + 1:2d} train {total / len(y):.4f} val {vloss:.4f}")
    return accuracy(net, Xv, yv)


def main():
    data = load()
    scores = {}
    for name in SHAPES:
        scores[name] = torch.tensor([train(name, seed, data, verbose=seed == 1) for seed in range(1, 6)])
        print(f"{name}: val accuracy {scores[name].mean():.4f} +- {scores[name].std():.4f} over {len(scores[name])} seeds")
    a, b = scores.values()
    gap, spread = (b.mean() - a.mean()).item(), ((a.var() + b.var()) / len(a)).sqrt().item()
    verdict = "a difference" if abs(gap) > 2 * spread else "no difference beyond the seeds: keep straight"
    print(f"funnel - straight {100 * gap:+.2f} points, standard error {100 * spread:.2f} -> {verdict}")


if __name__ == "__main__":
    main()
