# Small capsule network (dynamic routing) on the 8x8 digits.
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(42)


def squash(s, dim=-1):
    n2 = (s * s).sum(dim, keepdim=True)
    return n2 / (1 + n2) * s / torch.sqrt(n2 + 1e-8)


class PrimaryCaps(nn.Module):
    def __init__(self, caps_types=6, caps_dim=4):
        super().__init__()
        self.caps_dim = caps_dim
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, caps_types * caps_dim, 3, stride=2)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = self.conv2(x)                                     # (N, types*dim, 3, 3)
        x = x.permute(0, 2, 3, 1).reshape(len(x), -1, self.caps_dim)
        return squash(x)                                      # (N, 54, dim)


class DigitCaps(nn.Module):
    def __init__(self, n_in=54, d_in=4, n_out=10, d_out=8, routing=2, init_sigma=1e-4):
        super().__init__()
        self.routing = routing
        self.W = nn.Parameter(init_sigma * torch.randn(n_in, n_out, d_in, d_out))

    def forward(self, u):
        u_hat = torch.einsum("bid,ijde->bije", u, self.W)     # predictions of every capsule below
        b = torch.zeros(u_hat.shape[:3])
        for r in range(self.routing):
            c = b.softmax(dim=2)
            v = squash((c[..., None] * u_hat).sum(1))
            if r < self.routing - 1:
                b = b + (u_hat.detach() * v.detach()[:, None]).sum(-1)
        return v


def margin_loss(v, y):
    length = torch.sqrt((v * v).sum(-1) + 1e-8)
    t = F.one_hot(y, 10).float()
    present = F.relu(0.9 - length) ** 2
    absent = F.relu(length - 0.1) ** 2
    return (t * present + 0.5 * (1 - t) * absent).sum(1).mean()


digits = load_digits()
x_tr, x_te, y_tr, y_te = train_test_split(digits.images / 16.0, digits.target, test_size=0.2, random_state=0, stratify=digits.target)
x_tr, x_te = (torch.tensor(a, dtype=torch.float32)[:, None] for a in (x_tr, x_te))
y_tr, y_te = torch.tensor(y_tr), torch.tensor(y_te)

net = nn.Sequential(PrimaryCaps(), DigitCaps())
optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)

step = 0
for epoch in range(4):
    for idx in torch.randperm(len(x_tr)).split(48):
        optimizer.zero_grad()
        loss = margin_loss(net(x_tr[idx]), y_tr[idx])
        loss.backward()
        optimizer.step()
        if step % 15 == 0:
            print(f"step {step:4d} margin loss {loss.item():.4f}")
        step += 1
    with torch.no_grad():
        acc = (net(x_te).norm(dim=-1).argmax(1) == y_te).float().mean()
    print(f"== epoch {epoch + 1}: test accuracy {acc:.3f}")
