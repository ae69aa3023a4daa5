import torch
import torch.nn as nn
from sklearn.datasets import load_digits


class MLP(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        layers = []
        for a, b in zip(sizes[:-2], sizes[1:-1]):
            layers += [nn.Linear(a, b), nn.GELU(), nn.Dropout(0.2)]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))

    def forward(self, x):
        return self.layers(x)


class Standardizer:
    """Zero mean and unit variance for each pixel."""

    def fit(self, x):
        self.mean, self.std = x.mean(0), x.std(0).clamp(min=0.1)
        return self

    def __call__(self, x):
        return ((x - self.mean) / self.std).clamp(-4, 4)


class Trainer:
    def __init__(self, model, lr=1e-3, batch_size=40):
        self.model, self.batch_size = model, batch_size
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, x, y, x_val, y_val, epochs):
        for epoch in range(1, epochs + 1):
            self.model.train()
            losses = []
            for idx in torch.randperm(len(y)).split(self.batch_size):
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x[idx]), y[idx])
                loss.backward()
                self.optimizer.step()
                losses.append(loss.item())
            val_loss, val_acc = self.score(x_val, y_val)
            print(f"[{epoch:2d}/{epochs}] loss {sum(losses) / len(losses):.4f}  val {val_loss:.4f}  acc {val_acc:.3f}")

    @torch.no_grad()
    def score(self, x, y):
        self.model.eval()
        out = self.model(x)
        return self.criterion(out, y).item(), (out.argmax(1) == y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(7)
    data, target = load_digits(return_X_y=True)
    data, target = torch.tensor(data, dtype=torch.float32), torch.tensor(target)
    order = torch.randperm(len(target))
    data, target = data[order], target[order]
    scale = Standardizer().fit(data[:1400])
    trainer = Trainer(MLP([64, 64, 64, 10]))
    trainer.fit(scale(data[:1400]), target[:1400], scale(data[1400:]), target[1400:], epochs=14)
