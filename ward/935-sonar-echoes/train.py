"""Sea bed type from sonar echoes: 1-d CNN."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, RandomSampler, TensorDataset

BEDS = ["mud", "sand", "gravel", "rock", "weed"]
STEPS = 300


def echoes(n, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(len(BEDS), (n,), generator=g)
    t = torch.arange(40.0)
    rate = (0.04 + 0.05 * y.float())[:, None]
    x = torch.exp(-rate * t) * torch.cos(t * (0.3 + 0.15 * y[:, None])) * 1.6
    return (x + 1.1 * torch.randn(n, 40, generator=g)).unsqueeze(1), y


class Sonar(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(1, 16, 7, stride=2), nn.SiLU(), nn.Conv1d(16, 16, 5, stride=2), nn.SiLU())
        self.classify = nn.Linear(16 * 7, len(BEDS))

    def forward(self, x):
        return self.classify(self.features(x).flatten(1))


torch.manual_seed(3)
train_set = TensorDataset(*echoes(4000, 1))
val_x, val_y = echoes(500, 2)
BATCH = 2
loader = DataLoader(train_set, batch_size=BATCH, sampler=RandomSampler(train_set, replacement=True, num_samples=STEPS * BATCH))
net = Sonar()
opt = torch.optim.Adam(net.parameters(), lr=1.2e-2)
loss_fn = nn.CrossEntropyLoss()
acc_loss = 0.0
for step, (x, y) in enumerate(loader, 1):
    net.train()
    loss = loss_fn(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    acc_loss += loss.item()
    if step % 30 == 0:
        net.eval()
        with torch.no_grad():
            out = net(val_x)
        print(f"step {step}: loss {acc_loss / 30:.3f} val {loss_fn(out, val_y).item():.3f} acc {(out.argmax(1) == val_y).float().mean().item():.3f}")
        acc_loss = 0.0
