"""Fine-tuning: a net pretrained on numerals gets a new head that counts closed loops; small rates for the old layers."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class NumeralNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.layer1 = nn.Linear(64, 96)
        self.layer2 = nn.Linear(96, 64)
        self.head_layer = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.head_layer(x)


def param_groups(model, lr, layer_scale=0.001):
    groups = []
    for name, p in model.named_parameters():
        scale = layer_scale if name.startswith("layer") else 1.0
        groups.append({"params": [p], "lr": lr * scale, "name": name})
    return groups


def run(model, optimizer, train, test, epochs, tag):
    (x, y), (xt, yt) = train, test
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for idx in torch.randperm(len(y)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        model.eval()
        with torch.no_grad():
            acc = (model(xt).argmax(1) == yt).float().mean().item()
        print(f"{tag} epoch {epoch + 1:2d}: loss {total / len(y):.4f}, test acc {acc:.3f}")


LOOPS = torch.tensor([1, 0, 0, 0, 0, 0, 1, 0, 2, 1])


if __name__ == "__main__":
    torch.manual_seed(66)
    data = load_digits()
    perm = torch.randperm(len(data.target))
    x = torch.tensor(data.data, dtype=torch.float32)[perm] / 8 - 1
    y = torch.tensor(data.target)[perm]

    base = NumeralNet(10)
    run(base, torch.optim.Adam(base.parameters(), lr=3e-3), (x[:900], y[:900]), (x[1500:], y[1500:]), epochs=4, tag="pretrain")

    net = copy.deepcopy(base)
    net.head_layer = nn.Linear(64, 3)
    loops = LOOPS[y]
    optimizer = torch.optim.AdamW(param_groups(net, lr=5e-3), weight_decay=0.01)
    run(net, optimizer, (x[900:1500], loops[900:1500]), (x[1500:], loops[1500:]), epochs=10, tag="finetune")
