"""Fraud in card payments: two in a hundred. Weighted classes, judged by balanced accuracy."""

import torch
from sklearn.metrics import balanced_accuracy_score
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def payments(count, seed):
    g = torch.Generator().manual_seed(seed)
    fraud = (torch.rand(count, generator=g) < 0.05).long()
    x = torch.randn(count, 14, generator=g)
    x[:, :3] += 1.1 * fraud[:, None]
    x[:, 3] *= 1 + 0.6 * fraud
    return TensorDataset(x, fraud)


class Screen(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(14, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 2))

    def forward(self, x):
        return self.net(x)


def balanced(model, loader, criterion):
    model.eval()
    with torch.no_grad():
        answers = [(model(x), y) for x, y in loader]
    out, y = torch.cat([a for a, _ in answers]), torch.cat([b for _, b in answers])
    return criterion(out, y).item(), balanced_accuracy_score(y, out.argmax(1))


if __name__ == "__main__":
    torch.manual_seed(30)
    train_set, valid_set = payments(9000, 1), payments(4000, 2)
    shares = torch.bincount(train_set.tensors[1]) / len(train_set)
    criterion = nn.CrossEntropyLoss(weight=1 / (2 * shares))
    train, valid = DataLoader(train_set, batch_size=128, shuffle=True), DataLoader(valid_set, batch_size=500)
    model = Screen()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
    for epoch in range(12):
        model.train()
        losses = []
        for x, y in train:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        schedule.step()
        valid_loss, score = balanced(model, valid, criterion)
        print(f"epoch {epoch + 1:2d} train {sum(losses) / len(losses):.4f} valid {valid_loss:.4f} balanced accuracy {score:.3f}")
