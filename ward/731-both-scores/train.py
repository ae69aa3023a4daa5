import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(14)
d = load_digits()
x = torch.tensor(d.data, dtype=torch.float32) / 16
y = torch.tensor(d.target)
order = torch.randperm(len(x))
parts = {"fit": order[:1300], "check": order[1300:]}
loader = DataLoader(TensorDataset(x[parts["fit"]], y[parts["fit"]]), batch_size=50, shuffle=True)
net = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 10))
opt = torch.optim.Adam(net.parameters(), lr=2e-3)


@torch.no_grad()
def estimate():
    net.eval()
    found = {}
    for part, ids in parts.items():
        losses = []
        for chunk in ids.split(100):
            losses.append(nn.functional.cross_entropy(net(x[chunk]), y[chunk]).item())
        found[part] = sum(losses) / len(losses)
    net.train()
    return found


for epoch in range(10):
    for xb, yb in loader:
        opt.zero_grad()
        loss = nn.functional.cross_entropy(net(xb), yb)
        loss.backward()
        opt.step()
    print(epoch, estimate())
