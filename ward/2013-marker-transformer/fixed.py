import math

import torch
import torch.nn as nn

cfg = dict(vocab=16, length=20, dim=32, heads=4, layers=2, batch=32, epochs=9, lr=5e-4, warmup=150, seed=17)


def make_sequences(n, cfg, seed):
    """Label: which of the four marker tokens (0..3) occurs most often."""
    g = torch.Generator().manual_seed(seed)
    x = torch.randint(4, cfg["vocab"], (n, cfg["length"]), generator=g)
    y = torch.randint(0, 4, (n,), generator=g)
    for i in range(n):
        spots = torch.randperm(cfg["length"], generator=g)[:9]
        others = (y[i] + 1 + torch.randperm(3, generator=g)) % 4
        x[i, spots] = torch.stack([y[i]] * 4 + [others[0]] * 3 + [others[1], others[2]])
    return x, y


class Classifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg["vocab"], cfg["dim"])
        self.pos = nn.Parameter(torch.randn(cfg["length"], cfg["dim"]) * 0.02)
        layer = nn.TransformerEncoderLayer(cfg["dim"], cfg["heads"], 2 * cfg["dim"], dropout=0.1, batch_first=True,
                                           norm_first=True)
        self.enc = nn.TransformerEncoder(layer, cfg["layers"], enable_nested_tensor=False)
        self.norm = nn.LayerNorm(cfg["dim"])
        self.out = nn.Linear(cfg["dim"], 4)

    def forward(self, x):
        h = self.enc(self.tok(x) + self.pos)
        return self.out(self.norm(h.mean(1)))


def lr_factor(step):
    if step < cfg["warmup"]:
        return (step + 1) / cfg["warmup"]
    total = cfg["epochs"] * math.ceil(len(x_train) / cfg["batch"])
    done = (step - cfg["warmup"]) / (total - cfg["warmup"])
    return 0.5 * (1 + math.cos(math.pi * min(done, 1.0)))


torch.manual_seed(cfg["seed"])
x_train, y_train = make_sequences(4000, cfg, 1)
x_val, y_val = make_sequences(1000, cfg, 2)
net = Classifier(cfg)
opt = torch.optim.AdamW(net.parameters(), lr=cfg["lr"], weight_decay=0.01)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lr_factor)
ce = nn.CrossEntropyLoss()

for epoch in range(cfg["epochs"]):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(x_train)).split(cfg["batch"]):
        loss = ce(net(x_train[idx]), y_train[idx])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        sched.step()
        total += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        out = net(x_val)
        val, acc = ce(out, y_val).item(), (out.argmax(1) == y_val).float().mean().item()
    print(f"epoch {epoch + 1:2d} train {total / len(x_train):.4f} val {val:.4f} acc {acc:.3f}")
