import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvStack(nn.Module):
    """Many thin 3x3 layers instead of a few thick ones."""

    def __init__(self, depth=12, ch=10, classes=5):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, padding=1)
        self.convs = nn.ModuleList(nn.Conv2d(ch, ch, 3, padding=1) for _ in range(depth))
        self.head = nn.Linear(ch * 16, classes)

    def forward(self, x):
        x = F.max_pool2d(torch.tanh(self.stem(x)), 2)
        for conv in self.convs:
            x = torch.tanh(conv(x))
        return self.head(x.flatten(1))


def glyphs(n, g):
    """8x8 glyphs: five fixed patterns, shifted by a pixel and with pixel noise."""
    base = (torch.rand(5, 8, 8, generator=torch.Generator().manual_seed(99)) > 0.5).float() * 2 - 1
    y = torch.randint(0, 5, (n,), generator=g)
    x = base[y]
    shift = torch.randint(-1, 2, (n,), generator=g)
    x = torch.stack([img.roll(int(s), 1) for img, s in zip(x, shift)])
    return (x + 0.7 * torch.randn(n, 8, 8, generator=g))[:, None], y


def accuracy_and_loss(net, x, y):
    net.eval()
    with torch.no_grad():
        out = net(x)
    return (out.argmax(1) == y).float().mean().item(), F.cross_entropy(out, y).item()


g = torch.Generator().manual_seed(7)
torch.manual_seed(7)
x_train, y_train = glyphs(1000, g)
x_val, y_val = glyphs(300, g)
net = ConvStack()
sgd = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
for epoch in range(6):
    net.train()
    losses = []
    for idx in torch.randperm(1000).split(40):
        sgd.zero_grad()
        loss = F.cross_entropy(net(x_train[idx]), y_train[idx])
        loss.backward()
        sgd.step()
        losses.append(loss.item())
    acc, val = accuracy_and_loss(net, x_val, y_val)
    print(f"epoch {epoch + 1}: train {sum(losses) / len(losses):.4f}, val {val:.4f}, accuracy {acc:.3f}")
