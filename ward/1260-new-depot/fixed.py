"""Parcel handling time at a new depot: encoder pretrained on the old depots, a small head trained on few parcels."""
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

FEATURES = 20


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(FEATURES, 96)
        self.fc2 = nn.Linear(96, 48)
        self.fc3 = nn.Linear(48, 12)

    def forward(self, x):
        return F.gelu(self.fc3(F.gelu(self.fc2(F.gelu(self.fc1(x))))))


class TimeModel(nn.Module):
    def __init__(self, outputs):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(12, outputs)

    def forward(self, x):
        return self.head(self.encoder(x))


def load_pretrained(model, path):
    """Takes over everything that fits, leaves the head alone."""
    pretrained_dict = torch.load(path)
    model_dict = model.state_dict()
    pretrained_dict = {k: v for k, v in pretrained_dict.items() if k in model_dict and v.shape == model_dict[k].shape}
    model_dict = {**model_dict, **pretrained_dict}
    print(f"{len(pretrained_dict)} of {len(model_dict)} tensors taken from {os.path.basename(path)}")
    model.load_state_dict(model_dict)
    return model


def fit(model, x, y, x_val, y_val, epochs, lr, batch=40):
    optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=lr)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            loss = F.mse_loss(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            val = F.mse_loss(model(x_val), y_val).item()
        if epoch % max(1, epochs // 5) == 0 or epoch == epochs - 1:
            print(f"  epoch {epoch:2d}  train {total / len(x):.4f}  val {val:.4f}")


def main():
    torch.manual_seed(28)
    routes = torch.randn(FEATURES, 5) / FEATURES ** 0.5

    def hidden(x):
        return torch.sin(x @ routes) + 0.3 * (x @ routes).abs()

    mix_old, mix_new = torch.randn(5, 8), torch.randn(5, 1)
    x_old, x_new = torch.randn(3000, FEATURES), torch.randn(700, FEATURES)
    y_old = hidden(x_old) @ mix_old
    y_new = hidden(x_new) @ mix_new
    y_old, y_new = (y_old - y_old.mean(0)) / y_old.std(0), (y_new - y_new.mean(0)) / y_new.std(0)

    print("old depots")
    base = TimeModel(outputs=8)
    fit(base, x_old[:2600], y_old[:2600], x_old[2600:], y_old[2600:], epochs=10, lr=5e-3, batch=100)
    path = os.path.join(tempfile.mkdtemp(), "old_depots.pt")
    torch.save(base.state_dict(), path)

    print("new depot")
    model = load_pretrained(TimeModel(outputs=1), path)
    for p in model.encoder.parameters():
        p.requires_grad_(False)
    fit(model, x_new[:400], y_new[:400], x_new[400:], y_new[400:], epochs=20, lr=2e-2)


if __name__ == "__main__":
    main()
