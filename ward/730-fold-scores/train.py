import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from torch import nn

torch.manual_seed(6)
data = load_breast_cancer()
X = torch.tensor(StandardScaler().fit_transform(data.data), dtype=torch.float32)
y = torch.tensor(data.target)
scores = []
for fold, (tr, va) in enumerate(KFold(4, shuffle=True, random_state=6).split(X)):
    net = nn.Sequential(nn.Linear(30, 16), nn.ReLU(), nn.Linear(16, 2))
    opt = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-3)
    tr, va = torch.tensor(tr), torch.tensor(va)
    for epoch in range(8):
        net.train()
        for ids in tr[torch.randperm(len(tr))].split(32):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(X[ids]), y[ids])
            loss.backward()
            opt.step()
    net.eval()
    with torch.no_grad():
        out = net(X[va])
        scores.append((out.argmax(1) == y[va]).float().mean().item())
        print(f"fold {fold} train {loss.item():.4f} val {nn.functional.cross_entropy(out, y[va]).item():.4f} acc {scores[-1]:.3f}")
print("mean", sum(scores) / len(scores))
