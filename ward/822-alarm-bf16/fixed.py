"""Which of five alarms go off? Mixed precision run (bfloat16 autocast)."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(19)
ALARMS = 5


def plant(n, seed):
    g = torch.Generator().manual_seed(seed)
    w = torch.randn(12, ALARMS, generator=torch.Generator().manual_seed(77))
    x = torch.randn(n, 12, generator=g)
    return x, ((x @ w) / 12 ** 0.5 + 0.3 * x[:, :ALARMS] * x[:, 5:5 + ALARMS] > 0.3).float()


def multi_label_loss(logits, y):
    return nn.functional.binary_cross_entropy_with_logits(logits.float(), y)


model = nn.Sequential(nn.Linear(12, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, ALARMS))
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
loader = DataLoader(TensorDataset(*plant(2400, 5)), batch_size=60, shuffle=True)
xv, yv = plant(500, 6)

for epoch in range(6):
    model.train()
    losses = []
    for x, y in loader:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = multi_label_loss(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
        right = ((model(xv) > 0).float() == yv).float().mean().item()
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f} val accuracy per alarm {right:.4f}")
