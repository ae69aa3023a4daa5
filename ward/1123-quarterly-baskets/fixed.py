"""Household type from a quarter of purchases: deep averaging network over item ids."""
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, IterableDataset

N_ITEMS, N_TYPES, BASKET = 300, 8, 150
rng = np.random.default_rng(44)
popular = 1 / np.arange(1, N_ITEMS + 1) ** 0.7
TASTE = popular * np.exp(0.4 * rng.normal(size=(N_TYPES, N_ITEMS)))
TASTE = torch.tensor(TASTE / TASTE.sum(1, keepdims=True), dtype=torch.float32)


class Tills(IterableDataset):
    """Endless baskets as they come from the tills."""

    def __init__(self, seed):
        self.g = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            kind = int(torch.randint(0, N_TYPES, (1,), generator=self.g))
            yield torch.multinomial(TASTE[kind], BASKET, replacement=True, generator=self.g), kind


class BasketNet(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.item = nn.Embedding(N_ITEMS, dim)
        self.mix = nn.Linear(dim, dim)
        self.kind = nn.Linear(dim, N_TYPES)

    def forward(self, ids):
        basket = torch.tanh(self.item(ids).mean(dim=1))
        return self.kind(torch.tanh(self.mix(basket)))


def main():
    torch.manual_seed(44)
    loader = iter(DataLoader(Tills(1), batch_size=32))
    test_x, test_y = next(iter(DataLoader(Tills(2), batch_size=500)))
    net = BasketNet()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2, momentum=0.9)
    window = []
    for step in range(1, 401):
        ids, kind = next(loader)
        loss = nn.functional.cross_entropy(net(ids), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        window.append(loss.item())
        if step % 40 == 0:
            with torch.no_grad():
                out = net(test_x)
            acc = (out.argmax(1) == test_y).float().mean().item()
            print(f"step {step:3d} loss {np.mean(window):.4f} test loss {nn.functional.cross_entropy(out, test_y).item():.4f} acc {acc:.3f}")
            window = []


if __name__ == "__main__":
    main()
