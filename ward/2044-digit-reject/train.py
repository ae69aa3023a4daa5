"""Digit reader whose probabilities feed a reject-if-unsure rule."""
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(19)
EPOCHS = 20


def augment(x):
    """Shift each picture by up to one pixel and add a little noise."""
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    return torch.roll(x, (dy, dx), dims=(2, 3)) + 0.05 * torch.randn_like(x)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2))
        self.classify = nn.Linear(128, 10)

    def forward(self, x):
        return self.classify(self.features(x).flatten(1))


def expected_calibration_error(prob, target, bins=10):
    conf, pred = prob.max(1)
    right = (pred == target).float()
    ece = 0.0
    for lo in torch.linspace(0, 1, bins + 1)[:-1]:
        inside = (conf > lo) & (conf <= lo + 1 / bins)
        if inside.any():
            ece += inside.float().mean() * (conf[inside].mean() - right[inside].mean()).abs()
    return float(ece)


digits = load_digits()
X = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
y = torch.tensor(digits.target)
Xt, Xv, yt, yv = train_test_split(X, y, test_size=0.35, random_state=19, stratify=y)

model = Reader()
criterion = nn.CrossEntropyLoss(label_smoothing=0.6)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(yt)).split(32):
        loss = criterion(model(augment(Xt[idx])), yt[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        logits = model(Xv)
        prob = logits.softmax(1)
        nll = nn.functional.cross_entropy(logits, yv)
        acc = (prob.argmax(1) == yv).float().mean()
    if epoch % 2 == 1:
        print(f"epoch {epoch + 1:2d}  train {total / len(yt):.4f}  val nll {nll:.4f}  acc {acc:.3f}  "
              f"mean confidence {prob.max(1).values.mean():.3f}  ECE {expected_calibration_error(prob, yv):.3f}")

sure = prob.max(1).values > 0.9
print(f"answered without a human: {sure.float().mean():.1%}")
