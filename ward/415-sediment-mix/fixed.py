import torch
import torch.nn as nn
from torch.distributions import Dirichlet

torch.manual_seed(61)


def cores(n):
    """Share of five grain types from a noisy 16-channel scan of the core."""
    share = Dirichlet(torch.full((5,), 1.5)).sample((n,))
    response = torch.sin(torch.arange(5)[:, None] * 1.3 + torch.arange(16)[None] * 0.6) * 3
    return share @ response + 0.15 * torch.randn(n, 16), share


class MixNet(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(16, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 5))


class DistributionLoss(nn.Module):
    """KL divergence between the measured and the predicted shares."""

    def __init__(self):
        super().__init__()
        self.kl = nn.KLDivLoss(reduction="batchmean")

    def forward(self, scores, share):
        return self.kl(torch.log_softmax(scores, dim=-1), share)


x_train, s_train = cores(1500)
x_val, s_val = cores(400)
net, criterion = MixNet(), DistributionLoss()
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)

for epoch in range(12):
    net.train()
    epoch_loss = 0.0
    for part in torch.randperm(1500).split(75):
        loss = criterion(net(x_train[part]), s_train[part])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item() / 20
    scheduler.step()
    net.eval()
    with torch.no_grad():
        scores = net(x_val)
        off = (scores.softmax(-1) - s_val).abs().sum(1).mean() / 2
        val = criterion(scores, s_val)
    print(f"epoch {epoch + 1:2d}  kl {epoch_loss:.4f}  val {val:.4f}  misplaced share {off:.3f}")
