import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn


class Backbone(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Flatten(), nn.Linear(96, 20), nn.ReLU())


class SectionNet(nn.Module):
    def __init__(self, n_classes):
        super().__init__()
        self.backbone = Backbone()
        self.fc = nn.Linear(20, n_classes)

    def forward(self, x):
        return self.fc(self.backbone(x))

    def freeze_backbone(self):
        for p in self.backbone.parameters():
            p.requires_grad = False

    def unfreeze_backbone(self):
        for p in self.backbone.parameters():
            p.requires_grad = True


class Trainer:
    def __init__(self, model, lr, head_epochs=1):
        self.model, self.head_epochs = model, head_epochs
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def on_epoch_start(self, epoch):
        if epoch == 0:
            self.model.freeze_backbone()
        elif epoch == self.head_epochs:
            self.model.unfreeze_backbone()
            print("-- training the whole network from here on")

    def run(self, train, test, epochs, batch=48):
        x, y = train
        for epoch in range(epochs):
            self.on_epoch_start(epoch)
            self.model.train()
            total = 0.0
            for idx in torch.randperm(len(y)).split(batch):
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x[idx]), y[idx])
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(idx)
            self.model.eval()
            with torch.no_grad():
                out = self.model(test[0])
                acc = (out.argmax(1) == test[1]).float().mean().item()
                vl = self.criterion(out, test[1]).item()
            print(f"Epoch {epoch}: loss={total / len(y):.4f} test_loss={vl:.4f} test_acc={acc:.3f}")


def main():
    torch.manual_seed(61)
    x, y = load_digits(return_X_y=True)
    x = x.reshape(-1, 1, 8, 8).astype("float32") / 8 - 0.6
    parts = train_test_split(x, y, test_size=0.25, stratify=y, random_state=0)
    x_tr, x_te, y_tr, y_te = map(torch.as_tensor, parts)
    Trainer(SectionNet(10), lr=3e-3).run((x_tr, y_tr), (x_te, y_te), epochs=8)


main()
