import torch
from sklearn.datasets import make_blobs

torch.manual_seed(0)
X, y = make_blobs(n_samples=2000, centers=4, n_features=8, cluster_std=3.5, random_state=1)
X, y = torch.tensor(X).float(), torch.tensor(y)
Xtr, ytr, Xte, yte = X[:1400], y[:1400], X[1400:], y[1400:]
m, s = Xtr.mean(0), Xtr.std(0)
Xtr, Xte = (Xtr - m) / s, (Xte - m) / s

net = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
opt = torch.optim.Adam(net.parameters(), lr=0.05)
ce = torch.nn.CrossEntropyLoss()
for it in range(30):
    loss = ce(net(Xtr), ytr)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 3 == 2:
        with torch.no_grad():
            o = net(Xte)
        print(it + 1, "train", round(loss.item(), 4), "test", round(ce(o, yte).item(), 4), "acc", round((o.argmax(1) == yte).float().mean().item(), 3))
