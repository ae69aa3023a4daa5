"""Read the number on enamel tiles (8x8 pictures). Settings in one dictionary."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

config = {
    "seed": 44,
    "epochs": 8,
    "batch": 48,
    "lr": 2e-3,
    "channels": (12, 24),
    "criterion": "l1",
}

CRITERIA = {"l1": nn.L1Loss, "mse": nn.MSELoss, "ce": nn.CrossEntropyLoss}


class TileNet(nn.Module):
    def __init__(self, c1, c2, codes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(1, c1, 3, padding=1)
        self.conv2 = nn.Conv2d(c1, c2, 3, padding=1)
        self.fc1 = nn.Linear(c2 * 4, 48)
        self.fc2 = nn.Linear(48, codes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


def load():
    data = load_digits()
    x = (data.images / 16 - 0.3) / 0.38
    parts = train_test_split(x, data.target, test_size=0.2, stratify=data.target, random_state=config["seed"])
    x_tr, x_te = (torch.tensor(p, dtype=torch.float32)[:, None] for p in parts[:2])
    y_tr, y_te = (torch.tensor(p) for p in parts[2:])
    return x_tr, F.one_hot(y_tr, 10).float(), x_te, F.one_hot(y_te, 10).float()


def score(net, criterion, x, target):
    net.eval()
    with torch.no_grad():
        out = net(x)
    return criterion(out, target).item(), (out.argmax(1) == target.argmax(1)).float().mean().item()


torch.manual_seed(config["seed"])
x_tr, t_tr, x_te, t_te = load()
net = TileNet(*config["channels"])
criterion = CRITERIA[config["criterion"]]()
optimizer = torch.optim.Adam(net.parameters(), lr=config["lr"])
for epoch in range(config["epochs"]):
    net.train()
    for idx in torch.randperm(len(x_tr)).split(config["batch"]):
        optimizer.zero_grad()
        loss = criterion(net(x_tr[idx]), t_tr[idx])
        loss.backward()
        optimizer.step()
    train_loss, train_acc = score(net, criterion, x_tr, t_tr)
    test_loss, test_acc = score(net, criterion, x_te, t_te)
    print(f"[{epoch + 1}] loss {train_loss:.4f} acc {train_acc:.3f} | test loss {test_loss:.4f} acc {test_acc:.3f}")
