"""Multi-label tagging of photos from precomputed descriptors."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class TagNet(nn.Module):
    def __init__(self, n_in, n_tags, hidden=300, p=0.0):
        super().__init__()
        self.body = nn.Sequential(nn.Dropout(p), nn.Linear(n_in, hidden), nn.ReLU(), nn.Dropout(p), nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(p))
        self.tags = nn.Linear(hidden, n_tags)

    def forward(self, x):
        return self.tags(self.body(x))


def photos(n, g, n_in=50, n_tags=8):
    mix = torch.randn(6, n_in, generator=torch.Generator().manual_seed(1))
    rule = torch.randn(6, n_tags, generator=torch.Generator().manual_seed(2))
    scene = torch.randn(n, 6, generator=g)
    x = (scene @ mix + 2.5 * torch.randn(n, n_in, generator=g)) / 3.5
    y = (scene @ rule + 0.8 * torch.randn(n, n_tags, generator=g) > 0).float()
    return TensorDataset(x, y)


def evaluate(model, loader, loss_fn):
    model.eval()
    loss, right, n = 0.0, 0.0, 0
    with torch.no_grad():
        for x, y in loader:
            z = model(x)
            loss += loss_fn(z, y).item() * len(y)
            right += ((z > 0) == (y > 0.5)).float().mean().item() * len(y)
            n += len(y)
    return loss / n, right / n


def train(model, train_loader, val_loader, epochs, lr, weight_decay):
    loss_fn = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=weight_decay)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            total += loss.item()
        val_loss, val_acc = evaluate(model, val_loader, loss_fn)
        print("epoch %2d  train bce %.4f  val bce %.4f  tag accuracy %.3f" % (epoch + 1, total / len(train_loader), val_loss, val_acc))


if __name__ == "__main__":
    torch.manual_seed(13)
    g = torch.Generator().manual_seed(13)
    train_loader = DataLoader(photos(500, g), batch_size=25, shuffle=True)
    val_loader = DataLoader(photos(400, g), batch_size=200)
    train(TagNet(50, 8, hidden=32, p=0.15), train_loader, val_loader, epochs=14, lr=2e-3, weight_decay=0.05)
