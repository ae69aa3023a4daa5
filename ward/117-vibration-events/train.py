import numpy as np
import torch
import torch.nn as nn

rng = np.random.default_rng(4)
torch.manual_seed(4)


def record(n, length=64):
    """vibration traces with one event of five kinds somewhere in the noise"""
    t = np.arange(12)
    kinds = np.stack([np.sin(t * 1.2), np.sin(t * 2.4), np.sign(np.sin(t * 0.6)), np.exp(-t / 3) * 2,
                      np.exp(-(11 - t) / 3) * 2])
    y = rng.integers(0, 5, n)
    x = 0.4 * rng.normal(size=(n, length))
    for i, start in enumerate(rng.integers(0, length - 12, n)):
        x[i, start:start + 12] += 1.5 * kinds[y[i]]
    return torch.tensor(x, dtype=torch.float32).unsqueeze(1), torch.tensor(y)


class EventNet(nn.Module):
    def __init__(self, filters=5):
        super().__init__()
        self.conv = nn.Conv1d(1, filters, kernel_size=11, padding=5)
        self.norm = nn.BatchNorm1d(filters)
        self.fc = nn.Linear(2 * filters, 5)

    def pool(self, h):
        a = h.detach().numpy()
        peak = a.max(axis=-1)
        energy = np.sqrt((a ** 2).mean(axis=-1))
        return torch.from_numpy(np.concatenate([peak, energy], axis=1))

    def forward(self, x):
        h = torch.relu(self.norm(self.conv(x)))
        return self.fc(self.pool(h))


X_train, y_train = record(3000)
X_test, y_test = record(600)
net = EventNet()
optim = torch.optim.Adam(net.parameters(), lr=1e-2)
loss_fn = nn.CrossEntropyLoss()

for epoch in range(1, 7):
    net.train()
    log = []
    for rows in np.array_split(rng.permutation(len(y_train)), 40):
        rows = torch.from_numpy(rows)
        optim.zero_grad()
        loss = loss_fn(net(X_train[rows]), y_train[rows])
        loss.backward()
        optim.step()
        log.append(loss.item())
    net.eval()
    with torch.no_grad():
        scores = net(X_test)
    print("epoch", epoch, "train loss %.4f" % np.mean(log), "test loss %.4f" % loss_fn(scores, y_test).item(),
          "test acc %.3f" % (scores.argmax(1) == y_test).float().mean().item())
