import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

SETTINGS = {
    "seed": 19,
    "lr": 0.02,
    "momentum": 0.9,
    "max_grad_norm": 2.0,
    "epochs": 15,
    "batch": 40,
}

torch.manual_seed(SETTINGS["seed"])
X, y = load_breast_cancer(return_X_y=True)
order = torch.randperm(len(y)).numpy()
X, y = X[order], y[order]
scaler = StandardScaler().fit(X[:400])
X = torch.tensor(scaler.transform(X), dtype=torch.float32)
y = torch.tensor(y)
X_train, y_train, X_test, y_test = X[:400], y[:400], X[400:], y[400:]

model = nn.Sequential(nn.Linear(30, 24), nn.Tanh(), nn.Dropout(0.3), nn.Linear(24, 2))
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=SETTINGS["lr"], momentum=SETTINGS["momentum"], weight_decay=5e-3)

for epoch in range(SETTINGS["epochs"]):
    model.train()
    total = 0.0
    for rows in torch.randperm(len(X_train)).split(SETTINGS["batch"]):
        optimizer.zero_grad()
        loss = loss_fn(model(X_train[rows]), y_train[rows])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), SETTINGS["max_grad_norm"])
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        logits = model(X_test)
        test_loss, acc = loss_fn(logits, y_test).item(), (logits.argmax(1) == y_test).float().mean().item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:3d}  train {total / 10:.4f}  test {test_loss:.4f}  acc {acc:.3f}")
