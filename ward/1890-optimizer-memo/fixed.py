"""Memo for the team: do we switch the tumour classifier from momentum SGD to AdamW?"""
from dataclasses import dataclass

import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Candidate:
    label: str
    kind: type
    options: dict


class Experiment:
    def __init__(self, candidate, train_set, held_out, seed, epochs=20):
        torch.manual_seed(seed)
        self.candidate, self.held_out, self.epochs = candidate, held_out, epochs
        self.loader = DataLoader(train_set, batch_size=32, shuffle=True)
        self.net = nn.Sequential(nn.Linear(30, 32), nn.Tanh(), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 1))
        self.optimizer = candidate.kind(self.net.parameters(), **candidate.options)
        self.criterion = nn.BCEWithLogitsLoss()

    def fit(self):
        for epoch in range(self.epochs):
            self.net.train()
            for x, y in self.loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.net(x).squeeze(1), y)
                loss.backward()
                self.optimizer.step()
            if (epoch + 1) % 10 == 0:
                print(f"[{self.candidate.label}] epoch {epoch + 1} loss {loss.item():.4f} accuracy {self.score():.4f}")
        return self.score()

    @torch.no_grad()
    def score(self):
        self.net.eval()
        x, y = self.held_out
        return ((self.net(x).squeeze(1) > 0).float() == y).float().mean().item()


def data():
    X, y = load_breast_cancer(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=0, stratify=y)
    scaler = StandardScaler().fit(X)
    X, X_test = (torch.tensor(scaler.transform(part), dtype=torch.float32) for part in (X, X_test))
    return TensorDataset(X, torch.tensor(y).float()), (X_test, torch.tensor(y_test).float())


def main():
    train_set, held_out = data()
    today = Candidate("SGD", torch.optim.SGD, {"lr": 0.02, "momentum": 0.9})
    proposal = Candidate("AdamW", torch.optim.AdamW, {"lr": 2e-3, "weight_decay": 0.01})
    results = {c.label: torch.tensor([Experiment(c, train_set, held_out, seed).fit() for seed in range(5)]) for c in (today, proposal)}
    for label, scores in results.items():
        print(f"{label}: {scores.mean():.4f} +- {scores.std():.4f}")
    a, b = results.values()
    error = ((a.var() + b.var()) / len(a)).sqrt()
    switch = b.mean() - a.mean() > 2 * error
    print("Recommendation:", "AdamW wins, we switch." if switch else "no difference beyond the seeds, SGD stays.")


if __name__ == "__main__":
    main()
