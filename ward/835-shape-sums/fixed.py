"""Count of blobs in a picture: all in half precision."""
import torch
import torch.nn as nn

torch.manual_seed(10)


def pictures(n, size=12):
    count = torch.randint(1, 6, (n,))
    yy, xx = torch.meshgrid(torch.arange(float(size)), torch.arange(float(size)), indexing="ij")
    img = torch.zeros(n, size, size)
    for k in range(5):
        c = torch.rand(n, 2, 1, 1) * (size - 4) + 2
        blob = torch.exp(-((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2) / 1.5)
        img += blob * (count > k)[:, None, None]
    return (img + 0.05 * torch.randn(n, size, size)).unsqueeze(1), count - 1


class Counter(nn.Module):
    def __init__(self, c=8):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, c, 3, padding=1), nn.GELU(), nn.Conv2d(c, c, 3, padding=1), nn.GELU())
        self.gain = nn.Parameter(torch.tensor(50.0))
        self.head = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, 5))

    def forward(self, x):
        h = self.gain * self.conv(x)
        energy = (h ** 2).sum((2, 3))
        return self.head(torch.log1p(energy))


net = Counter()
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
loss_fn = nn.CrossEntropyLoss()
for step in range(1, 121):
    x, y = pictures(24)
    loss = loss_fn(net(x), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()
    if step % 12 == 0 or step == 1:
        print(f"step {step:3d} loss {loss.item():.4f}")
