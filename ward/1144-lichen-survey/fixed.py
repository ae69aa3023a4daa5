"""Lichen species from 24 reflectance bands measured in the field."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

SPECIES, BANDS = 4, 24


def field_trip(n, seed):
    g = torch.Generator().manual_seed(seed)
    base = torch.randn(SPECIES, BANDS, generator=torch.Generator().manual_seed(100))
    y = torch.randint(SPECIES, (n,), generator=g)
    wet = torch.randn(n, 1, generator=g)
    x = 0.42 * base[y] + 0.5 * wet * base.roll(1, 0)[y] + torch.randn(n, BANDS, generator=g)
    return TensorDataset(x, y)


def make_loaders(dataset, batch_size=32, val_share=0.25):
    n_val = int(len(dataset) * val_share)
    train_set, val_set = random_split(dataset, [len(dataset) - n_val, n_val])
    return (DataLoader(train_set, batch_size=batch_size, shuffle=True),
            DataLoader(val_set, batch_size=batch_size))


def train_epoch(model, loader, optimizer, criterion):
    model.train()
    total, n = 0.0, 0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total, n = total + loss.item() * len(y), n + len(y)
    return total / n


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    total, hits, n = 0.0, 0, 0
    for x, y in loader:
        out = model(x)
        total += criterion(out, y).item() * len(y)
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    return total / n, hits / n


def main():
    torch.manual_seed(3)
    survey = field_trip(480, seed=1)
    train_loader, val_loader = make_loaders(survey)
    model = nn.Sequential(nn.Linear(BANDS, 48), nn.ReLU(), nn.Linear(48, SPECIES))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
    best = 0.0
    for epoch in range(1, 17):
        train_loss = train_epoch(model, train_loader, optimizer, criterion)
        val_loss, val_acc = evaluate(model, val_loader, criterion)
        best = max(best, val_acc)
        print(f"[{epoch:2d}/16] train {train_loss:.4f} val {val_loss:.4f} val acc {val_acc:.3f}")
    print(f"best validation accuracy {best:.3f}")
    loss, acc = evaluate(model, DataLoader(field_trip(1000, seed=2), batch_size=250), criterion)
    print(f"second trip: loss {loss:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
