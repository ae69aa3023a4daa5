import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Chromatograms(Dataset):
    """Peak heights at 30 retention times for five herbs."""

    def __init__(self, n, seed):
        shape = torch.rand(5, 30, generator=torch.Generator().manual_seed(77)) ** 3
        g = torch.Generator().manual_seed(seed)
        self.herb = torch.randint(0, 5, (n,), generator=g)
        strength = 0.6 + 0.8 * torch.rand(n, 1, generator=g)
        self.peaks = (shape[self.herb] * strength + 0.35 * torch.randn(n, 30, generator=g) - 0.25) * 2

    def __len__(self):
        return len(self.herb)

    def __getitem__(self, i):
        return self.peaks[i], self.herb[i]


class HerbNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(30, 48), nn.Linear(48, 5)

    def scores(self, x):
        return self.fc2(F.dropout(F.relu(self.fc1(x)), 0.2, self.training))

    def forward(self, x):
        s = self.scores(x)
        return s - torch.logsumexp(s, dim=1, keepdim=True)


torch.manual_seed(48)
net = HerbNet()
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
train, val = DataLoader(Chromatograms(900, 1), 45, shuffle=True), DataLoader(Chromatograms(400, 2), 200)
train_curve, val_curve = [], []
for epoch in range(8):
    net.train()
    losses = []
    for x, herb in train:
        loss = F.nll_loss(net(x), herb)
        net.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    train_curve.append(torch.stack(losses).mean().item())
    net.eval()
    with torch.no_grad():
        out = torch.cat([net(x) for x, _ in val])
    herbs = torch.cat([h for _, h in val])
    val_curve.append(F.nll_loss(out, herbs).item())
    print(f"epoch {epoch + 1}: train {train_curve[-1]:.4f} val {val_curve[-1]:.4f} acc {(out.argmax(1) == herbs).float().mean():.3f}")
