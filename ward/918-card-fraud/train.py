"""Card fraud, one logit."""
import torch
import torch.nn as nn

torch.manual_seed(12)


def payments(n):
    y = (torch.rand(n) < 0.04).float()
    x = torch.randn(n, 9)
    x[:, :3] += 0.9 * y[:, None]
    return x, y


x, y = payments(5000)
x_val, y_val = payments(2500)
model = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Linear(16, 1))
loss_fn = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(6):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(64):
        out = model(x[idx]).squeeze(1)
        loss = loss_fn(out, y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        out = model(x_val).squeeze(1)
        val = loss_fn(out, y_val).item()
        flagged = out > 0
        recall = flagged[y_val == 1].float().mean().item()
        honest = (~flagged[y_val == 0]).float().mean().item()
    print(f"epoch {epoch} loss {total / len(x):.4f} val {val:.4f} fraud recall {recall:.3f} honest recall {honest:.3f}")
