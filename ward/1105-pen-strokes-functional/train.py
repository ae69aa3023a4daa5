# digits with nothing but tensors: weights in a dict, update by hand
import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(21)
bunch = load_digits()
images = torch.tensor(bunch.data, dtype=torch.float32) / 16.0
images = images - images.mean(0)
labels = torch.tensor(bunch.target)
order = torch.randperm(len(labels))
tr, te = order[:1400], order[1400:]

sizes = [64, 48, 10]
params = {}
for k, (a, b) in enumerate(zip(sizes[:-1], sizes[1:])):
    params[f"W{k}"] = (torch.randn(a, b) * (2.0 / a) ** 0.5).requires_grad_()
    params[f"b{k}"] = torch.zeros(b, requires_grad=True)


def softmax(z):
    e = torch.exp(z - z.max(dim=1, keepdim=True).values)
    return e / e.sum(dim=1, keepdim=True)


def net(x, p):
    h = torch.relu(x @ p["W0"] + p["b0"])
    return softmax(h @ p["W1"] + p["b1"])


def cost(x, y, p):
    return F.cross_entropy(net(x, p), y)


def sgd(p, lr):
    with torch.no_grad():
        for w in p.values():
            w -= lr * w.grad
            w.grad = None


lr = 0.2
for epoch in range(12):
    perm = tr[torch.randperm(len(tr))]
    running = 0.0
    for i in range(0, len(perm), 50):
        idx = perm[i:i + 50]
        loss = cost(images[idx], labels[idx], params)
        loss.backward()
        sgd(params, lr)
        running += loss.item() * len(idx)
    with torch.no_grad():
        probs = net(images[te], params)
        acc = (probs.argmax(1) == labels[te]).float().mean().item()
        conf = probs.max(1).values.mean().item()
    print("epoch", epoch, "cost %.4f" % (running / len(tr)), "test accuracy %.4f" % acc, "mean confidence %.3f" % conf)
