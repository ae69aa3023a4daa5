# Classify scanned digits. Scans come as one array per file name, the labels from the index sheet.
import csv
import io

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, Dataset, Subset

torch.manual_seed(21)


def open_archive():
    """The archive as we got it: {file name: picture} and the sheet (one line per scan)."""
    digits = load_digits()
    order = torch.randperm(len(digits.target), generator=torch.Generator().manual_seed(4)).tolist()
    files = {f"scan_{k}.png": torch.tensor(digits.images[i], dtype=torch.float32) for k, i in enumerate(order)}
    sheet = "scan,digit\n" + "\n".join(f"{k},{digits.target[i]}" for k, i in enumerate(order))
    return files, sheet


class Scans(Dataset):
    def __init__(self):
        self.files, sheet = open_archive()
        self.names = sorted(self.files, key=lambda name: int(name[5:-4]))
        self.labels = [int(row["digit"]) for row in csv.DictReader(io.StringIO(sheet))]
        assert len(self.names) == len(self.labels)

    def __len__(self):
        return len(self.names)

    def __getitem__(self, i):
        img = (self.files[self.names[i]] / 16.0 - 0.3) / 0.38
        return {"image": img.unsqueeze(0), "label": self.labels[i], "name": self.names[i]}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(32 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


scans = Scans()
perm = torch.randperm(len(scans)).tolist()
train_loader = DataLoader(Subset(scans, perm[:1400]), batch_size=32, shuffle=True)
test_loader = DataLoader(Subset(scans, perm[1400:]), batch_size=128)

net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(1, 21):
    net.train()
    seen = running = 0
    for batch in train_loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(net(batch["image"]), batch["label"])
        loss.backward()
        optimizer.step()
        running += loss.item() * len(batch["label"])
        seen += len(batch["label"])
    net.eval()
    correct = vloss = 0
    with torch.no_grad():
        for batch in test_loader:
            out = net(batch["image"])
            vloss += F.cross_entropy(out, batch["label"], reduction="sum").item()
            correct += (out.argmax(1) == batch["label"]).sum().item()
    if epoch % 2 == 0:
        print(f"Epoch {epoch}: train loss {running / seen:.4f}, test loss {vloss / 397:.4f}, test acc {correct / 397:.2%}")
