"""Chargeback risk of card payments; two-layer net written by hand."""
import torch
import torch.nn.functional as F

g = torch.Generator().manual_seed(13)
n, split = 2600, 2000

amount = torch.randn(n, generator=g)
hour = torch.rand(n, generator=g) * 2 - 1
abroad = (torch.rand(n, generator=g) < 0.3).float()
basket = torch.randn(n, generator=g)
merchant = torch.randint(0, 6000, (n,), generator=g)
risk = 1.1 * amount + 1.4 * abroad - 0.8 * hour * basket - 0.4 + 1.2 * torch.randn(n, generator=g)
chargeback = (risk > 0).float()

seen = torch.zeros(6000).index_add_(0, merchant, torch.ones(n))
charged = torch.zeros(6000).index_add_(0, merchant, chargeback)

traffic = seen[merchant] - seen[merchant].mean()
x = torch.stack([amount, hour * 1.7, abroad * 2 - 0.6, basket, traffic], 1)
order = torch.randperm(n, generator=g)
tr, va = order[:split], order[split:]

w1 = (torch.randn(5, 32, generator=g) * (2 / 5) ** 0.5).requires_grad_()
b1 = torch.zeros(32, requires_grad=True)
w2 = (torch.randn(32, 1, generator=g) * (1 / 32) ** 0.5).requires_grad_()
b2 = torch.zeros(1, requires_grad=True)
opt = torch.optim.Adam([w1, b1, w2, b2], lr=4e-3)


def forward(inputs):
    return (torch.relu(inputs @ w1 + b1) @ w2 + b2).squeeze(1)


for epoch in range(8):
    shuffled = tr[torch.randperm(len(tr), generator=g)]
    total = 0.0
    for idx in shuffled.split(50):
        loss = F.binary_cross_entropy_with_logits(forward(x[idx]), chargeback[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx)
    with torch.no_grad():
        logits = forward(x[va])
        val = F.binary_cross_entropy_with_logits(logits, chargeback[va]).item()
        acc = ((logits > 0) == (chargeback[va] > 0)).float().mean().item()
    print(f"{epoch} loss {total / split:.4f} val {val:.4f} acc {acc:.3f}")
