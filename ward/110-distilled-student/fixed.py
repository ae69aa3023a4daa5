"""Train a wide teacher, then distil it into a narrow student."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def rings(n):
    """four interleaved spirals, embedded in eight dimensions"""
    y = torch.randint(0, 4, (n,))
    r = 0.3 + 1.5 * torch.rand(n)
    a = 1.8 * r + y * torch.pi / 2 + 0.12 * torch.randn(n)
    flat = torch.stack([r * torch.cos(a), r * torch.sin(a)], 1)
    return flat @ MIX + 0.05 * torch.randn(n, 8), y


def mlp(width):
    return nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))


def batches(x, y, size=100):
    for idx in torch.randperm(len(y)).split(size):
        yield x[idx], y[idx]


@torch.no_grad()
def accuracy(net, x, y):
    net.eval()
    acc = (net(x).argmax(1) == y).float().mean().item()
    net.train()
    return acc


torch.manual_seed(8)
MIX = torch.randn(2, 8) / 2
x, y = rings(3000)
x_test, y_test = rings(1000)

teacher = mlp(96)
teacher_opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for epoch in range(6):
    total = 0.0
    for xb, yb in batches(x, y):
        loss = F.cross_entropy(teacher(xb), yb)
        loss.backward()
        teacher_opt.step()
        teacher_opt.zero_grad()
        total += loss.item()
    print(f"teacher {epoch} loss {total / 30:.4f} acc {accuracy(teacher, x_test, y_test):.3f}")

teacher.eval()
student = mlp(24)
student_opt = torch.optim.Adam(student.parameters(), lr=5e-3)
T, alpha = 2.0, 0.7
for epoch in range(12):
    total = 0.0
    for xb, yb in batches(x, y):
        with torch.no_grad():
            soft = F.softmax(teacher(xb) / T, dim=1)
        out = student(xb)
        kd = F.kl_div(F.log_softmax(out / T, dim=1), soft, reduction="batchmean") * T * T
        loss = alpha * kd + (1 - alpha) * F.cross_entropy(out, yb)
        loss.backward()
        student_opt.step()
        student_opt.zero_grad()
        total += loss.item()
    print(f"student {epoch} loss {total / 30:.4f} acc {accuracy(student, x_test, y_test):.3f}")
