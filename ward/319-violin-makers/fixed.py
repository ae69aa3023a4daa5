import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1715)

# attribute violins to one of 3 workshops by 45 acoustic features
N_FEAT = 45


def instruments(n):
    maker = torch.randint(0, 3, (n,))
    f = torch.randn(n, N_FEAT)
    f[:, 0] += 0.9 * (maker == 0)
    f[:, 1] += 0.9 * (maker == 1)
    f[:, 2] += 0.9 * (maker == 2)
    f[:, 3] += 0.7 * (maker.float() - 1)
    return f, maker


train_f, train_m = instruments(3000)
val_f, val_m = instruments(400)


class Attribution(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(N_FEAT, 16), nn.ReLU(), nn.Dropout(0.3),
            nn.Linear(16, 3),
        )

    def forward(self, x):
        return self.layers(x)


model = Attribution()
opt = torch.optim.Adam(model.parameters(), lr=1.5e-3, weight_decay=5e-3)

for epoch in range(12):
    model.train()
    ep_loss = 0
    for b in torch.randperm(3000).split(100):
        loss = F.cross_entropy(model(train_f[b]), train_m[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        ep_loss += loss.item() * len(b) / 3000
    model.eval()
    with torch.no_grad():
        out = model(val_f)
        val_loss = F.cross_entropy(out, val_m).item()
        val_acc = (out.argmax(1) == val_m).float().mean().item()
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1:3d}: train loss {ep_loss:.4f}, val loss {val_loss:.4f}, val acc {val_acc:.3f}")
