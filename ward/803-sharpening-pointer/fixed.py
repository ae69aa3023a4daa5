# pointer network that picks the largest of a set; attention is sharpened while training
import torch
import torch.nn as nn

torch.manual_seed(4)


class Pointer(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.item = nn.Sequential(nn.Linear(3, d), nn.Tanh(), nn.Linear(d, d))
        self.query = nn.Parameter(torch.randn(d) / d ** 0.5)
        self.tau = 1.0

    def forward(self, items):
        scores = self.item(items) @ self.query
        weights = torch.softmax(scores / self.tau, dim=1)
        return (weights * items[:, :, 0]).sum(1), weights


def batch(n=64, k=8):
    items = torch.rand(n, k, 3) * 2 - 1
    return items, items[:, :, 0].max(1).values


model = Pointer()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
test_items, test_best = batch(500)
for step in range(1, 401):
    model.tau = max(0.985 ** step, 0.02)
    items, best = batch()
    picked, _ = model(items)
    loss = nn.functional.l1_loss(picked, best)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 25 == 0 or step == 1:
        with torch.no_grad():
            picked, w = model(test_items)
            print(f"step {step:3d} tau {model.tau:.3f} loss {loss.item():.4f} test {(picked - test_best).abs().mean().item():.4f} sharpness {w.max(1).values.mean().item():.2f}")
