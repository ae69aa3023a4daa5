import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

WORKERS = 9
rng = np.random.default_rng(31)
torch.manual_seed(31)


def crowdsource(truth, n_workers):
    """Answers of every worker for every picture, shape (pictures, workers)."""
    care = rng.uniform(0.6, 0.8, n_workers)
    answers = np.repeat(truth[:, None], n_workers, axis=1)
    for w in range(n_workers):
        slip = rng.random(len(truth)) > care[w]
        answers[slip, w] = rng.integers(0, 10, slip.sum())
    return answers


def merge(answers):
    """One label per picture."""
    return np.array([np.bincount(row).argmax() for row in answers])


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU(),
                                  nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c))

    def forward(self, x):
        return torch.relu(x + self.conv(x))


class PictureNet(nn.Module):
    def __init__(self, c=12):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU())
        self.body = nn.Sequential(Residual(c), nn.MaxPool2d(2), Residual(c))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(c * 16, 10))

    def forward(self, x):
        return self.head(self.body(self.stem(x)))


def jitter(x):
    """Shift a batch by up to one pixel and add a little sensor noise."""
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    return torch.roll(x, (dy, dx), (2, 3)) + 0.05 * torch.randn_like(x)


digits = load_digits()
order = rng.permutation(len(digits.target))
images = torch.tensor(digits.images[order], dtype=torch.float32)[:, None] / 16
truth = digits.target[order]

# the first 1400 went to the crowd, the rest was read by two experts
answers = crowdsource(truth[:1400], WORKERS)
train_labels = torch.as_tensor(merge(answers))
expert_labels = torch.as_tensor(truth[1400:])
train_dl = DataLoader(TensorDataset(images[:1400], train_labels), batch_size=40, shuffle=True)
val_dl = DataLoader(TensorDataset(images[1400:], expert_labels), batch_size=200)

net = PictureNet()
opt = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9, weight_decay=5e-4, nesterov=True)
EPOCHS = 14
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, EPOCHS)
ce = nn.CrossEntropyLoss()
for epoch in range(EPOCHS):
    net.train()
    loss_sum = hit = 0
    for x, y in train_dl:
        out = net(jitter(x))
        loss = ce(out, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        loss_sum += loss.item() * len(y)
        hit += (out.argmax(1) == y).sum().item()
    sched.step()
    net.eval()
    with torch.no_grad():
        pairs = [(net(x), y) for x, y in val_dl]
    out, y = (torch.cat(t) for t in zip(*pairs))
    print(f"epoch {epoch + 1:2d}  train loss {loss_sum / 1400:.3f} acc {hit / 1400:.3f}"
          f"  val loss {ce(out, y).item():.3f} acc {(out.argmax(1) == y).float().mean():.3f}")
