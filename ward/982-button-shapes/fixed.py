import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

rng = np.random.default_rng(9)


def draw(kind):
    canvas = rng.normal(0, 0.25, (12, 12))
    r, c = rng.integers(3, 9, 2)
    yy, xx = np.mgrid[:12, :12]
    if kind == 0:
        canvas[(yy - r) ** 2 + (xx - c) ** 2 <= 6] += 1
    elif kind == 1:
        canvas[(abs(yy - r) <= 2) & (abs(xx - c) <= 2)] += 1
    elif kind == 2:
        canvas[(abs(yy - r) + abs(xx - c)) <= 2] += 1
    else:
        canvas[(yy == r) | (xx == c)] += 1
    return canvas


kinds = rng.integers(0, 4, 900)
images = torch.tensor(np.stack([draw(k) for k in kinds])[:, None], dtype=torch.float32)
kinds = torch.tensor(kinds)


class Buttons(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32 * 9, 4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def main(batch_size=8, lr=0.01, epochs=4):
    torch.manual_seed(0)
    net = Buttons()
    opt = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.9)
    for epoch in range(epochs):
        order = torch.randperm(750)
        losses = []
        for start in range(0, 750, batch_size):
            pick = order[start : start + batch_size]
            opt.zero_grad()
            loss = F.cross_entropy(net(images[pick]), kinds[pick])
            loss.backward()
            opt.step()
            losses.append(loss.item())
        with torch.no_grad():
            held_out = F.cross_entropy(net(images[750:]), kinds[750:]).item()
        print(f"epoch {epoch}: {np.mean(losses):.3f} held out {held_out:.3f}")


main()
