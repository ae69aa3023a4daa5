# reading digit strings from a strip of columns, with CTC
import torch
import torch.nn as nn

torch.manual_seed(4)
GLYPH = torch.randn(10, 3, 8)                                # three columns per digit
LENGTH = 4


def strips(n):
    digits = torch.randint(0, 10, (n, LENGTH))
    cols = [[] for _ in range(n)]
    for i in range(n):
        for d in digits[i]:
            cols[i].append(torch.zeros(int(torch.randint(1, 3, (1,))), 8))
            cols[i].append(GLYPH[d])
    x = nn.utils.rnn.pad_sequence([torch.cat(c) for c in cols], batch_first=True)
    widths = torch.tensor([sum(len(p) for p in c) for c in cols])
    return x + 0.1 * torch.randn_like(x), widths, digits + 1


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(8, 48, 3, padding=1)
        self.mix = nn.Conv1d(48, 48, 3, padding=1)
        self.out = nn.Linear(48, 11)

    def forward(self, x):
        h = torch.relu(self.conv(x.transpose(1, 2)))
        h = torch.relu(self.mix(h)).transpose(1, 2)
        return self.out(h).log_softmax(-1)


def forward_algorithm(logp, widths, target):
    """log likelihood by dynamic programming over the blank-extended target"""
    n, t_max, _ = logp.shape
    ext = torch.zeros(n, 2 * LENGTH + 1, dtype=torch.long)
    ext[:, 1::2] = target
    emit = logp.gather(2, ext[:, None].expand(n, t_max, -1))
    skip = torch.zeros_like(ext, dtype=torch.bool)
    skip[:, 3::2] = target[:, 1:] != target[:, :-1]
    ninf = torch.full((n, 1), float("-inf"))
    alpha = torch.full((n, ext.shape[1]), float("-inf"))
    alpha = torch.cat([emit[:, 0, :2], alpha[:, 2:]], 1)
    states = [alpha]
    for t in range(1, t_max):
        one = torch.cat([ninf, alpha[:, :-1]], 1)
        two = torch.cat([ninf, ninf, alpha[:, :-2]], 1).masked_fill(~skip, float("-inf"))
        alpha = torch.stack([alpha, one, two]).logsumexp(0) + emit[:, t]
        alpha = alpha.clamp(min=-1e4)
        states.append(alpha)
    last = torch.stack(states, 1)[torch.arange(n), widths - 1]
    return torch.logaddexp(last[:, -1], last[:, -2])


net = Reader()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for step in range(1, 121):
    x, widths, target = strips(16)
    loss = -forward_algorithm(net(x), widths, target).mean() / LENGTH
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
    if step % 12 == 0 or step == 1:
        print(f"step {step:3d} loss per digit {loss.item():.4f}")
