import math

import torch
from torch import nn


class BoilerLog:
    """Windows of three channels: pressure in Pa, flue temperature in K, fan speed in rpm."""
    states = ["ignition", "modulating", "steady", "shutdown"]

    def __init__(self, n, length=20, seed=0):
        g = torch.Generator().manual_seed(seed)
        t = torch.linspace(0, 1, length)
        state = torch.randint(0, 4, (n,), generator=g)
        ramp = torch.stack([t, 0.5 + 0.4 * torch.sin(4 * math.pi * t), 0.5 + 0 * t, 1 - t])[state]
        ramp = ramp + 0.3 * torch.randn(n, 1, generator=g)

        def noisy(signal, level):
            return signal + level * torch.randn(n, length, generator=g)

        pressure = 101325 + noisy(900 * ramp, 400)
        flue = 400 + noisy(60 * ramp, 25)
        fan = 2800 + noisy(700 * ramp, 300)
        self.x = torch.stack([pressure, flue, fan], dim=2)
        self.y = state

    def batches(self, size, generator=None):
        order = torch.randperm(len(self.y), generator=generator)
        for idx in order.split(size):
            yield self.x[idx], self.y[idx]


class StateNet(nn.Module):
    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.LSTM(3, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 4)

    def forward(self, x):
        _, (h, _) = self.rnn(x)
        return self.head(h[-1])


class Trainer:
    def __init__(self, model, lr):
        self.model, self.loss = model, nn.CrossEntropyLoss()
        self.opt = torch.optim.Adam(model.parameters(), lr=lr)

    def fit(self, train, test, epochs, batch_size):
        for epoch in range(epochs):
            self.model.train()
            seen = []
            for x, y in train.batches(batch_size):
                self.opt.zero_grad()
                loss = self.loss(self.model(x), y)
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
                self.opt.step()
                seen.append(loss.item())
            print(f"{epoch:2d}: loss {sum(seen) / len(seen):.4f}  " + self.report(test))

    @torch.no_grad()
    def report(self, test):
        self.model.eval()
        out = self.model(test.x)
        return f"test {self.loss(out, test.y):.4f}  acc {(out.argmax(1) == test.y).float().mean():.3f}"


torch.manual_seed(0)
train, test = BoilerLog(2000, seed=1), BoilerLog(500, seed=2)
Trainer(StateNet(), lr=5e-3).fit(train, test, epochs=8, batch_size=50)
