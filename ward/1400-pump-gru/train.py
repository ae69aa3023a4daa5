"""Pump condition monitoring: classify 48-sample windows of 5 sensors into 4 operating states."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

STATES = ["normal", "cavitation", "imbalance", "clogged"]


@dataclass
class Config:
    n_train: int = 2400
    n_val: int = 600
    window: int = 48
    hidden: int = 32
    lr: float = 2e-3
    batch_size: int = 48
    epochs: int = 8
    seed: int = 3


def record(rng, state, length):
    """One window: flow, inlet pressure, outlet pressure, vibration, temperature."""
    t = np.arange(length)
    w = np.zeros((length, 5))
    w[:, 0] = 42 + rng.normal(0, 4) + rng.normal(0, 0.8, length)
    w[:, 1] = 1.8 + 0.2 * rng.normal(0, 1, length)
    w[:, 2] = 6.2 + rng.normal(0, 0.5) + 0.3 * rng.normal(0, 1, length)
    w[:, 3] = 0.6 * rng.normal(0, 1, length)
    w[:, 4] = 55 + rng.normal(0, 5) + np.cumsum(rng.normal(0, 0.1, length))
    phase, strength = rng.uniform(0, 2 * np.pi), rng.uniform(0.6, 1.6)
    if state == 1:
        bursts = rng.random(length) < 0.12
        w[:, 3] += strength * 3 * bursts * rng.normal(0, 1, length)
        w[:, 1] -= strength * 0.4 * bursts
    elif state == 2:
        w[:, 3] += strength * np.sin(2 * np.pi * t / 6 + phase)
    elif state == 3:
        w[:, 0] -= strength * 2.5 * t / length
        w[:, 2] += strength * 0.8 * t / length
    # the temperature probe reports every change of half a degree only
    w[:, 4] = np.round(w[:, 4] * 2) / 2
    return w


class PumpWindows(Dataset):
    def __init__(self, n, length, rng):
        self.items = []
        for i in range(n):
            state = int(rng.integers(len(STATES)))
            self.items.append((f"pump{i % 17:02d}", record(rng, state, length), state))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        pump, w, state = self.items[i]
        mean, std = w.mean(0), w.std(0)
        w = (w - mean) / std
        return {"pump": pump, "signal": torch.tensor(w, dtype=torch.float32), "state": state}


def collate(rows):
    return {"pump": [r["pump"] for r in rows],
            "signal": torch.stack([r["signal"] for r in rows]),
            "state": torch.tensor([r["state"] for r in rows])}


class StateNet(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.conv = nn.Conv1d(5, 24, 5, padding=2)
        self.gru = nn.GRU(24, hidden, batch_first=True)
        self.head = nn.Linear(2 * hidden, len(STATES))

    def forward(self, batch):
        z = torch.relu(self.conv(batch["signal"].transpose(1, 2))).transpose(1, 2)
        h, _ = self.gru(z)
        return self.head(torch.cat([h.mean(1), h.max(1).values], 1))


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(cfg.seed)
        rng = np.random.default_rng(cfg.seed)
        self.train_dl = DataLoader(PumpWindows(cfg.n_train, cfg.window, rng), cfg.batch_size, shuffle=True, collate_fn=collate)
        self.val_dl = DataLoader(PumpWindows(cfg.n_val, cfg.window, rng), 200, collate_fn=collate)
        self.net = StateNet(cfg.hidden)
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=cfg.lr)
        self.loss_fn = nn.CrossEntropyLoss()

    def fit(self):
        for epoch in range(self.cfg.epochs):
            self.net.train()
            total = 0.0
            for batch in self.train_dl:
                self.opt.zero_grad()
                loss = self.loss_fn(self.net(batch), batch["state"])
                loss.backward()
                nn.utils.clip_grad_norm_(self.net.parameters(), 5.0)
                self.opt.step()
                total += loss.item()
            vl, va = self.evaluate()
            print(f"epoch {epoch + 1} train_loss {total / len(self.train_dl):.4f} val_loss {vl:.4f} val_acc {va:.3f}")

    @torch.no_grad()
    def evaluate(self):
        self.net.eval()
        loss, hits, n = 0.0, 0, 0
        for batch in self.val_dl:
            out = self.net(batch)
            loss += self.loss_fn(out, batch["state"]).item() * len(out)
            hits += (out.argmax(1) == batch["state"]).sum().item()
            n += len(out)
        return loss / n, hits / n


if __name__ == "__main__":
    Trainer(Config()).fit()
