"""Metric learning on digits: contrastive loss over all pairs of a batch, scored by nearest neighbours."""
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Embedder(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
        )
        self.fc = nn.Linear(32 * 4 * 4, dim)

    def forward(self, x):
        z = self.fc(self.conv(x).flatten(1))
        return nn.functional.normalize(z, dim=1)


class ContrastiveLoss(nn.Module):
    """Hadsell et al. 2006 over every pair in the batch."""

    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin

    def forward(self, z, labels):
        loss, pairs = 0.0, 0
        for i in range(len(z)):
            for j in range(i + 1, len(z)):
                dist = torch.sqrt(((z[i] - z[j]) ** 2).sum() + 1e-8)
                if labels[i] == labels[j]:
                    loss = loss + dist ** 2
                else:
                    loss = loss + torch.clamp(self.margin - dist, min=0) ** 2
                pairs += 1
        return loss / pairs


def embed(model, x):
    model.eval()
    with torch.no_grad():
        return model(x)


def main():
    torch.manual_seed(8)
    d = load_digits()
    X = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
    y = torch.tensor(d.target)
    Xtr, Xte, ytr, yte = train_test_split(X, y, test_size=0.3, stratify=y, random_state=8)
    loader = DataLoader(TensorDataset(Xtr, ytr), batch_size=40, shuffle=True, drop_last=True)

    model = Embedder()
    criterion = ContrastiveLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, 5):
        model.train()
        running = 0.0
        for x, target in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), target)
            loss.backward()
            optimizer.step()
            running += loss.item()
        knn = KNeighborsClassifier(5).fit(embed(model, Xtr).numpy(), ytr.numpy())
        acc = knn.score(embed(model, Xte).numpy(), yte.numpy())
        print(f"epoch {epoch}: contrastive loss {running / len(loader):.4f}, 5-NN accuracy {acc:.4f}", flush=True)


if __name__ == "__main__":
    main()
