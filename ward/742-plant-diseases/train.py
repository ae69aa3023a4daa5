import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(4)
DISEASES = 5
centres = torch.randn(DISEASES, 20)


def leaves(n):
    disease = torch.randint(0, DISEASES, (n,))
    return 0.6 * centres[disease] + torch.randn(n, 20), disease


train_x, train_y = leaves(2000)
val_x, val_y = leaves(800)
loader = DataLoader(TensorDataset(train_x, train_y), batch_size=20, shuffle=True)
model = nn.Sequential(nn.Linear(20, 48), nn.ReLU(), nn.Linear(48, DISEASES))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(val_x) / 0.1
        val_loss = F.cross_entropy(out, val_y).item()
        sure = out.softmax(1).amax(1).mean().item()
        acc = (out.argmax(1) == val_y).float().mean().item()
    print(f"epoch {epoch + 1} val {val_loss:.3f} acc {acc:.3f} mean confidence {sure:.3f}")
