import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Mushrooms(Dataset):
    """20 measurements, 8 yes/no traits."""

    def __init__(self, n, seed):
        rule = torch.Generator().manual_seed(100)
        w = torch.randn(20, 8, generator=rule)
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 20, generator=g)
        z = self.x @ w / 2 + 0.4 * torch.randn(n, 8, generator=g)
        self.traits = (z > torch.tensor([0.0, 0.5, -0.5, 1.0, 0.0, -1.0, 0.5, 0.0])).float()

    def __getitem__(self, i):
        return {"features": self.x[i], "traits": self.traits[i]}

    def __len__(self):
        return len(self.x)


class TraitModel(nn.Module):
    """Returns the loss along with the scores when traits are given."""

    def __init__(self, width=48):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, width), nn.ReLU(), nn.Linear(width, 8))
        self.criterion = nn.BCELoss()

    def forward(self, features, traits=None):
        score = torch.sigmoid(self.body(features)).clamp(1e-6, 1 - 1e-6)
        if traits is None:
            return score
        return score, self.criterion(score, traits)


torch.manual_seed(14)
train_loader = DataLoader(Mushrooms(1000, 1), batch_size=50, shuffle=True)
val_loader = DataLoader(Mushrooms(400, 2), batch_size=400)
model = TraitModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)

for epoch in range(1, 9):
    model.train()
    running = 0.0
    for batch in train_loader:
        _, loss = model(**batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        batch = next(iter(val_loader))
        score, val_loss = model(**batch)
        agree = ((score > 0.5).float() == batch["traits"]).float().mean()
    print(f"epoch {epoch}: train {running / len(train_loader):.4f}, val {val_loss.item():.4f}, traits right {agree.item():.3f}")
