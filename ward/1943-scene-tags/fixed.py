"""Multi-label tags for photo descriptors (a photo may have several tags)."""
import torch
import torch.nn as nn
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score
from torch.utils.data import DataLoader, TensorDataset

HPARAMS = {"lr": 2e-3, "weight_decay": 1e-4, "batch_size": 50, "epochs": 16, "hidden": 96}
TAGS = ["beach", "city", "night", "people", "food", "snow"]


def get_data():
    x, y = make_multilabel_classification(n_samples=4000, n_features=40, n_classes=len(TAGS), n_labels=2, length=60,
                                          allow_unlabeled=True, random_state=3)
    x = torch.tensor(x, dtype=torch.float32)
    x = (x - x[:3000].mean(0)) / x[:3000].std(0)
    y = torch.tensor(y, dtype=torch.float32)
    return TensorDataset(x[:3000], y[:3000]), TensorDataset(x[3000:], y[3000:])


def make_model(n_in, hidden, n_out):
    return nn.Sequential(nn.Linear(n_in, hidden), nn.GELU(), nn.Dropout(0.1),
                         nn.Linear(hidden, hidden), nn.GELU(), nn.Dropout(0.1), nn.Linear(hidden, n_out))


def validate(model, loader, loss_fn):
    model.eval()
    out, truth = [], []
    with torch.no_grad():
        for x, y in loader:
            out.append(model(x))
            truth.append(y)
    out, truth = torch.cat(out), torch.cat(truth)
    f1 = f1_score(truth.numpy(), (out > 0).numpy(), average="micro", zero_division=0)
    return loss_fn(out, truth).item(), f1


def train(hp):
    torch.manual_seed(13)
    train_set, val_set = get_data()
    train_loader = DataLoader(train_set, batch_size=hp["batch_size"], shuffle=True)
    val_loader = DataLoader(val_set, batch_size=250)
    model = make_model(40, hp["hidden"], len(TAGS))
    loss_fn = nn.BCEWithLogitsLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=hp["lr"], weight_decay=hp["weight_decay"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, hp["epochs"], eta_min=1e-4)
    for epoch in range(hp["epochs"]):
        model.train()
        running = 0.0
        for x, y in train_loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        scheduler.step()
        vloss, f1 = validate(model, val_loader, loss_fn)
        print("Epoch {:2d}: loss={:.4f} val_loss={:.4f} micro_f1={:.3f}".format(epoch, running / len(train_loader), vloss, f1))
    return model


if __name__ == "__main__":
    train(HPARAMS)
