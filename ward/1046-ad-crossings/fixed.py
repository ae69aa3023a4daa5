"""Click prediction with a cross network (explicit feature crosses) on top of field embeddings."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

FIELDS = [9, 5, 7, 6, 10]        # ad, device, weekday, time of day, region
DIM = 8


def click_log(n=16000, seed=0):
    g = torch.Generator().manual_seed(seed)
    cols = torch.stack([torch.randint(0, k, (n,), generator=g) for k in FIELDS], dim=1)
    hidden = [torch.randn(k, 2, generator=g) for k in FIELDS]
    score = torch.zeros(n)
    for a, b in [(0, 1), (0, 3), (2, 4)]:
        score += (hidden[a][cols[:, a]] * hidden[b][cols[:, b]]).sum(1)
    clicked = (score + 0.3 * torch.randn(n, generator=g) > 0).float()
    return TensorDataset(cols, clicked)


class CrossLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.proj = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)
        nn.init.kaiming_normal_(self.proj.weight)

    def forward(self, x0, x):
        return self.norm(x0 * self.proj(x) + x)


class CrossNet(nn.Module):
    def __init__(self, depth=11):
        super().__init__()
        width = DIM * len(FIELDS)
        self.tables = nn.ModuleList(nn.Embedding(k, DIM) for k in FIELDS)
        self.crosses = nn.ModuleList(CrossLayer(width) for _ in range(depth))
        self.head = nn.Linear(width, 1)

    def forward(self, cols):
        x0 = torch.cat([table(cols[:, i]) for i, table in enumerate(self.tables)], dim=1)
        x = x0
        for cross in self.crosses:
            x = cross(x0, x)
        return self.head(x).squeeze(1)


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    right = sum(((model(c) > 0) == (y > 0.5)).sum().item() for c, y in loader)
    return right / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(2)
    train_set, test_set = random_split(click_log(), [15000, 1000])
    train_loader = DataLoader(train_set, batch_size=300, shuffle=True)
    test_loader = DataLoader(test_set, batch_size=1000)
    model = CrossNet()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(4):
        model.train()
        total = 0.0
        for cols, clicked in train_loader:
            opt.zero_grad()
            loss = bce(model(cols), clicked)
            loss.backward()
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} logloss {total / len(train_loader):.4g} test accuracy {evaluate(model, test_loader):.3f}")
