"""DeepSurv: Cox proportional hazards with a neural risk score (simulated hospital cohort)."""
import numpy as np
import torch
import torch.nn as nn


class CoxLoss(nn.Module):
    def forward(self, risk, time, event):
        order = torch.argsort(time, descending=True)
        risk, event = risk[order], event[order]
        return -((risk - torch.logcumsumexp(risk, 0)) * event).sum() / event.sum()


def concordance(risk, time, event):
    earlier = (time[:, None] < time[None]) & (event[:, None] > 0)
    better = (risk[:, None] > risk[None]) & earlier
    return better.sum().item() / earlier.sum().item()


class Cohort:
    def __init__(self, n, rng, beta):
        x = rng.normal(size=(n, len(beta)))
        x[:, ::4] = (x[:, ::4] > 0.3) * 2 - 0.76
        hazard = x @ beta + 0.35 * x[:, 1] ** 2
        t = rng.exponential(np.exp(-hazard))
        c = rng.exponential(2.5, size=n)
        self.x = torch.tensor(x, dtype=torch.float32)
        self.time = torch.tensor(np.minimum(t, c), dtype=torch.float32)
        self.event = torch.tensor(t <= c, dtype=torch.float32)


class DeepSurv(nn.Module):
    def __init__(self, d, hidden=(128, 64), dropout=0.0):
        super().__init__()
        layers = []
        for h in hidden:
            layers += [nn.Linear(d, h), nn.SELU(), nn.AlphaDropout(dropout)]
            d = h
        self.net = nn.Sequential(*layers, nn.Linear(d, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)


class Experiment:
    def __init__(self, lr=3e-3, momentum=0.9, l2_reg=0.07, epochs=500, batch=50, seed=2024):
        torch.manual_seed(seed)
        rng = np.random.default_rng(seed)
        beta = rng.normal(size=16) * 0.35
        self.train, self.valid = Cohort(500, rng, beta), Cohort(1500, rng, beta)
        self.model, self.loss = DeepSurv(16), CoxLoss()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=momentum, nesterov=True, weight_decay=l2_reg)
        self.epochs, self.batch = epochs, batch

    def score(self, data):
        self.model.eval()
        with torch.no_grad():
            risk = self.model(data.x)
            per_event = self.loss(risk, data.time, data.event) - np.log(len(data.time))
            return per_event.item(), concordance(risk, data.time, data.event)

    def run(self):
        for epoch in range(1, self.epochs + 1):
            self.model.train()
            for i in torch.randperm(len(self.train.time)).split(self.batch):
                self.opt.zero_grad()
                self.loss(self.model(self.train.x[i]), self.train.time[i], self.train.event[i]).backward()
                self.opt.step()
            if epoch % 20 == 0:
                (tl, tc), (vl, vc) = self.score(self.train), self.score(self.valid)
                print(f"epoch {epoch}: train nll {tl:.4f} c-index {tc:.3f} | valid nll {vl:.4f} c-index {vc:.3f}")


if __name__ == "__main__":
    Experiment().run()
