import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(31)


# ---------------------------------------------------------------- data
def add_features(raw):
    """raw consumption profile (8 values) -> profile plus pairwise differences of neighbours"""
    return torch.cat([raw, raw[:, 1:] - raw[:, :-1]], dim=1)


def households(n):
    raw = torch.randn(n, 8)
    morning = (raw[:, 0] * raw[:, 1] > 0).long()
    evening = (raw[:, 5] * raw[:, 6] > 0).long()
    return add_features(raw), morning * 2 + evening  # four tariffs


# ---------------------------------------------------------------- model
class TariffNet(nn.Module):
    """the width of the input depends on add_features(), so the body is built on first use"""

    def __init__(self, hidden=32, n_classes=4):
        super().__init__()
        self.hidden = hidden
        self.body = None
        self.head = nn.Linear(hidden, n_classes)

    def build(self, n_in):
        self.body = nn.Sequential(nn.Linear(n_in, self.hidden), nn.ReLU(),
                                  nn.Linear(self.hidden, self.hidden), nn.ReLU())

    def forward(self, x):
        if self.body is None:
            self.build(x.shape[1])
        return self.head(self.body(x))


def accuracy(model, x, y):
    with torch.no_grad():
        out = model(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main():
    x_train, y_train = households(4000)
    x_val, y_val = households(1000)
    model = TariffNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=14, eta_min=2e-4)
    for epoch in range(14):
        perm = torch.randperm(len(y_train))
        s = 0.0
        for i in range(0, len(perm), 80):
            b = perm[i:i + 80]
            loss = F.cross_entropy(model(x_train[b]), y_train[b])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            s += loss.item() * len(b) / len(perm)
        scheduler.step()
        vl, va = accuracy(model, x_val, y_val)
        print(f"epoch {epoch} train_loss={s:.4f} val_loss={vl:.4f} val_acc={va:.3f}")


if __name__ == "__main__":
    main()
