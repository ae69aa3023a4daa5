import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def answers(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 10, generator=g)
    y = (x[:, 0] + x[:, 1] * x[:, 2] + 1.2 * torch.randn(n, generator=g) > 0).long()
    return TensorDataset(x, y)


def evaluate(members, loader, criterion):
    total = right = count = 0
    with torch.no_grad():
        for x, y in loader:
            out = sum(member(x) for member in members) / len(members)
            total += criterion(out, y).item() * len(y)
            right += (out.argmax(1) == y).sum().item()
            count += len(y)
    return total / count, right / count


def main():
    torch.manual_seed(12)
    train_loader = DataLoader(answers(1500, 1), batch_size=50, shuffle=True)
    test_loader = DataLoader(answers(900, 2), batch_size=300)
    criterion = nn.CrossEntropyLoss()
    members = nn.ModuleList([nn.Sequential(nn.Linear(10, 24), nn.ReLU(), nn.Linear(24, 2)) for _ in range(10)])
    optimizer = torch.optim.Adam(members.parameters(), lr=3e-3)
    for epoch in range(8):
        members.train()
        for x, y in train_loader:
            loss = sum(criterion(member(x), y) for member in members) / len(members)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        members.eval()
        val, acc = evaluate(members, test_loader, criterion)
        print(f"epoch {epoch + 1} train {loss.item():.3f} test {val:.3f} acc {acc:.3f}")


main()
