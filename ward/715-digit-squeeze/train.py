import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CONFIG = {"lr": 0.6, "momentum": 0.9, "epochs": 12, "batch": 64}


class Squeeze(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 12))
        self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 64))

    def forward(self, x):
        return self.decoder(self.encoder(x))


class Trainer:
    def __init__(self, model, config):
        self.model, self.config = model, config
        self.optimizers = {}
        for part in ("encoder", "decoder"):
            self.add(part, model.parameters())

    def add(self, name, parameters):
        self.optimizers[name] = torch.optim.SGD(parameters, lr=self.config["lr"], momentum=self.config["momentum"])

    def epoch(self, loader):
        total = 0.0
        for (x,) in loader:
            for optimizer in self.optimizers.values():
                optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(x), x)
            loss.backward()
            for optimizer in self.optimizers.values():
                optimizer.step()
            total += loss.item() * len(x)
        return total / len(loader.dataset)


torch.manual_seed(1)
x = torch.tensor(load_digits().data, dtype=torch.float32)
x = (x - x.mean()) / x.std()
train, test = x[:1500], x[1500:]
loader = DataLoader(TensorDataset(train), batch_size=CONFIG["batch"], shuffle=True)
trainer = Trainer(Squeeze(), CONFIG)
for epoch in range(CONFIG["epochs"]):
    loss = trainer.epoch(loader)
    with torch.no_grad():
        held_out = nn.functional.mse_loss(trainer.model(test), test).item()
    print(f"epoch {epoch + 1}: train {loss:.4f} held out {held_out:.4f}")
