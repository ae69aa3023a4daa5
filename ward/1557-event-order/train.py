import itertools
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

VOCAB, LENGTH = 14, 16
MARKERS = (1, 2, 3)
ORDERS = list(itertools.permutations(MARKERS))


def make_logs(n, seed):
    """Event logs: three key events among noise; the class is the order in which they happened."""
    g = torch.Generator().manual_seed(seed)
    ids = torch.randint(4, VOCAB, (n, LENGTH), generator=g)
    label = torch.randint(0, len(ORDERS), (n,), generator=g)
    for i in range(n):
        slots = torch.randperm(LENGTH, generator=g)[:3].sort().values
        ids[i, slots] = torch.tensor(ORDERS[label[i]])
    return TensorDataset(ids, label)


class LogClassifier(nn.Module):
    def __init__(self, dim=32, heads=4, layers=2):
        super().__init__()
        self.token = nn.Embedding(VOCAB, dim)
        self.position = nn.Embedding(LENGTH, dim)
        block = nn.TransformerEncoderLayer(dim, heads, dim_feedforward=64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, len(ORDERS))

    def forward(self, ids):
        x = self.token(ids)
        x = self.encoder(x)
        return self.head(self.norm(x.mean(dim=1)))


def main():
    torch.manual_seed(9)
    train = DataLoader(make_logs(3000, 0), batch_size=60, shuffle=True)
    val = DataLoader(make_logs(600, 1), batch_size=300)
    model = LogClassifier()
    opt = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=2e-3, total_steps=12 * len(train))
    criterion = nn.CrossEntropyLoss()
    for epoch in range(12):
        model.train()
        running = 0.0
        for ids, label in train:
            opt.zero_grad()
            loss = criterion(model(ids), label)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
            running += loss.item()
        model.eval()
        with torch.no_grad():
            acc = sum((model(ids).argmax(1) == label).sum().item() for ids, label in val) / 600
        print(f"epoch {epoch + 1:2d} loss {running / len(train):.4f} val acc {acc:.3f}")


if __name__ == "__main__":
    main()
