import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(0)
data = load_digits()
X = torch.tensor(data.data, dtype=torch.float32) / 16
digit = torch.tensor(data.target)
ink = X.mean(1, keepdim=True)
perm = torch.randperm(len(X))
tr, va = perm[:1400], perm[1400:]
ink = (ink - ink[tr].mean()) / ink[tr].std()


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.cls = nn.Linear(32, 10)
        self.reg = nn.Linear(32, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.cls(h), self.reg(h)


net = TwoHeads()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=0.05)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=12)
for epoch in range(1, 13):
    net.train()
    a = b = 0.0
    for i in tr[torch.randperm(len(tr))].split(64):
        logits, amount = net(X[i])
        l_cls = F.cross_entropy(logits, digit[i])
        l_reg = F.mse_loss(amount, ink[i])
        opt.zero_grad()
        (l_cls + l_reg).backward()
        opt.step()
        a += l_cls.item() * len(i) / len(tr)
        b += l_reg.item() * len(i) / len(tr)
    sched.step()
    net.eval()
    with torch.no_grad():
        logits, amount = net(X[va])
        print(f"epoch {epoch:2d} cls {a:.4f} reg {b:.4f} | val cls {F.cross_entropy(logits, digit[va]).item():.4f} "
              f"acc {(logits.argmax(1) == digit[va]).float().mean().item():.3f} reg {F.mse_loss(amount, ink[va]).item():.4f}")
