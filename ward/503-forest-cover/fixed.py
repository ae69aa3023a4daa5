import argparse

import torch
from sklearn.datasets import make_classification
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=5)
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--depth", type=int, default=5)
parser.add_argument("--width", type=int, default=96)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()

torch.manual_seed(args.seed)
X, y = make_classification(n_samples=4000, n_features=24, n_informative=14, n_redundant=4, n_classes=6, n_clusters_per_class=1,
                           class_sep=1.8, random_state=args.seed)
X = torch.tensor((X - X.mean(0)) / X.std(0), dtype=torch.float32)
y = torch.tensor(y)
Xtr, ytr, Xte, yte = X[:3200], y[:3200], X[3200:], y[3200:]


def mlp(n_in, n_out, width, depth):
    dims = [n_in] + [width] * depth
    mods = []
    for a, b in zip(dims, dims[1:]):
        mods += [nn.Linear(a, b), nn.ReLU()]
    mods.append(nn.Linear(width, n_out))
    return nn.Sequential(*mods)


model = mlp(24, 6, args.width, args.depth)
for layer in model:
    if isinstance(layer, nn.Linear):
        nn.init.normal_(layer.weight, mean=0.0, std=(2.0 / layer.in_features) ** 0.5)
        nn.init.constant_(layer.bias, 0.0)

optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(args.epochs):
    model.train()
    losses = []
    for idx in torch.randperm(len(Xtr)).split(args.batch_size):
        loss = loss_fn(model(Xtr[idx]), ytr[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits = model(Xte)
    acc = (logits.argmax(1) == yte).float().mean()
    print(f"[{epoch + 1:02d}/{args.epochs}] train loss {sum(losses) / len(losses):.4f} test loss {loss_fn(logits, yte):.4f} test acc {acc:.3f}")
