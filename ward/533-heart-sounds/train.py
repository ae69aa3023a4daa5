import torch
import torch.nn as nn

torch.manual_seed(12)
N_FEATURES, N_CLASSES = 20, 5


def recordings(n, gen):
    centres = torch.randn(N_CLASSES, N_FEATURES, generator=torch.Generator().manual_seed(7))
    y = torch.randint(0, N_CLASSES, (n,), generator=gen)
    return centres[y] + 1.2 * torch.randn(n, N_FEATURES, generator=gen), y


gen = torch.Generator().manual_seed(12)
X, y = recordings(4000, gen)
X_val, y_val = recordings(600, gen)
mean, std = X.mean(0), X.std(0)
X, X_val = (X - mean) / std, (X_val - mean) / std

BATCH_SIZE = 2
STEPS = 400
model = nn.Sequential(
    nn.Linear(N_FEATURES, 64), nn.BatchNorm1d(64), nn.ReLU(),
    nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(),
    nn.Linear(64, N_CLASSES),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
running = 0.0
for step in range(1, STEPS + 1):
    model.train()
    rows = torch.randint(0, len(X), (BATCH_SIZE,), generator=gen)
    optimizer.zero_grad()
    loss = criterion(model(X[rows]), y[rows])
    loss.backward()
    optimizer.step()
    running += loss.item()
    if step % 40 == 0:
        model.eval()
        with torch.no_grad():
            out = model(X_val)
        print(f"{step:4d} train {running / 40:.4f} val {criterion(out, y_val):.4f} acc {(out.argmax(1) == y_val).float().mean():.3f}")
        running = 0.0
