"""Which machine is about to fail: one JSON report per machine and day."""

import json
import os
import tempfile

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


def write_reports(folder, count, seed):
    rng = np.random.default_rng(seed)
    for i in range(count):
        failing = bool(rng.random() < 0.5)
        heat = rng.normal(62 + 4 * failing, 5, 180)
        shake = rng.gamma(2 + 0.6 * failing, 1.0, 180)
        current = rng.normal(11, 1, 180) - 0.3 * failing
        readings = [{"minute": m, "heat": round(h, 3), "shake": round(s, 4), "current": round(c, 3), "unit": {"heat": "C", "shake": "mm/s", "current": "A"}}
                    for m, (h, s, c) in enumerate(zip(heat, shake, current))]
        with open(os.path.join(folder, f"{seed}-{i:05d}.json"), "w") as f:
            json.dump({"machine": i, "readings": readings, "failed": failing}, f)


class Reports(Dataset):
    def __init__(self, folder, prefix):
        self.paths = sorted(os.path.join(folder, n) for n in os.listdir(folder) if n.startswith(f"{prefix}-"))

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with open(self.paths[index]) as f:
            report = json.load(f)
        rows = np.array([(r["heat"], r["shake"], r["current"]) for r in report["readings"]], dtype=np.float32)
        rows = (rows - (64, 2.3, 10.9)) / (5, 1.6, 1)
        return rows.astype(np.float32), np.float32(report["failed"])


class Alarm(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(3, 12, 7, stride=3), nn.ReLU(), nn.Conv1d(12, 12, 5, stride=3), nn.ReLU())
        self.out = nn.Linear(12, 1)

    def forward(self, x):
        return self.out(self.conv(x.transpose(1, 2)).mean(2)).squeeze(1)


def evaluate(model, loader):
    model.eval()
    loss, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += nn.functional.binary_cross_entropy_with_logits(out, y, reduction="sum").item()
            right += ((out > 0) == (y > 0.5)).sum().item()
            count += len(y)
    return loss / count, right / count


def main():
    torch.manual_seed(6)
    with tempfile.TemporaryDirectory() as folder:
        write_reports(folder, 800, 1)
        write_reports(folder, 200, 2)
        train = DataLoader(Reports(folder, 1), batch_size=32, shuffle=True)
        valid = DataLoader(Reports(folder, 2), batch_size=50)
        model = Alarm()
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for epoch in range(7):
            model.train()
            for x, y in train:
                loss = nn.functional.binary_cross_entropy_with_logits(model(x), y)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            print("epoch %d loss %.4f valid %.4f accuracy %.3f" % (epoch, loss.item(), *evaluate(model, valid)))


if __name__ == "__main__":
    main()
