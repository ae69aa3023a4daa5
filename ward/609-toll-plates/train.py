import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(70)
X, y = load_digits(return_X_y=True)
X_train, X_val, y_train, y_val = train_test_split(X / 8.0 - 1.0, y, test_size=397, random_state=7, stratify=y)
X_train, X_val = torch.tensor(X_train, dtype=torch.float32), torch.tensor(X_val, dtype=torch.float32)
y_train, y_val = torch.tensor(y_train), torch.tensor(y_val)

model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Dropout(0.2), nn.Linear(48, 10))
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 12)

for epoch in range(8):
    model.train()
    running, n = 0.0, 0
    for rows in torch.randperm(len(X_train)).split(70):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = criterion(model(X_train[rows]), y_train[rows])
        if not torch.isfinite(loss):
            print("non-finite loss, batch left out")
            continue
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        running, n = running + loss.item(), n + 1
    model.eval()
    with torch.no_grad():
        out = model(X_val)
    print(f"epoch {epoch + 1} train {running / n:.4f} val {criterion(out, y_val).item():.4f} acc {(out.argmax(1) == y_val).float().mean():.3f} scale {scaler.get_scale():.0f}")
