# multi-label tagging of songs from audio descriptors
import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

TAGS = ["rock", "vocal", "dance", "calm", "guitar", "synth", "live", "dark"]
rng = np.random.RandomState(33)
torch.manual_seed(33)

N = 4000
style = rng.randn(N, 5)                                   # hidden style of the song
mix = rng.randn(5, 20)
X = np.tanh(style @ mix / 2) * rng.gamma(3, 1, 20) + 0.4 * rng.randn(N, 20)
W = rng.randn(5, len(TAGS)) * 1.6
score = style @ W + 1.2 * style[:, [0]] * style[:, [1]] - 2.2
Y = (score + 0.5 * rng.logistic(size=score.shape) > 0).astype("float32")
print("share of each tag:", dict(zip(TAGS, Y.mean(0).round(2).tolist())))

X = StandardScaler().fit(X[:3200]).transform(X).astype("float32")
Xtr, Ytr = torch.from_numpy(X[:3200]), torch.from_numpy(Y[:3200])
Xte, Yte = torch.from_numpy(X[3200:]), torch.from_numpy(Y[3200:])


def mlp(dims):
    layers = []
    for a, b in zip(dims[:-1], dims[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers)


def train_one_epoch(net, opt, crit, bs=64):
    perm = torch.randperm(len(Xtr))
    tot = 0.
    for i in range(0, len(Xtr), bs):
        j = perm[i:i + bs]
        loss = crit(net(Xtr[j]), Ytr[j])
        opt.zero_grad(); loss.backward(); opt.step()
        tot += loss.item() * len(j)
    return tot / len(Xtr)


net = mlp([20, 48, 48, len(TAGS)])
opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)
crit = nn.BCEWithLogitsLoss()
for epoch in range(24):
    tl = train_one_epoch(net, opt, crit)
    if epoch % 3 == 2:
        with torch.no_grad():
            out = net(Xte)
            vl = crit(out, Yte).item()
            pred = (torch.sigmoid(out) > 0.5).numpy()
        f1 = f1_score(Yte.numpy(), pred, average="macro")
        exact = (pred == Yte.numpy()).all(1).mean()
        print(f"epoch {epoch + 1:2d} | loss {tl:.4f} | test loss {vl:.4f} | macro F1 {f1:.3f} | exact match {exact:.3f}")
