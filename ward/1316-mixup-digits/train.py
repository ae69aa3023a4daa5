import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class DigitModule(nn.Module):
    def __init__(self, width=24, p=0.4, alpha=0.8):
        super().__init__()
        self.alpha = alpha
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout2d(0.1),
            nn.Conv2d(width, 2 * width, 3, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(), nn.MaxPool2d(2))
        self.head = nn.Sequential(nn.Flatten(), nn.Dropout(p), nn.Linear(8 * width, 10))

    def forward(self, x):
        return self.head(self.body(x))

    def augment(self, x):
        # brightness, pixel noise, shift by up to one pixel
        x = x * (0.7 + 0.6 * torch.rand(len(x), 1, 1, 1)) + 0.3 * torch.randn_like(x)
        dy, dx = np.random.randint(-1, 2, 2)
        return torch.roll(x, (int(dy), int(dx)), (2, 3))

    def training_step(self, batch):
        x, y = batch
        x = self.augment(x)
        lam = np.random.beta(self.alpha, self.alpha)
        other = torch.randperm(len(x))
        out = self(lam * x + (1 - lam) * x[other])
        return lam * F.cross_entropy(out, y) + (1 - lam) * F.cross_entropy(out, y[other])

    def validation_step(self, batch):
        x, y = batch
        out = self(x)
        return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()

    def configure_optimizers(self, steps):
        opt = torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, nesterov=True)
        return opt, torch.optim.lr_scheduler.OneCycleLR(opt, 0.05, total_steps=steps)


def fit(module, x, y, x_val, y_val, epochs=14, batch=32):
    opt, sched = module.configure_optimizers(epochs * (len(y) // batch))
    for epoch in range(epochs):
        module.train()
        order = torch.randperm(len(y))[: len(y) // batch * batch]
        losses = []
        for idx in order.view(-1, batch):
            loss = module.training_step((x[idx], y[idx]))
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            losses.append(loss.item())
        module.eval()
        with torch.no_grad():
            vl, va = module.validation_step((x_val, y_val))
        print(f"epoch {epoch:2d} train_loss {np.mean(losses):.3f} val_loss {vl:.3f} val_acc {va:.3f}")


if __name__ == "__main__":
    torch.manual_seed(81)
    np.random.seed(81)
    imgs, labels = load_digits(return_X_y=True)
    imgs = (imgs.reshape(-1, 1, 8, 8) / 16 - 0.305) / 0.376
    parts = train_test_split(imgs.astype("float32"), labels, test_size=0.25, random_state=0, stratify=labels)
    x, x_val, y, y_val = map(torch.from_numpy, parts)
    fit(DigitModule(), x, y, x_val, y_val)
