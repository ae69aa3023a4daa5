import torch
import torch.nn as nn
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import train_test_split

torch.manual_seed(14)

# ingredient counts of dishes -> which of 5 allergens are present
X, Y = make_multilabel_classification(n_samples=2400, n_features=40, n_classes=5, n_labels=2, length=60,
                                      allow_unlabeled=True, random_state=14)
X = torch.tensor(X, dtype=torch.float32)
Y = torch.tensor(Y, dtype=torch.float32)
X = (X - X.mean(0)) / X.std(0)
Xtr, Xte, Ytr, Yte = train_test_split(X, Y, test_size=0.25, random_state=1)

config = {
    "lr": 2e-3,
    "epochs": 14,
    "batch_size": 60,
    "hidden": 48,
    "weight_decay": 0.01,
}


class AllergenTagger(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(40, hidden), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Linear(hidden, 5)

    def forward(self, x):
        return self.head(self.trunk(x))


model = AllergenTagger(config["hidden"])
optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], weight_decay=config["weight_decay"])
total_steps = config["epochs"] * (len(Xtr) // config["batch_size"])
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: max(0.1, 1 - s / total_steps))
criterion = nn.BCEWithLogitsLoss()

for epoch in range(config["epochs"]):
    model.train()
    running = []
    for batch in torch.randperm(len(Xtr)).split(config["batch_size"]):
        optimizer.zero_grad()
        loss = criterion(model(Xtr[batch]), Ytr[batch])
        loss.backward()
        optimizer.step()
        scheduler.step()
        running.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits = model(Xte)
    exact = ((logits > 0) == (Yte > 0.5)).float().mean().item()
    print(f"epoch {epoch + 1}: train {sum(running) / len(running):.4f}, "
          f"test {criterion(logits, Yte).item():.4f}, tag accuracy {exact:.3f}")
