import torch
import torch.nn as nn
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(31)

N_FEATURES, N_TAGS = 60, 8
BATCH_SIZE = 64
EPOCHS = 15
DROPOUT = 0.1

X, Y = make_multilabel_classification(n_samples=6000, n_features=N_FEATURES, n_classes=N_TAGS, n_labels=3,
                                      length=120, random_state=31)
scaler = StandardScaler().fit(X[:5000])
X = torch.tensor(scaler.transform(X), dtype=torch.float32)
Y = torch.tensor(Y, dtype=torch.float32)
train_dl = DataLoader(TensorDataset(X[:5000], Y[:5000]), batch_size=BATCH_SIZE, shuffle=True)
X_val, Y_val = X[5000:], Y[5000:]


def dense(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, n_out), nn.ReLU(), nn.Dropout(DROPOUT))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(dense(N_FEATURES, 64), dense(64, 64), dense(64, 32))
        self.head = nn.Linear(32, N_TAGS)

    def forward(self, x):
        return self.head(self.body(x))


model = Tagger()
opt = torch.optim.Adam(model.parameters(), lr=1e-3)
bce = nn.BCEWithLogitsLoss()

for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for xb, yb in train_dl:
        loss = bce(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item() * len(xb)
    model.eval()
    with torch.no_grad():
        logits = model(X_val)
        val_loss = bce(logits, Y_val).item()
        f1 = f1_score(Y_val.numpy(), (logits > 0).numpy(), average="micro", zero_division=0)
    print(f"epoch {epoch + 1:2d} train loss {total / 5000:.4f} val loss {val_loss:.4f} micro F1 {f1:.3f}")
