import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(60)

ROCKS = ["granite", "basalt", "schist", "limestone", "sandstone", "shale"]
signature = torch.randn(len(ROCKS), 24) * 0.45
direction = torch.randn(4, 24) * 0.5


def scan(folder, count):
    """one folder per rock type, `count` gamma/resistivity logs in each"""
    k = ROCKS.index(folder)
    weathering = torch.randn(count, 4)
    return signature[k] + weathering @ direction + 0.65 * torch.randn(count, 24)


class CoreLogs(Dataset):
    def __init__(self, per_folder):
        self.items = []
        for folder in ROCKS:
            for log in scan(folder, per_folder):
                self.items.append((log, ROCKS.index(folder)))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


train_ds, test_ds = CoreLogs(450), CoreLogs(100)
train_loader = DataLoader(train_ds, batch_size=30, shuffle=True)
test_loader = DataLoader(test_ds, batch_size=100)

model = nn.Sequential(nn.Linear(24, 40), nn.LeakyReLU(), nn.Linear(40, 24), nn.LeakyReLU(), nn.Linear(24, 6))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=4e-3)

for epoch in range(6):
    model.train()
    tl = ta = 0
    for x, y in train_loader:
        out = model(x)
        loss = loss_fn(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tl += loss.item() / len(train_loader)
        ta += (out.argmax(1) == y).sum().item() / len(train_ds)
    model.eval()
    vl = va = 0
    with torch.no_grad():
        for x, y in test_loader:
            out = model(x)
            vl += loss_fn(out, y).item() / len(test_loader)
            va += (out.argmax(1) == y).sum().item() / len(test_ds)
    print(f"Epoch {epoch + 1}/6  loss={tl:.3f} acc={ta:.3f}  test_loss={vl:.3f} test_acc={va:.3f}")
