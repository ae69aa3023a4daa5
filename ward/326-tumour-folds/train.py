import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold

torch.manual_seed(5)
X, y = load_breast_cancer(return_X_y=True)
X = X.astype(np.float32)


def new_model():
    return nn.Sequential(nn.Linear(30, 12), nn.ReLU(), nn.Dropout(0.2), nn.Linear(12, 2))


scores = []
for fold, (tr, va) in enumerate(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y)):
    mu, sd = X[tr].mean(0), X[tr].std(0)
    xt, xv = torch.tensor((X[tr] - mu) / sd), torch.tensor((X[va] - mu) / sd)
    yt, yv = torch.tensor(y[tr]), torch.tensor(y[va])
    model = new_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(12):
        model.train()
        running = 0.0
        for b in torch.randperm(len(yt)).split(32):
            optimizer.zero_grad()
            loss = criterion(model(xt[b]), yt[b])
            loss.backward()
            optimizer.step()
            running += loss.item() * len(b) / len(yt)
        model.eval()
        with torch.no_grad():
            out = model(xv)
        if epoch % 4 == 3:
            print(f"fold {fold} epoch {epoch + 1:2d} train {running:.4f} val {criterion(out, yv).item():.4f}")
    scores.append((out.argmax(1) == yv).float().mean().item())
print("accuracy %.3f +- %.3f" % (np.mean(scores), np.std(scores)))
