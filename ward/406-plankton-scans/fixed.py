import numpy as np
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(12)
rng = np.random.default_rng(12)

images, labels = load_digits(return_X_y=True)
images = torch.tensor(images.reshape(-1, 1, 8, 8) / 8.0 - 1.0, dtype=torch.float32)
labels = torch.tensor(labels)
order = rng.permutation(len(labels))
train_idx, val_idx = order[:1400], order[1400:]


def conv_init(cout, cin, k):
    return (torch.randn(cout, cin, k, k) * (2.0 / (cin * k * k)) ** 0.5).requires_grad_()


params = {
    "c1": conv_init(12, 1, 3), "b1": torch.zeros(12, requires_grad=True),
    "c2": conv_init(24, 12, 3), "b2": torch.zeros(24, requires_grad=True),
    "w": (torch.randn(10, 96) * 0.1).requires_grad_(), "b": torch.zeros(10, requires_grad=True),
}


def forward(p, x):
    x = F.max_pool2d(F.relu(F.conv2d(x, p["c1"], p["b1"], padding=1)), 2)
    x = F.max_pool2d(F.relu(F.conv2d(x, p["c2"], p["b2"], padding=1)), 2)
    return F.linear(x.flatten(1), p["w"], p["b"])


def micro_batches(idx, size):
    idx = rng.permutation(idx)
    for start in range(0, len(idx) - size + 1, size):
        pick = idx[start:start + size]
        yield images[pick], labels[pick]


MICRO, GROUP = 28, 5
optimizer = torch.optim.SGD(params.values(), lr=0.15, momentum=0.9, nesterov=True)
for epoch in range(1, 9):
    seen = []
    for k, (x, y) in enumerate(micro_batches(train_idx, MICRO), start=1):
        loss = F.cross_entropy(forward(params, x), y, reduction="sum") / (MICRO * GROUP)
        loss.backward()
        seen.append(loss.item() * GROUP)
        if k % GROUP == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    with torch.no_grad():
        pred = forward(params, images[val_idx]).argmax(1)
    acc = (pred == labels[val_idx]).float().mean().item()
    print(f"epoch {epoch:2d} | loss {np.mean(seen):.4f} | val acc {acc:.3f}")
