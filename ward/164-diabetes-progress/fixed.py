import torch
import torch.nn as nn
from sklearn.datasets import load_diabetes

torch.manual_seed(3)
x, y = load_diabetes(return_X_y=True)
x = torch.tensor(x, dtype=torch.float32)
y = torch.tensor(y, dtype=torch.float32).unsqueeze(1)
order = torch.randperm(len(x))
x, y = x[order], y[order]
n = 300
x = (x - x[:n].mean(0)) / x[:n].std(0)
y = (y - y[:n].mean()) / y[:n].std()
x_train, y_train, x_val, y_val = x[:n], y[:n], x[n:], y[n:]

WIDTH, DROPOUT, DECAY, EPOCHS = 16, 0.1, 0.1, 26
model = nn.Sequential(
    nn.Linear(10, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT),
    nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Dropout(DROPOUT),
    nn.Linear(WIDTH, 1))
loss_fn = nn.MSELoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=DECAY)

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for idx in torch.randperm(n).split(30):
        optimizer.zero_grad()
        loss = loss_fn(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        val = loss_fn(model(x_val), y_val).item()
    if epoch % 3 == 0:
        print(f"epoch {epoch:3d} train mse {total / n:.3f} val mse {val:.3f}")
