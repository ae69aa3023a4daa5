"""Biopsy classifier: train, export, and replay the held-out cases through the service's request path."""
import json
import pathlib
import tempfile

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def network(n_features):
    return nn.Sequential(nn.Linear(n_features, 16), nn.ReLU(), nn.Dropout(0.4), nn.Linear(16, 2))


def evaluate(model, x, y):
    model.eval()
    with torch.no_grad():
        out = model(x)
    return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def train(x, y, xv, yv, epochs=40):
    model = network(x.shape[1])
    loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
    opt = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.1)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for xb, yb in loader:
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(xb), yb)
            loss.backward()
            opt.step()
            total += loss.item() * len(yb)
        sched.step()
        if epoch % 4 == 0:
            vl, va = evaluate(model, xv, yv)
            print(f"epoch {epoch:2d} train {total / len(y):.4f} val {vl:.4f} acc {va:.4f}")
    return model


class Service:
    """Loads the exported bundle and answers JSON requests."""

    def __init__(self, folder):
        meta = json.loads((folder / "meta.json").read_text())
        self.mean, self.scale = torch.tensor(meta["mean"]), torch.tensor(meta["scale"])
        self.columns = meta["columns"]
        self.model = network(len(self.columns))
        self.model.load_state_dict(torch.load(folder / "model.pt"))
        self.model.eval()

    def answer(self, body):
        record = json.loads(body)
        values = torch.tensor([[record[c] for c in self.columns]])
        with torch.no_grad():
            return int(self.model((values - self.mean) / self.scale).argmax(1))


def main():
    torch.manual_seed(2)
    data = load_breast_cancer()
    columns = [str(n) for n in data.feature_names]
    X, Xv, y, yv = train_test_split(data.data.astype("float32"), data.target, test_size=0.3, stratify=data.target, random_state=2)
    mean, scale = X.mean(0), X.std(0)
    to = lambda a: torch.from_numpy((a - mean) / scale)
    model = train(to(X), torch.from_numpy(y), to(Xv), torch.from_numpy(yv))

    with tempfile.TemporaryDirectory() as tmp:
        folder = pathlib.Path(tmp)
        torch.save(model.state_dict(), folder / "model.pt")
        (folder / "meta.json").write_text(json.dumps({"columns": columns, "mean": mean.tolist(), "scale": scale.tolist()}))
        service = Service(folder)
        replies = []
        for row in Xv:
            body = json.dumps(dict(zip(columns, map(float, row))), sort_keys=True)
            replies.append(service.answer(body))
    print(f"validation accuracy {evaluate(model, to(Xv), torch.from_numpy(yv))[1]:.4f}, "
          f"service accuracy on the same cases {np.mean(np.array(replies) == yv):.4f}")


if __name__ == "__main__":
    main()
