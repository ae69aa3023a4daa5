# Rain type from 12 radar moments (5 types), a two-layer net written out by hand.
import torch

torch.manual_seed(8)
N, D, H, C = 3000, 12, 48, 5
LR0, DECAY, BATCH, EPOCHS = 0.15, 0.002, 50, 8

centres = torch.randn(3 * C, D) * 1.3
which = torch.randint(0, 3 * C, (N,))
X = centres[which] + 0.8 * torch.randn(N, D)
Y = which % C
X = (X - X[:2400].mean(0)) / X[:2400].std(0)
Xtr, Ytr, Xva, Yva = X[:2400], Y[:2400], X[2400:], Y[2400:]

params = {
    "w1": (torch.randn(D, H) * (2 / D) ** 0.5).requires_grad_(),
    "b1": torch.zeros(H, requires_grad=True),
    "w2": (torch.randn(H, H) * (2 / H) ** 0.5).requires_grad_(),
    "b2": torch.zeros(H, requires_grad=True),
    "w3": (torch.randn(H, C) * (1 / H) ** 0.5).requires_grad_(),
    "b3": torch.zeros(C, requires_grad=True),
}


def forward(p, x):
    h = torch.relu(x @ p["w1"] + p["b1"])
    h = torch.relu(h @ p["w2"] + p["b2"])
    return h @ p["w3"] + p["b3"]


def xent(logits, y):
    return (torch.logsumexp(logits, 1) - logits.gather(1, y[:, None])[:, 0]).mean()


opt = torch.optim.SGD(params.values(), lr=LR0)
iteration = 0
for epoch in range(EPOCHS):
    perm = torch.randperm(len(Xtr))
    running = 0.0
    for i in range(0, len(perm), BATCH):
        for group in opt.param_groups:
            group["lr"] = LR0 / (1.0 + DECAY * iteration)
        idx = perm[i:i + BATCH]
        loss = xent(forward(params, Xtr[idx]), Ytr[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        iteration += 1
        running += loss.item() * len(idx)
    with torch.no_grad():
        out = forward(params, Xva)
        print(f"epoch {epoch}: train {running / len(Xtr):.4f}  val {xent(out, Yva):.4f}  "
              f"acc {(out.argmax(1) == Yva).float().mean():.3f}")
