"""Classify the operating state of a pump from short windows of its vibration."""
import torch
from torch import nn

torch.manual_seed(9)
STATES, LENGTH, WINDOW = 4, 129000, 32


def recording():
    state = torch.randint(0, STATES, (LENGTH // 300,)).repeat_interleave(300)
    t = torch.arange(LENGTH, dtype=torch.float32)
    signal = torch.sin(t * (0.25 + 0.12 * state)) + 0.9 * torch.randn(LENGTH)
    return signal, state


def windows(signal, state, starts):
    return torch.stack([signal[s : s + WINDOW] for s in starts]), state[starts + WINDOW // 2]


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def fit(self, x, y, batch=64):
        self.model.train()
        for ids in torch.randperm(len(x)).split(batch):
            loss = nn.functional.cross_entropy(self.model(x[ids]), y[ids])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
        return loss.item()

    @torch.no_grad()
    def score(self, x, y):
        self.model.eval()
        out = self.model(x)
        return nn.functional.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


signal, state = recording()
starts = WINDOW * torch.randperm(LENGTH // WINDOW)[:4000]
x, y = windows(signal, state, starts)
x_train, y_train = x[:3000], y[:3000]
x_val, y_val = x[2500:], y[2500:]
trainer = Trainer(nn.Sequential(nn.Linear(WINDOW, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, STATES)), lr=1e-3)
for epoch in range(8):
    loss = trainer.fit(x_train, y_train)
    val, acc = trainer.score(x_val, y_val)
    print(f"epoch {epoch + 1}: loss {loss:.4f} val loss {val:.4f} val acc {acc:.3f}")
