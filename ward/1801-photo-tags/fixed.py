import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader, TensorDataset

TAGS = ["beach", "sunset", "people", "animal", "city", "night", "food", "snow"]


def make_features(n, seed):
    """CNN features of photos (synthetic): each photo carries any number of tags."""
    world = np.random.default_rng(100)
    directions = world.normal(size=(len(TAGS), 48))
    rng = np.random.default_rng(seed)
    scene = rng.normal(size=(n, 3))
    mix = world.normal(size=(3, len(TAGS)))
    tags = (scene @ mix * 0.5 + rng.normal(size=(n, len(TAGS))) > 0.6).astype("float32")
    feats = tags @ directions * 0.35 + rng.normal(size=(n, 48)) * 0.7
    return torch.tensor(feats, dtype=torch.float32), torch.tensor(tags)


class TagHead(nn.Module):
    def __init__(self, n_features, n_tags, hidden=64, dropout=0.2):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_features, hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, n_tags),
        )

    def forward(self, x):
        return self.net(x)


class TagTrainer:
    def __init__(self, model, train_loader, val_loader, lr=1e-3):
        self.model = model
        self.train_loader = train_loader
        self.val_loader = val_loader
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)

    def train_step(self, x, tags):
        logits = self.model(x)
        loss = self.criterion(logits, tags)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        losses, preds, truth = [], [], []
        for x, tags in self.val_loader:
            logits = self.model(x)
            losses.append(self.criterion(logits, tags).item())
            preds.append((torch.sigmoid(logits) > 0.5).float())
            truth.append(tags)
        preds, truth = torch.cat(preds), torch.cat(truth)
        exact = (preds == truth).all(1).float().mean().item()
        return np.mean(losses), f1_score(truth.numpy(), preds.numpy(), average="micro"), exact

    def fit(self, epochs):
        for epoch in range(1, epochs + 1):
            self.model.train()
            losses = [self.train_step(x, tags) for x, tags in self.train_loader]
            if epoch % 3 == 0:
                vloss, f1, exact = self.evaluate()
                print(f"epoch {epoch:2d} | train {np.mean(losses):.4f} | val {vloss:.4f} | micro-F1 {f1:.3f} | exact {exact:.3f}")


def main():
    torch.manual_seed(3)
    train = DataLoader(TensorDataset(*make_features(6000, 1)), batch_size=64, shuffle=True)
    val = DataLoader(TensorDataset(*make_features(1000, 2)), batch_size=250)
    model = TagHead(48, len(TAGS))
    TagTrainer(model, train, val).fit(24)


if __name__ == "__main__":
    main()
