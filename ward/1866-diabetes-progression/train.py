import torch
import torch.nn as nn
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch.utils.data import DataLoader, TensorDataset

N_EPOCHS = 200
BATCH = 16


def build_mlp(n_in):
    return nn.Sequential(
        nn.Linear(n_in, 256), nn.ReLU(),
        nn.Linear(256, 256), nn.ReLU(),
        nn.Linear(256, 1),
    )


def get_data():
    X, y = load_diabetes(return_X_y=True)
    X_train, X_val, y_train, y_val = train_test_split(X, y, test_size=0.25, random_state=42)
    sx, sy = StandardScaler().fit(X_train), StandardScaler().fit(y_train[:, None])
    to = lambda a: torch.tensor(a, dtype=torch.float32)
    train = TensorDataset(to(sx.transform(X_train)), to(sy.transform(y_train[:, None])))
    val = TensorDataset(to(sx.transform(X_val)), to(sy.transform(y_val[:, None])))
    return train, val


def fit(model, train, val, n_epochs):
    train_dl = DataLoader(train, batch_size=BATCH, shuffle=True)
    val_dl = DataLoader(val, batch_size=len(val))
    loss_fn = nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    history = {"train": [], "val": []}
    for epoch in range(n_epochs):
        model.train()
        batch_losses = []
        for xb, yb in train_dl:
            loss = loss_fn(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            batch_losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            val_loss = sum(loss_fn(model(xb), yb).item() for xb, yb in val_dl) / len(val_dl)
        history["train"].append(sum(batch_losses) / len(batch_losses))
        history["val"].append(val_loss)
        if (epoch + 1) % 20 == 0:
            print(f"Epoch {epoch + 1:3d}/{n_epochs}  train {history['train'][-1]:.4f}  val {history['val'][-1]:.4f}")
    return history


def main():
    torch.manual_seed(0)
    train, val = get_data()
    model = build_mlp(train.tensors[0].shape[1])
    print(model)
    history = fit(model, train, val, N_EPOCHS)

    model.eval()
    with torch.no_grad():
        pred = model(val.tensors[0])
    target = val.tensors[1]
    r2 = 1 - ((pred - target) ** 2).sum() / ((target - target.mean()) ** 2).sum()
    print(f"final val mse {history['val'][-1]:.4f}, R2 {r2.item():.3f}")


if __name__ == "__main__":
    main()
