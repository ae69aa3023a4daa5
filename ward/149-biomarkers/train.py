import torch
from torch import nn

torch.manual_seed(31)
N_TRAIN, N_VAL, GENES = 400, 400, 60


def patients(n):
    x = torch.randn(n, GENES)
    score = 1.3 * x[:, 0] - 1.0 * x[:, 1] + 0.8 * x[:, 2] + 0.7 * x[:, 3] + 0.8 * torch.randn(n)
    return x, (score > 0).float()


class Screen(nn.Module):
    def __init__(self, width=128, p=0.6):
        super().__init__()
        self.hidden = nn.Sequential(
            nn.Dropout(0.2),
            nn.Linear(GENES, width), nn.ReLU(), nn.Dropout(p),
            nn.Linear(width, width), nn.ReLU(), nn.Dropout(p))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        return self.out(self.hidden(x)).squeeze(-1)


def validate(net, x, y):
    net.eval()
    with torch.no_grad():
        logit = net(x)
        return bce(logit, y).item(), ((logit > 0) == (y > 0.5)).float().mean().item()


x_train, y_train = patients(N_TRAIN)
x_val, y_val = patients(N_VAL)
net = Screen()
bce = nn.BCEWithLogitsLoss()
opt = torch.optim.Adam(net.parameters(), lr=1e-3, weight_decay=1e-4)

net.train()
for epoch in range(30):
    mean_loss = 0.0
    for idx in torch.randperm(N_TRAIN).split(25):
        opt.zero_grad()
        loss = bce(net(x_train[idx]), y_train[idx])
        loss.backward()
        opt.step()
        mean_loss += loss.item() / 16
    val_loss, val_acc = validate(net, x_val, y_val)
    if epoch % 2 == 0:
        print(f"epoch {epoch:2d}  train {mean_loss:.4f}  val {val_loss:.4f}  acc {val_acc:.3f}")
