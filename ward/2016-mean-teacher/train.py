"""Semi-supervised digits: 200 labelled pictures, the rest only through a slowly moving teacher."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(23)


def jitter(x):
    """Shift by up to one pixel and add a little noise."""
    dy, dx = torch.randint(-1, 2, (2,)).tolist()
    return torch.roll(x, (dy, dx), dims=(2, 3)) + 0.1 * torch.randn_like(x)


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 24, 3, padding=1)
        self.conv2 = nn.Conv2d(24, 48, 3, padding=1)
        self.drop = nn.Dropout(0.3)
        self.fc = nn.Linear(48 * 4, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(self.drop(x.flatten(1)))


@torch.no_grad()
def follow(teacher, student, momentum):
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, 1 - momentum)


@torch.no_grad()
def evaluate(net, x, y):
    net.eval()
    out = net(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


digits = load_digits()
perm = torch.randperm(len(digits.images))
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1)[perm] / 8.0 - 0.6
labels = torch.tensor(digits.target)[perm]
x_lab, y_lab = images[:200], labels[:200]
x_unl = images[200:1200]
x_val, y_val = images[1200:], labels[1200:]

student = SmallCNN()
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad_(False)

STEPS = 1200
optimizer = torch.optim.AdamW(student.parameters(), lr=2e-3, weight_decay=1e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
for step in range(1, STEPS + 1):
    student.train()
    teacher.eval()
    lab = torch.randint(len(x_lab), (32,))
    unl = torch.randint(len(x_unl), (64,))
    supervised = F.cross_entropy(student(jitter(x_lab[lab])), y_lab[lab])
    with torch.no_grad():
        target = teacher(jitter(x_unl[unl])).softmax(1)
    guess = student(jitter(x_unl[unl])).softmax(1)
    consistency = (guess - target).pow(2).sum(1).mean()
    weight = min(1.0, step / 400)
    loss = supervised + weight * consistency
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    follow(teacher, student, 0.99)
    if step % 100 == 0:
        val_loss, val_acc = evaluate(teacher, x_val, y_val)
        print(f"step {step:4d} supervised {supervised.item():.4f} consistency {consistency.item():.4f} "
              f"teacher val {val_loss:.4f} acc {val_acc:.4f}")
