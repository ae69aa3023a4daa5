"""Temperature in the middle of a loaf from the settings of the oven."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(11)
settings = rng.uniform(-1, 1, size=(1600, 6)).astype(np.float32)
core = np.sin(2 * settings[:, 0]) + settings[:, 1] * settings[:, 2] + 0.5 * settings[:, 3] ** 2 - 0.7 * settings[:, 4]
core = ((core - core.mean()) / core.std() + 0.05 * rng.standard_normal(1600)).astype(np.float32)
train_x, test_x = torch.from_numpy(settings[:1280]), torch.from_numpy(settings[1280:])
train_y, test_y = torch.from_numpy(core[:1280]), torch.from_numpy(core[1280:])


class Oven(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.inner = nn.Linear(6, width)
        self.middle = nn.Linear(width, width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        h = torch.tanh(self.inner(x))
        h = torch.tanh(self.middle(h))
        return self.head(h).squeeze(-1)


def main():
    torch.manual_seed(0)
    net = Oven()
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=0.15)
    for epoch in range(15):
        order = torch.randperm(len(train_x))
        net.train()
        for i in range(0, len(order), 32):
            rows = order[i : i + 32]
            opt.zero_grad()
            loss = F.mse_loss(net(train_x[rows]), train_y[rows])
            loss.backward()
            opt.step()
        net.eval()
        with torch.no_grad():
            error = F.mse_loss(net(test_x), test_y)
        print(f"epoch {epoch + 1} last batch {loss.item():.4f} test {error.item():.4f}")


if __name__ == "__main__":
    main()
