import torch
import torch.nn as nn
import torch.nn.functional as F


class ActivationMonitor:
    """Collects layer outputs and reports how alive each layer was in the last epoch."""

    def __init__(self, model, kinds=(nn.ReLU,)):
        self.outputs = {}
        for name, module in model.named_modules():
            if isinstance(module, kinds):
                self.outputs[name] = []
                module.register_forward_hook(self.make_hook(name))

    def make_hook(self, name):
        def hook(module, inputs, output):
            if module.training:
                self.outputs[name].append((output > 0).float().mean().item())
        return hook

    def report(self, last):
        lines = []
        for name, outs in self.outputs.items():
            recent = outs[-last:]
            alive = sum(recent) / len(recent)
            lines.append(f"{name} {alive:.2f}")
        return ", ".join(lines)


def textures(n, seed, size=24):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, 4, (n,), generator=g)
    noise = torch.randn(n, 1, size, size, generator=g)
    kernels = [torch.ones(1, 1, 5, 1), torch.ones(1, 1, 1, 5), torch.eye(5)[None, None], torch.eye(5).flip(1)[None, None]]
    x = torch.empty_like(noise)
    for k, kernel in enumerate(kernels):
        x[y == k] = F.conv2d(noise[y == k], kernel / kernel.sum().sqrt(), padding="same")
    return x + 1.6 * torch.randn(x.shape, generator=g), y


class TextureNet(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 8, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.ReLU(),
            nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(64, 4))


def main():
    torch.manual_seed(1)
    x_train, y_train = textures(1280, 0)
    x_val, y_val = textures(400, 1)
    model = TextureNet()
    monitor = ActivationMonitor(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(1, 17):
        model.train()
        total, batches = 0.0, torch.randperm(len(y_train)).split(32)
        for b in batches:
            loss = F.cross_entropy(model(x_train[b]), y_train[b])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            out = model(x_val)
        val, acc = F.cross_entropy(out, y_val).item(), (out.argmax(1) == y_val).float().mean().item()
        print(f"epoch {epoch:2d} train {total / len(batches):.4f} val {val:.4f} acc {acc:.3f} | alive: {monitor.report(len(batches))}")


if __name__ == "__main__":
    main()
