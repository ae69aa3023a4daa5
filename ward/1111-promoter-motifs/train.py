"""Conv net for promoter / background DNA, one-hot windows of 60 bp with planted motifs."""
import numpy as np
import torch
import torch.nn as nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

BASES = "ACGT"
MOTIFS = ["TATAAA", "CCAATC", "GGGCGG"]


def make_sequences(n, rng, length=60):
    seqs = rng.integers(0, 4, (n, length))
    y = rng.integers(0, 2, n)
    for i in np.flatnonzero(y):
        for motif in rng.choice(MOTIFS, 2, replace=False):
            pos = rng.integers(0, length - 6)
            seqs[i, pos:pos + 6] = [BASES.index(c) for c in motif]
    onehot = np.eye(4, dtype="float32")[seqs].transpose(0, 2, 1)
    return torch.from_numpy(onehot.copy()), torch.from_numpy(y).float()


class MotifNet(nn.Module):
    def __init__(self, filters=32):
        super().__init__()
        self.conv = nn.Conv1d(4, filters, 8, padding=4)
        self.pool = nn.AdaptiveMaxPool1d(1)
        self.fc1 = nn.Linear(filters, 24)
        self.fc2 = nn.Linear(24, 1)

    def forward(self, x):
        x = self.pool(torch.relu(self.conv(x))).squeeze(2)
        return self.fc2(torch.relu(self.fc1(x))).squeeze(1)


class TrainModel:
    def __init__(self, model, train, valid, lr=0.012, batch_size=64):
        self.model, self.train_data, self.valid_data, self.batch_size = model, train, valid, batch_size
        self.criterion = nn.BCEWithLogitsLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.scheduler = ReduceLROnPlateau(self.optimizer, mode="max", factor=0.1, patience=2)

    def train_epoch(self):
        self.model.train()
        x, y = self.train_data
        losses = []
        for idx in torch.randperm(len(y)).split(self.batch_size):
            loss = self.criterion(self.model(x[idx]), y[idx])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return np.mean(losses)

    def validate(self):
        self.model.eval()
        x, y = self.valid_data
        with torch.no_grad():
            logits = self.model(x)
        return self.criterion(logits, y).item(), ((logits > 0) == (y > 0)).float().mean().item()

    def train_and_validate(self, n_epochs):
        for epoch in range(n_epochs):
            train_loss = self.train_epoch()
            valid_loss, valid_acc = self.validate()
            self.scheduler.step(valid_loss)
            lr = self.optimizer.param_groups[0]["lr"]
            print(f"epoch {epoch:2d}  train {train_loss:.4f}  valid {valid_loss:.4f}  acc {valid_acc:.3f}  lr {lr:.2e}")


if __name__ == "__main__":
    torch.manual_seed(31)
    rng = np.random.default_rng(31)
    TrainModel(MotifNet(), make_sequences(3600, rng), make_sequences(500, rng)).train_and_validate(10)
