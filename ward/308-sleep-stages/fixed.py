import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import TensorDataset, DataLoader, random_split

torch.manual_seed(77)
np.random.seed(77)

N_STAGES, N_FEAT = 5, 60


def load_nights():
    # 60 EEG band features per 30-second window, stage information spread over a few directions
    stage = np.random.randint(0, N_STAGES, 3000)
    proto = np.random.randn(N_STAGES, 12) * 1.0
    mix = np.random.randn(12, N_FEAT) / np.sqrt(12)
    nuis = np.random.randn(3000, 20) @ np.random.randn(20, N_FEAT) * 0.35
    X = (proto[stage] + 0.25 * np.random.randn(3000, 12)) @ mix + nuis
    X = (X - X.mean(0)) / X.std(0)
    return TensorDataset(torch.tensor(X).float(), torch.tensor(stage))


class StageNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(N_FEAT, 48), nn.ReLU(), nn.Linear(48, 3), nn.BatchNorm1d(3, affine=False))
        self.classifier = nn.Sequential(nn.Linear(3, 24), nn.ReLU(), nn.Linear(24, N_STAGES))

    def forward(self, x):
        z = self.encoder(x)
        return self.classifier(z)


data = load_nights()
train_set, val_set = random_split(data, [2400, 600])
train_loader = DataLoader(train_set, batch_size=120, shuffle=True)
val_loader = DataLoader(val_set, batch_size=600)
net = StageNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-3)

for epoch in range(12):
    net.train()
    running_loss = 0.0
    for inputs, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(inputs), labels)
        loss.backward()
        optimizer.step()
        running_loss += loss.item()
    net.eval()
    with torch.no_grad():
        inputs, labels = next(iter(val_loader))
        out = net(inputs)
    print(f"[{epoch + 1}] loss: {running_loss / len(train_loader):.3f}  val loss: {criterion(out, labels):.3f}"
          f"  val acc: {(out.argmax(1) == labels).float().mean():.3f}")
