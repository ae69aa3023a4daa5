import torch
import torch.nn as nn
from sklearn.datasets import make_classification

torch.manual_seed(0)
X, y = make_classification(n_samples=6000, n_features=12, n_informative=6, n_redundant=2, weights=[0.95], flip_y=0.01,
                           class_sep=1.0, n_clusters_per_class=2, random_state=3)
X, y = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
cut = 4000
mean, std = X[:cut].mean(0), X[:cut].std(0)
X = (X - mean) / std
Xtr, ytr, Xte, yte = X[:cut], y[:cut], X[cut:], y[cut:]
counts = torch.bincount(ytr).float()
print("class counts", counts.tolist())
weights = counts.sum() / (2 * counts)

clf = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
loss_fn = nn.CrossEntropyLoss(weight=weights)
opt = torch.optim.Adam(clf.parameters(), lr=5e-3)
for epoch in range(8):
    clf.train()
    losses = []
    for b in torch.randperm(cut).split(128):
        loss = loss_fn(clf(Xtr[b]), ytr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    clf.eval()
    with torch.no_grad():
        logits = clf(Xte)
    pred = logits.argmax(1)
    recall = [(pred[yte == c] == c).float().mean().item() for c in (0, 1)]
    print(f"epoch {epoch} train {sum(losses) / len(losses):.4f} test {loss_fn(logits, yte).item():.4f} "
          f"recall {recall[0]:.3f} / {recall[1]:.3f}")
