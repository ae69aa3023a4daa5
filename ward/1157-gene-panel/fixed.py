"""Response to a drug from a panel of 80 gene expressions, 240 patients."""
import torch
from torch import nn

torch.manual_seed(3)
g = torch.Generator().manual_seed(3)
GENES = 80


def cohort(n):
    x = torch.randn(n, GENES, generator=g)
    score = 1.2 * x[:, 0] - x[:, 1] + 0.9 * x[:, 2] - 0.8 * x[:, 3] + 0.7 * x[:, 4]
    y = (score + 0.8 * torch.randn(n, generator=g) > 0).float()
    return x, y


x_train, y_train = cohort(240)
x_val, y_val = cohort(400)

model = nn.Sequential(
    nn.Dropout(0.5), nn.Linear(GENES, 8), nn.ReLU(),
    nn.Linear(8, 1), nn.Flatten(0),
)
loss_fn = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=0.02)

history = {"train": [], "val": [], "acc": []}
for epoch in range(30):
    model.train()
    batch_losses = []
    for idx in torch.randperm(len(x_train)).split(24):
        optimizer.zero_grad()
        loss = loss_fn(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        batch_losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        logits = model(x_val)
        history["train"].append(sum(batch_losses) / len(batch_losses))
        history["val"].append(loss_fn(logits, y_val).item())
        history["acc"].append(((logits > 0) == (y_val > 0)).float().mean().item())
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1:2d}  train {history['train'][-1]:.4f}  val {history['val'][-1]:.4f}  acc {history['acc'][-1]:.3f}")
