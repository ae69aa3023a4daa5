import torch
import torch.nn as nn
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader, TensorDataset, random_split

CONFIG = dict(features=24, labels=9, hidden=64, lr=4e-3, epochs=9, batch=50, seed=21)


def get_data(cfg):
    g = torch.Generator().manual_seed(cfg["seed"])
    x = torch.randn(1800, cfg["features"], generator=g)
    direction = torch.randn(cfg["features"], cfg["labels"], generator=g) / cfg["features"] ** 0.5
    score = 3 * x @ direction + 0.5 * torch.randn(1800, cfg["labels"], generator=g)
    tags = (score > torch.linspace(-2.5, 4.0, cfg["labels"])).float()          # from common to rare keywords
    full = TensorDataset(x, tags)
    train, val = random_split(full, [1400, 400], generator=torch.Generator().manual_seed(cfg["seed"]))
    return DataLoader(train, cfg["batch"], shuffle=True), DataLoader(val, 400)


class Tagger(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(cfg["features"], cfg["hidden"]), nn.ReLU(), nn.Dropout(0.1), nn.Linear(cfg["hidden"], cfg["labels"]))
        self.loss = nn.CrossEntropyLoss()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch):
        x, tags = batch
        return self.loss(self(x), tags)

    @torch.no_grad()
    def validation_step(self, batch):
        x, tags = batch
        chosen = torch.sigmoid(self(x)) > 0.5
        return f1_score(tags.numpy(), chosen.numpy(), average="micro", zero_division=0)


def fit(cfg):
    torch.manual_seed(cfg["seed"])
    train, val = get_data(cfg)
    model = Tagger(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=0.01)
    for epoch in range(cfg["epochs"]):
        model.train()
        total = 0.0
        for batch in train:
            loss = model.training_step(batch)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        model.eval()
        score = model.validation_step(next(iter(val)))
        print(f"epoch {epoch + 1}: train loss {total / len(train):.4f}  val micro-F1 {score:.3f}")


if __name__ == "__main__":
    fit(CONFIG)
