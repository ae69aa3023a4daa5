import math

import numpy as np
import torch
from torch import nn


class Callback:
    def on_batch_end(self, run): pass
    def on_epoch_end(self, run): pass


class LRSchedule(Callback):
    def __init__(self, scheduler):
        self.scheduler = scheduler

    def on_batch_end(self, run):
        self.scheduler.step()


class Report(Callback):
    def on_epoch_end(self, run):
        lr = run.optimizer.param_groups[0]["lr"]
        print(f"epoch {run.epoch:2d}  lr {lr:.4f}  loss {np.mean(run.losses):.4f}  val {run.validate():.4f}")


class Run:
    def __init__(self, model, data, epochs, lr):
        self.model, self.data, self.epochs = model, data, epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.batches = math.ceil(len(data["train"][0]) / 50)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=epochs * self.batches)
        self.callbacks = [LRSchedule(self.scheduler), Report()]

    def step(self, x, y):
        loss = nn.functional.mse_loss(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        x, y = self.data["val"]
        return nn.functional.mse_loss(self.model(x), y).item()

    def fit(self):
        x, y = self.data["train"]
        for self.epoch in range(1, self.epochs + 1):
            self.model.train()
            self.losses = []
            for pick in torch.randperm(len(x)).split(50):
                self.losses.append(self.step(x[pick], y[pick]))
                for cb in self.callbacks:
                    cb.on_batch_end(self)
            for cb in self.callbacks:
                cb.on_epoch_end(self)


def spectra(n, rng):
    """Reflectance at 30 wavelengths of a mix of four minerals; target: their log-ratio contents."""
    content = rng.standard_normal((n, 4))
    peaks = np.exp(-0.5 * ((np.arange(30)[None] - np.array([[4], [11], [18], [25]])) / 2.5) ** 2)
    signal = np.tanh(content @ peaks) + 0.02 * rng.standard_normal((n, 30))
    return torch.tensor(signal, dtype=torch.float32), torch.tensor(content, dtype=torch.float32)


if __name__ == "__main__":
    torch.manual_seed(5)
    rng = np.random.default_rng(5)
    net = nn.Sequential(nn.Linear(30, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 4))
    Run(net, {"train": spectra(2000, rng), "val": spectra(400, rng)}, epochs=12, lr=0.4).fit()
