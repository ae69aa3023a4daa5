# grip strength from body measurements -- exported from my notebook
import torch
import torch.nn.functional as F

torch.manual_seed(21)

# %% data
n = 2000
body = torch.randn(n, 6)
w = torch.tensor([0.9, -0.5, 0.4, 0.0, 0.3, -0.2])
grip = body @ w + 0.5 * torch.tanh(2 * body[:, 3]) * body[:, 0] + 0.2 * torch.randn(n)
grip = (grip - grip.mean()) / grip.std()

# hold out every fifth person
test = torch.arange(n) % 5 == 0
Xte, yte = body[test], grip[test]
Xtr, ytr = body[~test], grip[~test]

# %% order by strength, so that the curve of targets looks nice in the plot
rank = ytr.argsort()
Xtr, ytr = Xtr[rank], ytr[rank]

# %% parameters
W1 = (torch.randn(6, 64) / 6 ** 0.5).requires_grad_()
b1 = torch.zeros(64, requires_grad=True)
W2 = (torch.randn(64, 64) / 8).requires_grad_()
b2 = torch.zeros(64, requires_grad=True)
W3 = (torch.randn(64, 1) / 8).requires_grad_()
b3 = torch.zeros(1, requires_grad=True)
params = [W1, b1, W2, b2, W3, b3]


def f(x):
    h = torch.tanh(x @ W1 + b1)
    h = torch.tanh(h @ W2 + b2)
    return (h @ W3 + b3).squeeze(1)


# %% train
opt = torch.optim.SGD(params, lr=0.02, momentum=0.9)
B = 40
for epoch in range(20):
    losses = []
    batches = torch.randperm(len(ytr)).split(B)
    for b in batches:
        loss = F.mse_loss(f(Xtr[b]), ytr[b])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
    if epoch % 2 == 1:
        with torch.no_grad():
            pred = f(Xte)
            mse = F.mse_loss(pred, yte).item()
        print(f"epoch {epoch + 1:2d}  train {sum(losses) / len(losses):.4f}  test {mse:.4f}  mean prediction {pred.mean().item():+.3f}")
