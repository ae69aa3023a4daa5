"""Pretrain an encoder on plentiful unlabelled curves, then train only a small head on few labels."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(50)
T = torch.linspace(0, 1, 48)


def curves(n):
    kind = torch.randint(0, 4, (n,))
    f = torch.tensor([2.0, 3.5, 5.0, 7.0])[kind][:, None]
    x = torch.sin(6.2832 * f * T + 0.6 * torch.randn(n, 1)) + 0.3 * torch.randn(n, 48)
    return x / 0.77, kind


class Encoder(nn.Module):
    def __init__(self, code=12):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, code))

    def forward(self, x):
        return self.net(x)


def pretrain(encoder, x, epochs=5):
    decoder = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 48))
    opt = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=3e-3)
    for epoch in range(epochs):
        total = 0.0
        for b in torch.randperm(len(x)).split(50):
            loss = F.mse_loss(decoder(encoder(x[b])), x[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(b) / len(x)
        print(f"pretraining epoch {epoch}: reconstruction {total:.4f}")


encoder = Encoder()
pretrain(encoder, curves(2000)[0])

for p in encoder.parameters():
    p.requires_grad = False
encoder.eval()
head = nn.Linear(12, 4)
x, y = curves(800)
xv, yv = curves(400)
opt = torch.optim.Adam(head.parameters(), lr=2e-2)
for epoch in range(8):
    head.train()
    total = 0.0
    for b in torch.randperm(800).split(40):
        loss = F.cross_entropy(head(encoder(x[b])), y[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() / 20
    head.eval()
    with torch.no_grad():
        out = head(encoder(xv))
    print(f"head epoch {epoch}: train {total:.4f} val {F.cross_entropy(out, yv):.4f} acc {(out.argmax(1) == yv).float().mean():.3f}")
