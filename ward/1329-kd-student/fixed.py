import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

T, ALPHA = 3.0, 0.7


def load():
    d = load_digits()
    x = torch.tensor(d.data, dtype=torch.float32)
    x = (x - x.mean()) / x.std()
    y = torch.tensor(d.target)
    tr, te = train_test_split(range(len(y)), test_size=0.3, random_state=0, stratify=d.target)
    return x[tr], y[tr], x[te], y[te]


def loop(x, y, batch):
    for idx in torch.randperm(len(y)).split(batch):
        yield x[idx] + 0.25 * torch.randn(len(idx), x.shape[1]), y[idx]


def accuracy(net, x, y):
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def train_teacher(data, epochs=25):
    xtr, ytr, xte, yte = data
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Dropout(0.2), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-2)
    for epoch in range(epochs):
        net.train()
        for x, y in loop(xtr, ytr, 64):
            loss = F.cross_entropy(net(x), y, label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            opt.step()
    print(f"teacher: test accuracy {accuracy(net, xte, yte):.3f}")
    return net.eval()


def distill(teacher, data, epochs=50):
    xtr, ytr, xte, yte = data
    student = nn.Sequential(nn.Linear(64, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 10))
    opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
    for epoch in range(epochs):
        student.train()
        soft_sum = hard_sum = n = 0
        for x, y in loop(xtr, ytr, 64):
            with torch.no_grad():
                target = F.softmax(teacher(x) / T, dim=1)
            out = student(x)
            soft = F.kl_div(F.log_softmax(out / T, dim=1), target, reduction="batchmean") * T * T
            hard = F.cross_entropy(out, y)
            loss = ALPHA * soft + (1 - ALPHA) * hard
            opt.zero_grad()
            loss.backward()
            opt.step()
            soft_sum, hard_sum, n = soft_sum + soft.item(), hard_sum + hard.item(), n + 1
        if epoch % 5 == 4:
            acc = accuracy(student, xte, yte)
            print(f"student epoch {epoch + 1:2d}: soft {soft_sum / n:.3f} hard {hard_sum / n:.3f} test accuracy {acc:.3f}")
    return student


if __name__ == "__main__":
    torch.manual_seed(13)
    data = load()
    student = distill(train_teacher(data), data)
