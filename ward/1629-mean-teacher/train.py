import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(19)
LABELLED, BATCH, STEPS, DECAY = 200, 64, 700, 0.98


def build():
    return nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
                         nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, 10))


def augment(x):
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    padded = F.pad(x, (1, 1, 1, 1), value=-1.0)
    return padded[:, :, 1 + dy:9 + dy, 1 + dx:9 + dx] + 0.15 * torch.randn(x.shape)


def ramp(step, length=200):
    t = min(step / length, 1.0)
    return float(torch.exp(torch.tensor(-5.0 * (1 - t) ** 2)))


@torch.no_grad()
def update_teacher(teacher, student, decay):
    for pt, ps in zip(teacher.parameters(), student.parameters()):
        pt.mul_(decay).add_(ps, alpha=1 - decay)


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train()
    return acc


digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
y = torch.tensor(digits.target)
x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.25, stratify=y, random_state=19)
x_lab, x_unl, y_lab, _ = train_test_split(x_tr, y_tr, train_size=LABELLED, stratify=y_tr, random_state=19)

student = build()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
sup = con = 0.0
for step in range(1, STEPS + 1):
    lab = torch.randint(0, len(x_lab), (BATCH // 2,))
    unl = torch.randint(0, len(x_unl), (BATCH,))
    supervised = F.cross_entropy(student(augment(x_lab[lab])), y_lab[lab])
    with torch.no_grad():
        target = teacher(augment(x_unl[unl])).softmax(1)
    consistency = F.mse_loss(student(augment(x_unl[unl])).softmax(1), target)
    loss = supervised + 10 * ramp(step) * consistency
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_teacher(teacher, student, DECAY)
    sup, con = sup + supervised.item(), con + consistency.item()
    if step % 70 == 0:
        print(f"step {step:4d} supervised {sup / 70:.4f} consistency {con / 70:.5f} test acc student {accuracy(student, x_te, y_te):.3f} "
              f"teacher {accuracy(teacher, x_te, y_te):.3f}")
        sup = con = 0.0
