import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
rng = np.random.default_rng(0)

# expression profiles -> pathway tags (several per sample)
n_samples, n_genes, n_tags, n_factors = 7000, 80, 14, 10
factors = rng.normal(size=(n_samples, n_factors))
loadings = rng.normal(size=(n_factors, n_genes)) / np.sqrt(n_factors)
X = factors @ loadings + 0.15 * rng.normal(size=(n_samples, n_genes))
pairs = [rng.choice(n_factors, 2, replace=False) for _ in range(n_tags)]
Y = np.stack([np.maximum(factors[:, a], factors[:, b]) > 0.55 for a, b in pairs], axis=1)
X = (X - X[:6000].mean(0)) / X[:6000].std(0)
X, Y = torch.tensor(X, dtype=torch.float32), torch.tensor(Y, dtype=torch.float32)

config = {
    "batch_size": 40,
    "max_lr": 0.2,
    "epochs": 25,
    "momentum": 0.9,
    "weight_decay": 1e-4,
}


class LightModule(nn.Module):
    def __init__(self, config, steps_per_epoch):
        super().__init__()
        self.config = config
        self.net = nn.Sequential(nn.Linear(n_genes, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1),
                                 nn.Linear(64, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, n_tags))
        self.criterion = nn.BCEWithLogitsLoss()
        self.steps_per_epoch = steps_per_epoch

    def forward(self, x):
        return self.net(x)

    def configure_optimizers(self):
        opt = torch.optim.SGD(self.parameters(), lr=self.config["max_lr"], momentum=self.config["momentum"],
                              weight_decay=self.config["weight_decay"])
        sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=self.config["max_lr"], epochs=self.config["epochs"],
                                                    steps_per_epoch=self.steps_per_epoch, div_factor=100)
        return opt, {"scheduler": sched, "interval": "epoch"}

    def training_step(self, batch):
        x, y = batch
        return self.criterion(self(x), y)

    def validation_step(self, batch):
        x, y = batch
        out = self(x)
        pred = out > 0
        tp = (pred & (y > 0)).sum().item()
        return self.criterion(out, y).item(), 2 * tp / (pred.sum().item() + y.sum().item())


def fit(module, train_loader, val_loader, epochs):
    optimizer, sched = module.configure_optimizers()
    for epoch in range(epochs):
        module.train()
        losses = []
        for batch in train_loader:
            loss = module.training_step(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if sched["interval"] == "step":
                sched["scheduler"].step()
            losses.append(loss.item())
        if sched["interval"] == "epoch":
            sched["scheduler"].step()
        module.eval()
        with torch.no_grad():
            val = np.mean([module.validation_step(b) for b in val_loader], axis=0)
        print(f"Epoch {epoch}: train_loss={np.mean(losses):.4f} val_loss={val[0]:.4f} val_f1={val[1]:.4f}")


train_loader = DataLoader(TensorDataset(X[:6000], Y[:6000]), batch_size=config["batch_size"], shuffle=True)
val_loader = DataLoader(TensorDataset(X[6000:], Y[6000:]), batch_size=250)
fit(LightModule(config, len(train_loader)), train_loader, val_loader, config["epochs"])
