"""Distil a wide teacher into a small student; the student answers only when it is sure enough."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

TEMPERATURE = 6.0
torch.manual_seed(60)

X, y = load_digits(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.3, stratify=y, random_state=3)
to_x = lambda a: torch.tensor((a - 4.9) / 6.0, dtype=torch.float32)
X_train, X_val = to_x(X_train), to_x(X_val)
y_train, y_val = torch.tensor(y_train), torch.tensor(y_val)


def batches(size):
    for idx in torch.randperm(len(y_train)).split(size):
        noise = 0.15 * torch.randn(len(idx), 64)
        yield X_train[idx] + noise, y_train[idx]


def report(tag, epoch, model, loss):
    model.eval()
    with torch.no_grad():
        prob = model(X_val).softmax(1)
    conf, pred = prob.max(1)
    right = (pred == y_val).float()
    bins = (conf * 10).long().clamp(max=9)
    ece = sum((bins == b).float().mean() * (conf[bins == b].mean() - right[bins == b].mean()).abs() for b in bins.unique())
    nll = F.nll_loss(prob.log(), y_val)
    print(f"{tag} {epoch:2d} loss {loss:.4f} val nll {nll:.4f} acc {right.mean():.3f} confidence {conf.mean():.3f} "
          f"ece {ece:.3f} answered (p>0.8) {(conf > 0.8).float().mean():.2f}")
    model.train()


teacher = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.3), nn.Linear(256, 10))
opt = torch.optim.Adam(teacher.parameters(), lr=1e-3, weight_decay=1e-5)
for epoch in range(1, 21):
    total = 0.0
    for xb, yb in batches(64):
        loss = F.cross_entropy(teacher(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(yb)
    if epoch % 5 == 0:
        report("teacher", epoch, teacher, total / len(y_train))

teacher.eval()
student = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
opt = torch.optim.Adam(student.parameters(), lr=3e-3)
for epoch in range(1, 41):
    total = 0.0
    for xb, yb in batches(64):
        with torch.no_grad():
            soft = F.softmax(teacher(xb) / TEMPERATURE, dim=1)
        log_p = F.log_softmax(student(xb) / TEMPERATURE, dim=1)
        loss = F.kl_div(log_p, soft, reduction="batchmean")
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(yb)
    if epoch % 5 == 0:
        report("student", epoch, student, total / len(y_train))
