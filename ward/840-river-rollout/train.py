"""Stage of a river at the end of a long season: an Elman network with ReLU over 40 days."""
import torch
import torch.nn as nn

torch.manual_seed(12)


class Rollout(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.inp = nn.Linear(3, hidden)
        self.rec = nn.Linear(hidden, hidden, bias=False)
        self.out = nn.Linear(hidden, 1)
        nn.init.orthogonal_(self.rec.weight)
        with torch.no_grad():
            self.rec.weight.mul_(1.7)

    def forward(self, seq):
        h = seq.new_zeros(len(seq), self.rec.in_features)
        for t in range(seq.shape[1]):
            h = torch.relu(self.inp(seq[:, t]) + self.rec(h))
        return self.out(h)


def seasons(n, days=40):
    x = torch.randn(n, days, 3)
    decay = 0.8 ** torch.arange(days - 1, -1, -1.0)
    return x, ((x[:, :, 0] - 0.5 * x[:, :, 1]) * decay).sum(1, keepdim=True)


net = Rollout()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(1, 161):
    x, y = seasons(32)
    pred = net(x)
    loss = nn.functional.smooth_l1_loss(pred, y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 10 == 0 or step <= 3:
        print(f"step {step:3d} loss {loss.item():.5g}")
