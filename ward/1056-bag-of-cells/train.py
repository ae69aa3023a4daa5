"""Multiple-instance learning: a slide is a bag of cells, the label belongs to the whole bag (attention pooling)."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slides(Dataset):
    """Bags of 12 cells with 20 measurements; two of the cells carry the mark of the slide's tissue."""

    def __init__(self, n, classes=24, seed=0):
        g = torch.Generator().manual_seed(seed)
        marks = torch.randn(classes, 20, generator=torch.Generator().manual_seed(77)) * 1.5
        self.y = torch.randint(0, classes, (n,), generator=g)
        self.x = torch.randn(n, 12, 20, generator=g)
        for i in range(n):
            where = torch.randperm(12, generator=g)[:2]
            self.x[i, where] += marks[self.y[i]]

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


class AttentionMIL(nn.Module):
    def __init__(self, classes=24, width=48):
        super().__init__()
        self.embed = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.attend = nn.Sequential(nn.Linear(width, 24), nn.Tanh(), nn.Linear(24, 1))
        self.classify = nn.Linear(width, classes)

    def forward(self, bags):
        h = self.embed(bags)
        weights = self.attend(h).softmax(dim=1)
        slide = (weights * h).sum(dim=1)
        return self.classify(slide).softmax(dim=-1), weights.squeeze(-1)


class SmoothedCriterion(nn.Module):
    def __init__(self, smoothing=0.05):
        super().__init__()
        self.ce = nn.CrossEntropyLoss(label_smoothing=smoothing)

    def forward(self, prediction, y):
        return self.ce(prediction, y)


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    seen = total = 0
    for bags, y in loader:
        pred, _ = model(bags)
        loss = criterion(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        seen += len(y)
    return total / seen


@torch.no_grad()
def test(model, loader):
    model.eval()
    hits = sum((model(bags)[0].argmax(1) == y).sum().item() for bags, y in loader)
    return hits / len(loader.dataset)


torch.manual_seed(19)
train_loader = DataLoader(Slides(1600, seed=1), batch_size=32, shuffle=True)
test_loader = DataLoader(Slides(400, seed=2), batch_size=200)
model = AttentionMIL()
criterion = SmoothedCriterion()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
for epoch in range(6):
    loss = train_epoch(model, train_loader, criterion, optimizer)
    print(f"Epoch {epoch + 1}/6 - loss: {loss:.4f} - test accuracy: {test(model, test_loader):.4f}")
