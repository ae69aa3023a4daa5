import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(10)
RATE, LENGTH = 2000, 768


def make_call(kind):
    """One clip: a rising, falling, steady or trilling whistle somewhere in it."""
    t = torch.arange(LENGTH) / RATE
    f0 = 300 + 300 * torch.rand(1)
    sweep = {0: 600 * t, 1: -600 * t, 2: 0 * t, 3: 120 * torch.sin(2 * math.pi * 12 * t)}[kind]
    phase = 2 * math.pi * torch.cumsum(f0 + sweep, 0) / RATE
    clip = torch.sin(phase) + 1.2 * torch.randn(LENGTH)
    if torch.rand(1) < 0.02:                      # the recorder was switched on late
        clip[:int(40 + 120 * torch.rand(1))] = 0.0
    return clip


def features(clips):
    spec = torch.stft(clips, n_fft=64, hop_length=32, window=torch.hann_window(64), center=False, return_complex=True)
    power = spec.abs() ** 2
    return (torch.log10(power + 1e-3) / 1.5)[:, None]


labels = torch.randint(0, 4, (1000,))
clips = torch.stack([make_call(int(k)) for k in labels])
ds = TensorDataset(features(clips), labels)
train_set, test_set = random_split(ds, [800, 200])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
test_loader = DataLoader(test_set, batch_size=100)


class CallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, stride=2, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.bn2 = nn.BatchNorm2d(16)
        self.fc = nn.Linear(16 * 9 * 6, 4)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return self.fc(x.flatten(1))


model = CallNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-3)
for epoch in range(5):
    model.train()
    for step, (x, y) in enumerate(train_loader):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"epoch {epoch} step {step:2d} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        res = [(F.cross_entropy(model(x), y).item(), (model(x).argmax(1) == y).float().mean().item()) for x, y in test_loader]
    print(f"epoch {epoch} test loss {sum(r[0] for r in res) / 2:.4f} accuracy {sum(r[1] for r in res) / 2:.3f}")
