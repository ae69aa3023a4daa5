"""Fatigue life (log cycles) of steel beams."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class LifeModel(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=2e-3)

    def training_step(self, batch):
        x, y = batch
        return nn.functional.smooth_l1_loss(self(x), y)


class Trainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, model, train, val):
        opt = model.configure_optimizers()
        for epoch in range(self.max_epochs):
            model.train()
            logs = []
            for batch in train:
                opt.zero_grad()
                loss = model.training_step(batch)
                loss.backward()
                opt.step()
                logs.append(loss.item())
            model.eval()
            with torch.no_grad():
                v = [model.training_step(batch).item() for batch in val]
            print(f"epoch={epoch} train_loss={sum(logs) / len(logs):.4f} val_loss={sum(v) / len(v):.4f}")


torch.manual_seed(44)
x = torch.randn(2000, 6)
y = 0.9 * x[:, 0] - 0.7 * x[:, 1].abs() + 0.6 * x[:, 2] * x[:, 3] + 0.5 + 0.2 * torch.randn(2000)
train_set, val_set = random_split(TensorDataset(x, y), [1600, 400])
Trainer(7).fit(LifeModel(), DataLoader(train_set, batch_size=32, shuffle=True), DataLoader(val_set, batch_size=200))
