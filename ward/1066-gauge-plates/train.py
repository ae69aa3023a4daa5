"""Half-precision training of a plate reader with two outputs: the digit and how much ink the plate carries."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(61)
device = "cpu"

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
labels = torch.tensor(digits.target)
ink = images.mean(dim=(1, 2, 3))
ink = (ink - ink.mean()) / ink.std()
order = torch.randperm(len(labels))
train, val = order[:1400], order[1400:]


class PlateReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Flatten(), nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU())
        self.digit = nn.Linear(64, 10)
        self.ink = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        h = self.trunk(x)
        return self.digit(h), self.ink(h).squeeze(1)


model = PlateReader().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.5)
scaler = torch.amp.GradScaler(device)

for epoch in range(8):
    model.train()
    sums = torch.zeros(2)
    for b in train[torch.randperm(len(train))].split(50):
        optimizer.zero_grad()
        with torch.autocast(device, dtype=torch.float16):
            digit, amount = model(images[b])
        loss_digit = F.cross_entropy(digit.float(), labels[b])
        loss_ink = F.mse_loss(amount.float(), ink[b])
        scaler.scale(loss_digit).backward(retain_graph=True)
        loss_ink.backward()
        scaler.step(optimizer)
        scaler.update()
        sums += torch.tensor([loss_digit.item(), loss_ink.item()])
    model.eval()
    with torch.no_grad():
        digit, amount = model(images[val])
        acc = (digit.argmax(1) == labels[val]).float().mean().item()
        mse = F.mse_loss(amount, ink[val]).item()
    print(f"epoch {epoch}: digit {sums[0] / 28:.4f} ink {sums[1] / 28:.4f} | val acc {acc:.3f} val ink mse {mse:.4f}")
