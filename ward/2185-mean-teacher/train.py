"""Mean teacher on noisy radar returns: few labels, many unlabelled returns, an averaged copy of the net as teacher."""
import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

CLASSES, DIM, STEPS = 5, 40, 1200


def returns(n, rng):
    shapes = np.random.default_rng(500).normal(size=(CLASSES, 3, DIM)) * 0.75
    y = rng.integers(0, CLASSES, n)
    w = rng.dirichlet(np.ones(3) * 1.5, n)
    return torch.tensor(np.einsum("nk,nkd->nd", w, shapes[y]) * 1.7 + rng.normal(0, 0.9, (n, DIM)), dtype=torch.float32), torch.tensor(y)


def jitter(x):
    return x + 0.3 * torch.randn_like(x)


class Student(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, CLASSES))

    def forward(self, x):
        return self.net(x)


@torch.no_grad()
def update_average(teacher, student, step):
    keep = min(0.99, 1 - 1 / (step + 1))
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.mul_(keep).add_(s, alpha=1 - keep)


@torch.no_grad()
def score(net, x, y):
    net.eval()
    out = net(x)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(45)
    rng = np.random.default_rng(45)
    lab_x, lab_y = returns(2000, rng)
    unl_x, _ = returns(6000, rng)
    val_x, val_y = returns(2000, rng)
    student = Student()
    teacher = copy.deepcopy(student)
    for p in teacher.parameters():
        p.requires_grad_(False)
    teacher.eval()
    opt = torch.optim.AdamW(student.parameters(), lr=3e-3, weight_decay=2e-2)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, STEPS)
    sup_sum = con_sum = 0.0
    for step in range(1, STEPS + 1):
        student.train()
        li, ui = torch.randint(len(lab_x), (64,)), torch.randint(len(unl_x), (128,))
        supervised = F.cross_entropy(student(jitter(lab_x[li])), lab_y[li])
        with torch.no_grad():
            belief = teacher(jitter(unl_x[ui])).softmax(1)
        consistency = F.mse_loss(student(jitter(unl_x[ui])).softmax(1), belief)
        loss = supervised + 4.0 * min(1.0, step / 300) * consistency
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        update_average(teacher, student, step)
        sup_sum, con_sum = sup_sum + supervised.item(), con_sum + consistency.item()
        if step % 100 == 0:
            (sl, sa), (tl, ta) = score(student, val_x, val_y), score(teacher, val_x, val_y)
            print(f"step {step:4d}  ce {sup_sum / 100:.4f}  consistency {con_sum / 100:.4f}  student {sl:.4f}/{sa:.3f}  teacher {tl:.4f}/{ta:.3f}")
            sup_sum = con_sum = 0.0


main()
