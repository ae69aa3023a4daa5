#!/usr/bin/env python
# Echo task: repeat the input of four steps ago. Plain ReLU RNN, identity-initialised (Le et al. 2015).
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

torch.manual_seed(21)

T = 30
DELAY = 4
HIDDEN = 64
BATCH = 64
STEPS = 1000
CLIP = 1.0


def echo_batch(n):
    x = torch.randn(n, T, 1)
    return x, x[:, :T - DELAY, 0]


class IRNN(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.rnn = nn.RNN(1, hidden, nonlinearity="relu", batch_first=True)
        self.read = nn.Linear(hidden, 1)
        nn.init.eye_(self.rnn.weight_hh_l0)
        nn.init.normal_(self.rnn.weight_ih_l0, std=0.1)
        nn.init.zeros_(self.rnn.bias_hh_l0)
        nn.init.zeros_(self.rnn.bias_ih_l0)

    def forward(self, x):
        out, _ = self.rnn(x)
        return self.read(out)[:, DELAY:, 0]


net = IRNN(HIDDEN)
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS)
mse = nn.MSELoss()
x_val, y_val = echo_batch(1000)

avg = 0.0
for step in range(1, STEPS + 1):
    x, y = echo_batch(BATCH)
    opt.zero_grad()
    loss = mse(net(x), y)
    loss.backward()
    clip_grad_norm_(net.parameters(), CLIP)
    opt.step()
    sched.step()
    avg += loss.item() / 50
    if step % 50 == 0:
        with torch.no_grad():
            v = mse(net(x_val), y_val).item()
        print(f"step {step}: train mse {avg:.5f}, val mse {v:.5f} (variance {y_val.var().item():.4f})")
        avg = 0.0
