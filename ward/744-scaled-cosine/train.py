import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(16)


class CosineHead(nn.Module):
    def __init__(self, inputs, classes, dim=32):
        super().__init__()
        self.embed = nn.Linear(inputs, dim)
        self.prototypes = nn.Parameter(torch.randn(classes, dim))

    def forward(self, x):
        z = F.normalize(self.embed(x), dim=1)
        return 40 * z @ F.normalize(self.prototypes, dim=1).T


centres = torch.randn(6, 24)


def voices(n):
    speaker = torch.randint(0, 6, (n,))
    return 0.45 * centres[speaker] + torch.randn(n, 24), speaker


x, y = voices(1500)
val_x, val_y = voices(900)
model = CosineHead(24, 6)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    model.train()
    for ids in torch.randperm(len(y)).split(50):
        loss = F.cross_entropy(model(x[ids]), y[ids])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(val_x)
        print(f"{epoch + 1} val {F.cross_entropy(out, val_y).item():.3f} acc {(out.argmax(1) == val_y).float().mean().item():.3f}")
