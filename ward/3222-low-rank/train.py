"""Fine-tune a frozen base with LoRA adapters on a shifted task."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(4)


class LoRALinear(nn.Module):
    def __init__(self, base, rank=4, alpha=8):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scale = alpha / rank

    def forward(self, x):
        return self.base(x) + self.scale * F.linear(F.linear(x, self.lora_A), self.lora_B)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 128)
        self.fc2 = nn.Linear(128, 128)
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.drop(F.gelu(self.fc2(F.gelu(self.fc1(x))))))


def fit(model, x, y, xv, yv, epochs, lr, tag):
    params = [p for p in model.parameters() if p.requires_grad]
    print(f"[{tag}] trainable {sum(p.numel() for p in params)} of {sum(p.numel() for p in model.parameters())}")
    opt = torch.optim.AdamW(params, lr=lr, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(1, epochs + 1):
        model.train()
        mean = 0.0
        for b in torch.randperm(len(y)).split(32):
            loss = F.cross_entropy(model(x[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            mean += loss.item() * len(b) / len(y)
        sched.step()
        model.eval()
        with torch.no_grad():
            out = model(xv)
        if epoch % 2 == 0:
            print(f"[{tag}] epoch {epoch:2d} train {mean:.4f} val {F.cross_entropy(out, yv):.4f} acc {(out.argmax(1) == yv).float().mean():.3f}")


X, y = load_digits(return_X_y=True)
X, y = torch.tensor(X, dtype=torch.float32) / 8 - 1, torch.tensor(y)
perm = torch.randperm(len(y))
X, y = X[perm], y[perm]
X_rot = X.view(-1, 8, 8).rot90(1, (1, 2)).reshape(-1, 64)      # the new scanner delivers the pages sideways

model = Net()
fit(model, X[:1400], y[:1400], X[1400:], y[1400:], 14, 1e-3, "base")
model.requires_grad_(False)
model.fc1, model.fc2, model.head = LoRALinear(model.fc1, 8, 16), LoRALinear(model.fc2, 8, 16), LoRALinear(model.head, 8, 16)
fit(model, X_rot[:1400], y[:1400], X_rot[1400:], y[1400:], 24, 3e-3, "lora")
