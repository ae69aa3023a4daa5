"""Features learned for reading digits are reused to tell odd from even with a small new classifier."""
import io

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Features(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.fc = nn.Linear(64, width)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return torch.tanh(self.fc(x.flatten(1)))


class Classifier(nn.Module):
    def __init__(self, n_classes, width=12):
        super().__init__()
        self.backbone = Features(width)
        self.head = nn.Linear(width, n_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def train(model, params, x, y, lr, epochs, val=None):
    optimizer = torch.optim.Adam(params, lr=lr)
    for epoch in range(epochs):
        model.train()
        losses = []
        for rows in torch.randperm(len(x)).split(32):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        text = f"epoch {epoch + 1:2d} loss {sum(losses) / len(losses):.4f}"
        if val is not None:
            model.eval()
            with torch.no_grad():
                text += f" val acc {(model(val[0]).argmax(1) == val[1]).float().mean().item():.3f}"
        print(text)


torch.manual_seed(26)
X, y = load_digits(return_X_y=True)
X = torch.tensor(X.reshape(-1, 1, 8, 8) / 8 - 1, dtype=torch.float32)
y = torch.tensor(y)

print("pre-training on digits")
first = Classifier(10)
train(first, first.parameters(), X[:900], y[:900], lr=5e-3, epochs=6)
checkpoint = io.BytesIO()
torch.save(first.state_dict(), checkpoint)
checkpoint.seek(0)

print("odd or even")
model = Classifier(2)
state = torch.load(checkpoint)
state = {k: v for k, v in state.items() if k.startswith("backbone.")}
model.backbone.load_state_dict(state, strict=False)
model.backbone.requires_grad_(False)
odd = y % 2
train(model, model.head.parameters(), X[900:1400], odd[900:1400], lr=0.02, epochs=9, val=(X[1400:], odd[1400:]))
