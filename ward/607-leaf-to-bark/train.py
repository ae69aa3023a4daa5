"""Start from a network trained on leaves; bark has other classes, so only the body is taken over."""
import io

import torch
import torch.nn as nn


class TreeNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.classifier = nn.Linear(32, classes)

    def forward(self, x):
        return self.classifier(self.body(x))


class Samples:
    def __init__(self, classes, seed):
        mix = torch.randn(6, 20, generator=torch.Generator().manual_seed(500))
        self.g = torch.Generator().manual_seed(seed)
        self.centre = torch.randn(classes, 6, generator=self.g) * 1.5
        self.mix, self.classes = mix, classes

    def draw(self, n):
        y = torch.randint(0, self.classes, (n,), generator=self.g)
        z = self.centre[y] + 0.7 * torch.randn(n, 6, generator=self.g)
        return torch.tanh(z @ self.mix * 0.4) * 1.5 + 0.1 * torch.randn(n, 20, generator=self.g), y


def train(model, samples, groups, steps, label):
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    vx, vy = samples.draw(400)
    ce = nn.CrossEntropyLoss()
    for step in range(1, steps + 1):
        x, y = samples.draw(48)
        loss = ce(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % (steps // 5) == 0:
            with torch.no_grad():
                out = model(vx)
            print(f"{label} {step:3d} loss {loss.item():.4f} val {ce(out, vy).item():.4f} acc {(out.argmax(1) == vy).float().mean():.3f}")


torch.manual_seed(2)
leaves = TreeNet(10)
train(leaves, Samples(10, 1), [{"params": leaves.parameters(), "lr": 4e-3}], 250, "leaf")
file = io.BytesIO()
torch.save({"model": leaves.state_dict(), "step": 250}, file)
file.seek(0)

bark = TreeNet(6)
state = {k: v for k, v in torch.load(file)["model"].items() if not k.startswith("classifier.")}
missing, unexpected = bark.load_state_dict(state, strict=False)
print("new layers:", missing, "left over:", unexpected)
train(bark, Samples(6, 9), [{"params": bark.body.parameters(), "lr": 1e-3}, {"params": bark.classifier.parameters(), "lr": 5e-3}], 150, "bark")
