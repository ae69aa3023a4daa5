import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader, TensorDataset

TAGS = ["politics", "sport", "science", "health", "travel", "food", "music", "money"]
WORDS = 120


def make_articles(n, rng):
    """Bags of words; an article has none to three tags, each tag has its own words."""
    topics = rng.gamma(0.15, 1.0, (len(TAGS), WORDS))
    topics /= topics.sum(1, keepdims=True)
    general = rng.dirichlet(np.ones(WORDS))
    y = np.zeros((n, len(TAGS)), "float32")
    x = np.zeros((n, WORDS), "float32")
    for i in range(n):
        tags = rng.choice(len(TAGS), rng.choice(4, p=[0.4, 0.35, 0.15, 0.1]), replace=False)
        y[i, tags] = 1
        mix = (topics[tags].sum(0) + general) / (len(tags) + 1)
        x[i] = rng.multinomial(rng.integers(60, 120), mix)
    return torch.from_numpy(np.log1p(x)), torch.from_numpy(y)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(WORDS, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, len(TAGS)))

    def forward(self, x):
        return self.net(x)


def score(model, loader):
    model.eval()
    with torch.no_grad():
        pred = torch.cat([torch.sigmoid(model(x)) > 0.5 for x, _ in loader])
    true = torch.cat([y for _, y in loader])
    return f1_score(true, pred, average="micro", zero_division=0), pred.float().sum(1).mean().item()


def main():
    torch.manual_seed(0)
    x, y = make_articles(3000, np.random.default_rng(4))
    train = DataLoader(TensorDataset(x[:2400], y[:2400]), batch_size=48, shuffle=True)
    val = DataLoader(TensorDataset(x[2400:], y[2400:]), batch_size=300)
    model = Tagger()
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(1, 21):
        model.train()
        running = 0.0
        for xb, yb in train:
            optimizer.zero_grad()
            loss = loss_fn(model(xb), yb)
            loss.backward()
            optimizer.step()
            running += loss.item() / len(train)
        if epoch % 2 == 0:
            f1, tags = score(model, val)
            print(f"epoch {epoch:2d} loss {running:.4f} val micro-F1 {f1:.3f} tags per article {tags:.2f}")


if __name__ == "__main__":
    main()
