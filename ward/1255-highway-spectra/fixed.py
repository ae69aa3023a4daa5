"""Concentration classes from absorption spectra with an 18-layer highway network."""
import torch
import torch.nn as nn


class Highway(nn.Module):
    def __init__(self, width, depth, gate_bias):
        super().__init__()
        self.plain = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.gates = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        for gate in self.gates:
            nn.init.constant_(gate.bias, gate_bias)

    def forward(self, x):
        for plain, gate in zip(self.plain, self.gates):
            t = torch.sigmoid(gate(x))
            x = t * torch.tanh(plain(x)) + (1 - t) * x
        return x


class SpectraNet(nn.Module):
    def __init__(self, bands, classes, width=32, depth=18, gate_bias=-2.0):
        super().__init__()
        self.inp = nn.Linear(bands, width)
        self.highway = Highway(width, depth, gate_bias)
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        return self.out(self.highway(torch.tanh(self.inp(x))))


class Trainer:
    def __init__(self, model, data, lr=0.05, batch=64):
        self.model, self.batch = model, batch
        (self.x, self.y), (self.xv, self.yv) = data
        self.loss = nn.CrossEntropyLoss()
        self.opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def fit(self, epochs):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for idx in torch.randperm(len(self.y)).split(self.batch):
                self.opt.zero_grad()
                loss = self.loss(self.model(self.x[idx]), self.y[idx])
                loss.backward()
                self.opt.step()
                total += loss.item() * len(idx)
            print(f"epoch {epoch + 1}: loss {total / len(self.y):.4f}, {self.validate()}")

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        out = self.model(self.xv)
        return f"val loss {self.loss(out, self.yv):.4f}, val acc {(out.argmax(1) == self.yv).float().mean():.3f}"


def spectra(n, bands=40, classes=6):
    wave = torch.linspace(0, 1, bands)
    y = torch.randint(0, classes, (n,))
    centre = (0.2 + 0.12 * y)[:, None] + 0.02 * torch.randn(n, 1)
    peak = torch.exp(-((wave - centre) / 0.08) ** 2) * (0.7 + 0.6 * torch.rand(n, 1))
    baseline = torch.randn(n, 1) * wave
    x = peak + baseline + 0.15 * torch.randn(n, bands)
    return (x - x.mean(0)) / x.std(0), y


if __name__ == "__main__":
    torch.manual_seed(18)
    x, y = spectra(2320)
    trainer = Trainer(SpectraNet(40, 6), ((x[:1920], y[:1920]), (x[1920:], y[1920:])))
    trainer.fit(6)
