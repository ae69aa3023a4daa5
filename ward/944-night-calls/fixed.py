"""Will the patient call at night? Bedside sensor sequences, GRU."""
import torch
import torch.nn as nn

CLASSES = ["quiet", "call"]
CALL_SHARE = 0.06


def nights(n, g):
    y = (torch.rand(n, generator=g) < CALL_SHARE).long()
    x = torch.randn(n, 12, 5, generator=g)
    x[:, :, 0] += 0.3 * y[:, None]
    x[:, 6:, 1] -= 0.35 * y[:, None]
    return x, y


class NightNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(5, 12, batch_first=True)
        self.norm = nn.LayerNorm(12)
        self.head = nn.Linear(12, len(CLASSES))

    def forward(self, x):
        return self.head(self.norm(self.rnn(x)[0].mean(1)))


torch.manual_seed(22)
g = torch.Generator().manual_seed(22)
x, y = nights(3600, g)
xv, yv = nights(1500, g)
net = NightNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss(weight=len(y) / (2 * y.bincount().float()))
for epoch in range(3):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(x), generator=g).split(64):
        loss = criterion(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(idx) / len(x)
    net.eval()
    with torch.no_grad():
        out = net(xv)
    pred = out.argmax(1)
    recall = " ".join(f"{c}={(pred[yv == k] == k).float().mean().item():.2f}" for k, c in enumerate(CLASSES))
    print(f"epoch {epoch} loss {total:.4f} val {criterion(out, yv).item():.4f} acc {(pred == yv).float().mean().item():.3f} {recall}")
