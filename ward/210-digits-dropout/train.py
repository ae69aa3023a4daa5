import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(5)
X, y = load_digits(return_X_y=True)
Xtr, Xva, ytr, yva = train_test_split(X / 16.0, y, test_size=0.25, stratify=y, random_state=5)
Xtr, Xva = torch.tensor(Xtr, dtype=torch.float32), torch.tensor(Xva, dtype=torch.float32)
ytr, yva = torch.tensor(ytr), torch.tensor(yva)


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop_in, self.drop = nn.Dropout(0.2), nn.Dropout(0.5)
        self.l1, self.l2, self.l3 = nn.Linear(64, 128), nn.Linear(128, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = self.drop(F.relu(self.l1(self.drop_in(x))))
        x = self.drop(F.relu(self.l2(x)))
        return self.l3(x)


@torch.no_grad()
def score(model, X, y):
    model.eval()
    out = model(X)
    return F.cross_entropy(out, y).item(), (out.argmax(1) == y).float().mean().item()


model = MLP()
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(1, 22):
    model.train()
    running = 0.0
    for i in torch.randperm(len(ytr)).split(64):
        opt.zero_grad()
        loss = F.cross_entropy(model(Xtr[i]), ytr[i])
        loss.backward()
        opt.step()
        running += loss.item() * len(i)
    trl, tra = score(model, Xtr, ytr)
    val, vaa = score(model, Xva, yva)
    if epoch % 4 == 1:
        print(f"{epoch:2d} running {running / len(ytr):.4f} | clean train {trl:.4f} acc {tra:.3f} | val {val:.4f} acc {vaa:.3f}")
