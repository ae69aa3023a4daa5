import torch
from torch import nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class Evaluator:
    """Called by the trainer every `every` steps."""

    def __init__(self, x, y, every):
        self.x, self.y, self.every = x, y, every

    def __call__(self, model, step, running):
        if step % self.every:
            return
        was_training = model.training
        model.eval()
        with torch.no_grad():
            out = model(self.x)
            loss = nn.functional.cross_entropy(out, self.y).item()
            acc = (out.argmax(1) == self.y).float().mean().item()
        model.train(was_training)
        print(f"step {step:5d}  train {sum(running[-self.every:]) / self.every:.4f}  val {loss:.4f}  acc {acc:.3f}")


class Trainer:
    def __init__(self, model, loader, callbacks, epochs, lr):
        self.model, self.loader, self.callbacks, self.epochs = model, loader, callbacks, epochs
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-2)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, epochs * len(loader))
        self.running, self.step = [], 0

    def train(self):
        for _ in range(self.epochs):
            self.model.train()
            for x, y in self.loader:
                loss = nn.functional.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.scheduler.step()
                self.step += 1
                self.running.append(loss.item())
                for callback in self.callbacks:
                    callback(self.model, self.step, self.running)


def block(c_in, c_out):
    return nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.BatchNorm2d(c_out), nn.ReLU(), nn.MaxPool2d(2))


def main():
    torch.manual_seed(16)
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
    x_train, x_val, y_train, y_val = train_test_split(x, torch.tensor(d.target), test_size=0.25, stratify=d.target, random_state=8)
    loader = DataLoader(TensorDataset(x_train, y_train), batch_size=32, shuffle=True, drop_last=True)
    model = nn.Sequential(block(1, 16), block(16, 32), nn.Flatten(), nn.Dropout(0.4), nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.4), nn.Linear(64, 10))
    Trainer(model, loader, [Evaluator(x_val, y_val, every=14)], epochs=20, lr=2e-3).train()


main()
