import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(16)
FRAMES, SPEAKERS = 20, 5
voices = torch.randn(SPEAKERS, 12)


def record(n):
    speaker = torch.randint(0, SPEAKERS, (n,))
    mood = torch.randn(n, 1, 12)
    return 0.7 * voices[speaker][:, None] + mood + 0.4 * torch.randn(n, FRAMES, 12), speaker


class FrameNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, SPEAKERS))

    def frames(self, x):
        return self.layers(x)

    def forward(self, x):
        return self.frames(x).mean(1)


train_loader = DataLoader(TensorDataset(*record(1600)), batch_size=40, shuffle=True)
test_loader = DataLoader(TensorDataset(*record(800)), batch_size=200)
model = FrameNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(4):
    model.train()
    for x, y in train_loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    scores = []
    with torch.no_grad():
        for x, y in test_loader:
            scores.append(F.cross_entropy(model.frames(x).sum(1), y).item())
    print(f"epoch {epoch + 1} loss {loss.item():.3f} test {sum(scores) / len(scores):.3f}")
