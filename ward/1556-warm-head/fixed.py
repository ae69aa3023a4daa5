import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

PRETRAIN_EPOCHS, WARMUP_EPOCHS, EPOCHS = 6, 3, 18


class Backbone(nn.Module):
    def __init__(self, code=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, code))

    def forward(self, x):
        return self.layers(x)


class Classifier(nn.Module):
    def __init__(self, backbone, code=8, classes=10):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Linear(code, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def pretrain(backbone, x):
    """Denoising autoencoder on the unlabelled pictures."""
    decoder = nn.Linear(8, 64)
    opt = torch.optim.Adam([*backbone.parameters(), *decoder.parameters()], lr=1e-3)
    for epoch in range(PRETRAIN_EPOCHS):
        for b in torch.randperm(len(x)).split(50):
            loss = F.mse_loss(decoder(backbone(x[b] + 0.2 * torch.randn_like(x[b]))), x[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"pretrain {epoch + 1} mse {loss.item():.4f}")


def finetune(model, x, y, x_val, y_val):
    for p in model.backbone.parameters():
        p.requires_grad = False
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(1, EPOCHS + 1):
        if epoch == WARMUP_EPOCHS + 1:
            model.backbone.requires_grad_(True)
            print("head is warm, training the whole network")
        model.train()
        total = 0.0
        for b in torch.randperm(len(x)).split(32):
            loss = F.cross_entropy(model(x[b]), y[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(b)
        model.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(1) == y_val).float().mean().item()
        print(f"epoch {epoch:2d} loss {total / len(x):.4f} val acc {acc:.3f}")


torch.manual_seed(0)
x, y = load_digits(return_X_y=True)
x, x_val, y, y_val = train_test_split(x / 8 - 1, y, test_size=0.25, stratify=y, random_state=0)
x, x_val = torch.tensor(x, dtype=torch.float32), torch.tensor(x_val, dtype=torch.float32)
y, y_val = torch.tensor(y), torch.tensor(y_val)
backbone = Backbone()
pretrain(backbone, x)
finetune(Classifier(backbone), x, y, x_val, y_val)
