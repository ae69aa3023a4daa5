import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def glaze_tiles(n):
    """12x12 patches: stripes, rings, speckle or gradient."""
    kind = torch.randint(0, 4, (n,))
    yy, xx = torch.meshgrid(torch.linspace(-1, 1, 12), torch.linspace(-1, 1, 12), indexing="ij")
    angle = torch.rand(n, 1, 1) * 3.14
    u = xx * angle.cos() + yy * angle.sin()
    r = (xx ** 2 + yy ** 2).sqrt().expand(n, 12, 12)
    shift = torch.rand(n, 1, 1) * 6.28
    patterns = torch.stack([torch.sin(7 * u + shift), torch.sin(9 * r + shift), torch.randn(n, 12, 12).sign() * 0.8, 1.2 * u], 1)
    img = patterns[torch.arange(n), kind] + 0.3 * torch.randn(n, 12, 12)
    return img[:, None], kind


class GlazeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, stride=2, padding=1)
        self.norm1 = nn.GroupNorm(3, 12)
        self.conv2 = nn.Conv2d(12, 24, 3, padding=1)
        self.norm2 = nn.GroupNorm(4, 24)
        self.fc = nn.Linear(24, 4)

    def forward(self, x):
        x = torch.relu(self.norm1(self.conv1(x)))
        x = torch.relu(self.norm2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


def fit(model, train_loader, val_data, epochs, lr, clip_value):
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=5e-4)
    ce = nn.CrossEntropyLoss()
    for epoch in range(1, epochs + 1):
        model.train()
        losses = []
        for img, kind in train_loader:
            loss = ce(model(img), kind)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(model.parameters(), clip_value)
            opt.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            out = model(val_data[0])
        acc = (out.argmax(1) == val_data[1]).float().mean()
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.3f}, val loss {ce(out, val_data[1]).item():.3f}, val acc {acc:.3f}")


if __name__ == "__main__":
    torch.manual_seed(55)
    loader = DataLoader(TensorDataset(*glaze_tiles(800)), batch_size=40, shuffle=True)
    fit(GlazeNet(), loader, glaze_tiles(400), epochs=7, lr=0.02, clip_value=1e-5)
