"""Distil an ensemble of three teachers into a much smaller student."""
import copy
import torch
from torch import nn
from torch.nn import functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(1234)
T = 3.0


def get_data():
    X, y = load_digits(return_X_y=True)
    X = (torch.tensor(X, dtype=torch.float32) - 4.884) / 6.017
    y = torch.tensor(y)
    tr, te = train_test_split(torch.arange(len(y)), test_size=0.25, random_state=3, stratify=y)
    return X[tr], y[tr], X[te], y[te]


def mlp(hidden, p):
    return nn.Sequential(nn.Linear(64, hidden), nn.ReLU(), nn.Dropout(p), nn.Linear(hidden, 10))


def run(net, X, objective, epochs, lr, report=None):
    opt = torch.optim.Adam(net.parameters(), lr=lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, epochs)
    for epoch in range(epochs):
        net.train()
        mean = 0.0
        for idx in torch.randperm(len(X)).split(32):
            loss = objective(net(X[idx]), idx)
            opt.zero_grad()
            loss.backward()
            opt.step()
            mean += loss.item() * len(idx) / len(X)
        sched.step()
        if report and epoch % 4 == 3:
            net.eval()
            with torch.no_grad():
                report(epoch + 1, mean, net)
    return net.eval()


def accuracy(logits, y):
    return (logits.argmax(1) == y).float().mean().item()


X_train, y_train, X_test, y_test = get_data()
hard = lambda out, idx: F.cross_entropy(out, y_train[idx])
teachers = [run(mlp(256, 0.4), X_train, hard, 20, 1e-3) for _ in range(3)]
with torch.no_grad():
    teach_train = torch.stack([t(X_train) for t in teachers]).mean(0)
    teach_test = torch.stack([t(X_test) for t in teachers]).mean(0)
print(f"teachers: nll {F.cross_entropy(teach_test, y_test):.4f}  acc {accuracy(teach_test, y_test):.4f}")


def distillation(out, idx):
    soft = F.softmax(teach_train[idx] / T, dim=1)
    return F.kl_div(out / T, soft, reduction="batchmean") * T * T


def report(epoch, loss, net):
    out = net(X_test)
    agree = accuracy(out, teach_test.argmax(1))
    print(f"student epoch {epoch:2d}: loss {loss:10.4f}  test nll {F.cross_entropy(out, y_test):8.4f}  acc {accuracy(out, y_test):.4f}  agreement {agree:.4f}")


student = run(mlp(24, 0.0), X_train, distillation, 60, 2e-3, report)
