"""Distil a wide ensemble into a small student."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_classification


def mlp(width, depth, n_in=20, n_out=6):
    layers = []
    for i in range(depth):
        layers += [nn.Linear(n_in if i == 0 else width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width if depth else n_in, n_out))


class DistillationLoss(nn.Module):
    def __init__(self, temperature, alpha):
        super().__init__()
        self.t, self.alpha = temperature, alpha

    def forward(self, student_logits, teacher_logits, labels):
        hard = F.cross_entropy(student_logits, labels)
        soft_teacher = F.softmax(teacher_logits / self.t, dim=1)
        soft_student = F.log_softmax(student_logits / self.t, dim=1)
        soft = F.kl_div(soft_student, soft_teacher, reduction="batchmean") * self.t ** 2
        return self.alpha * soft + (1 - self.alpha) * hard


def batches(x, y, size):
    for rows in torch.randperm(len(y)).split(size):
        yield x[rows], y[rows]


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def train(net, loss_fn, data, val, epochs, lr, title):
    opt = torch.optim.AdamW(net.parameters(), lr=lr, weight_decay=1e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for x, y in batches(*data, 64):
            loss = loss_fn(net(x), x, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        sched.step()
        print(f"{title} {epoch + 1:2d}: loss {total / len(data[1]):.4f}  train acc {accuracy(net, *data):.3f}  val acc {accuracy(net, *val):.3f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--temperature", type=float, default=3.0)
    ap.add_argument("--alpha", type=float, default=0.8)
    args = ap.parse_args()
    torch.manual_seed(6)

    x, y = make_classification(9000, 20, n_informative=12, n_redundant=2, n_classes=6, n_clusters_per_class=1, class_sep=1.7, flip_y=0.0, random_state=3)
    x, y = torch.tensor(x, dtype=torch.float32), torch.tensor(y)
    x = (x - x[:7000].mean(0)) / x[:7000].std(0)
    data, val = (x[:7000], y[:7000]), (x[7000:], y[7000:])

    teacher = mlp(128, 2)
    train(teacher, lambda out, x, y: F.cross_entropy(out, y), data, val, epochs=6, lr=1e-3, title="teacher")
    teacher.eval().requires_grad_(False)

    student = mlp(24, 1)
    criterion = DistillationLoss(args.temperature, args.alpha)
    train(student, lambda out, x, y: criterion(out, teacher(x), y), data, val, epochs=14, lr=3e-3, title="student")
