import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)
MAXLEN, VOCAB = 10, 30


def make(n, length):
    """Sum of the first half compared with the second half."""
    x = torch.zeros(n, MAXLEN, dtype=torch.long)
    x[:, :length] = torch.randint(1, VOCAB, (n, length))
    half = length // 2
    return x, (x[:, :half].sum(1) > x[:, half:length].sum(1)).long()


class Comparer(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 12, padding_idx=0)
        self.pos = nn.Parameter(torch.randn(MAXLEN, 12) * 0.1)
        self.mlp = nn.Sequential(nn.Flatten(), nn.Linear(MAXLEN * 12, 64), nn.ReLU(), nn.Linear(64, 2))

    def forward(self, x):
        return self.mlp(self.emb(x) + self.pos)


net = Comparer()
opt = torch.optim.AdamW(net.parameters(), lr=5e-3, weight_decay=1e-2)
sched = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=100, eta_min=1e-4)
stages = [6, 6, 8, 10, 10]
val_sets = {n: make(1500, n) for n in set(stages)}
run = []
for step in range(500):
    length = stages[step // 100]
    x, y = make(128, length)
    loss = F.cross_entropy(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    run.append(loss.item())
    if step % 50 == 49:
        x_val, y_val = val_sets[length]
        net.eval()
        with torch.no_grad():
            o = net(x_val)
        net.train()
        print(f"step {step + 1} length {length} lr {opt.param_groups[0]['lr']:.4f} loss {sum(run[-50:]) / 50:.4f} "
              f"val {F.cross_entropy(o, y_val).item():.4f} acc {(o.argmax(1) == y_val).float().mean().item():.3f}")
