"""Reads digits; how large the gradients are that flow back through each layer is logged by hooks."""

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GradientLog:
    def __init__(self, *modules):
        self.sums, self.counts = {}, {}
        for name, module in modules:
            module.register_full_backward_hook(self.hook(name))

    def hook(self, name):
        def note(module, grad_input, grad_output):
            if grad_output[0] is not None:
                self.sums[name] = self.sums.get(name, 0.0) + grad_output[0].norm().item()
                self.counts[name] = self.counts.get(name, 0) + 1

        return note

    def show(self):
        return ", ".join(f"{k} {self.sums[k] / self.counts[k]:.2e}" for k in self.sums)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Sequential(nn.Linear(64, 96), nn.ReLU())
        self.middle = nn.Sequential(nn.Linear(96, 96), nn.ReLU())
        self.head = nn.Linear(96, 10)

    def forward(self, x):
        x = self.middle(self.front(x))
        return self.head(x)


torch.manual_seed(9)
pixels, labels = load_digits(return_X_y=True)
pixels = torch.tensor(pixels / 8 - 1, dtype=torch.float32)
a, b, ya, yb = train_test_split(pixels, torch.tensor(labels), test_size=0.25, random_state=9, stratify=labels)
loader = DataLoader(TensorDataset(a, ya), batch_size=32, shuffle=True)

reader, criterion = Reader(), nn.CrossEntropyLoss()
log = GradientLog(*reader.named_children(), ("loss", criterion))
optimizer = torch.optim.SGD(reader.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    reader.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(reader(x), y)
        loss.backward()
        optimizer.step()
    reader.eval()
    with torch.no_grad():
        out = reader(b)
        print(f"epoch {epoch + 1}: val loss {criterion(out, yb).item():.4f} acc {(out.argmax(1) == yb).float().mean().item():.3f} | {log.show()}")
