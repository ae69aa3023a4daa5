"""Adapt a digit CNN to blurred, noisy scans.  Batches are small, so the batch-norm statistics of the
base model are kept (bn.eval()) while all the other weights move."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from sklearn.datasets import load_digits

torch.manual_seed(3)
data = load_digits()
X = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
X = (X - X.mean()) / X.std()
y = torch.tensor(data.target)
perm = torch.randperm(len(y))
X, y = X[perm], y[perm]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = nn.Conv2d(1, 16, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.c2 = nn.Conv2d(16, 24, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(24)
        self.fc = nn.Linear(24 * 16, 10)

    def forward(self, x):
        x = torch.relu(self.bn1(self.c1(x)))
        x = torch.relu(self.bn2(self.c2(x)))
        return self.fc(x.flatten(1))


def freeze_bn(model):
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            m.eval()


def evaluate(model, xv, yv):
    model.eval()
    with torch.no_grad():
        out = model(xv)
    return nn.functional.cross_entropy(out, yv).item(), (out.argmax(1) == yv).float().mean().item()


def fit(model, xt, yt, xv, yv, lr, bs, epochs, tag, keep_bn=False):
    loader = DataLoader(TensorDataset(xt, yt), batch_size=bs, shuffle=True)
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(1, epochs + 1):
        model.train()
        if keep_bn:
            freeze_bn(model)
        running = 0.0
        for xb, yb in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(xb), yb)
            loss.backward()
            opt.step()
            running += loss.item() * len(xb)
        sched.step()
        vl, va = evaluate(model, xv, yv)
        print(f"{tag} epoch {epoch} train {running / len(xt):.4f} val {vl:.4f} acc {va:.3f}")


net = Net()
fit(net, X[:700], y[:700], X[1400:], y[1400:], lr=0.02, bs=50, epochs=4, tag="base")
scan = nn.functional.avg_pool2d(X, 3, stride=1, padding=1)
scan = scan + 0.1 * torch.randn_like(scan)
fit(net, scan[700:1400], y[700:1400], scan[1400:], y[1400:], lr=0.003, bs=14, epochs=6, tag="scan", keep_bn=True)
