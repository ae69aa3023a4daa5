# Thin sections of rocks: 5 rock types from 20 texture measurements (grain size, birefringence, ...).
# Nine students went through all the slides, their calls are the columns of `calls`.
import torch
import torch.nn.functional as F

torch.manual_seed(8)
N_TYPES, N_MEASURES, N_STUDENTS = 5, 20, 9


def slides(n):
    centres = torch.randn(N_TYPES, N_MEASURES, generator=torch.Generator().manual_seed(3)) * 1.1
    rock = torch.randint(N_TYPES, (n,))
    return centres[rock] + torch.randn(n, N_MEASURES), rock


def student_calls(rock):
    """Every student is sure about most slides and guesses the rest."""
    calls = rock[:, None].repeat(1, N_STUDENTS)
    guess = torch.rand(calls.shape) < 0.36
    calls[guess] = torch.randint(N_TYPES, calls.shape)[guess]
    return calls


def init(sizes):
    params = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        params += [torch.randn(a, b) * (2 / a) ** 0.5, torch.zeros(b)]
    return [p.requires_grad_() for p in params]


def forward(params, x):
    for i in range(0, len(params) - 2, 2):
        x = F.relu(x @ params[i] + params[i + 1])
    return x @ params[-2] + params[-1]


x, rock = slides(2400)
calls = student_calls(rock)
labels = calls[:, 0]
x = (x - x[:2000].mean(0)) / x[:2000].std(0)
x_train, y_train = x[:2000], labels[:2000]
x_val, y_val = x[2000:], labels[2000:]

params = init([N_MEASURES, 24, N_TYPES])
velocity = [torch.zeros_like(p) for p in params]
lr, momentum, batch = 0.02, 0.9, 50

for epoch in range(7):
    total = 0.0
    order = torch.randperm(len(x_train))
    for i in range(0, len(order), batch):
        b = order[i:i + batch]
        loss = F.cross_entropy(forward(params, x_train[b]), y_train[b])
        grads = torch.autograd.grad(loss, params)
        with torch.no_grad():
            for p, g, v in zip(params, grads, velocity):
                v.mul_(momentum).add_(g)
                p.sub_(lr * v)
        total += loss.item() * len(b)
    with torch.no_grad():
        out = forward(params, x_val)
        print(f"{epoch:2d}  train {total / len(x_train):.3f}  val {F.cross_entropy(out, y_val):.3f}  "
              f"acc {(out.argmax(1) == y_val).float().mean():.3f}")
