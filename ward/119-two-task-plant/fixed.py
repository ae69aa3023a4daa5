import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(100)

# plant monitoring: predict the outlet temperature (regression) and the alarm level (3 classes)
sensors = torch.randn(4000, 16)
direction = torch.randn(16, 2) / 4
hidden = torch.tanh(sensors @ direction * 2)
temperature = hidden[:, 0] * 1.5 + 0.5 * hidden[:, 1] ** 2 + 0.1 * torch.randn(4000)
temperature = (temperature - temperature.mean()) / temperature.std()
level = torch.bucketize(hidden[:, 1] + 0.05 * torch.randn(4000), torch.tensor([-0.4, 0.4]))
train_set, val_set = random_split(TensorDataset(sensors, temperature, level), [3200, 800])
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
val_loader = DataLoader(val_set, batch_size=400)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU())
        self.reg_head = nn.Linear(32, 1)
        self.cls_head = nn.Linear(32, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.reg_head(h).squeeze(-1), self.cls_head(h)


model = TwoHeads()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
mse, ce = nn.MSELoss(), nn.CrossEntropyLoss()
weights = {"temperature": 1.0, "level": 0.5}

for epoch in range(8):
    model.train()
    sums = {"temperature": 0.0, "level": 0.0}
    for x, temp, lev in train_loader:
        temp_out, lev_out = model(x)
        losses = {"temperature": mse(temp_out, temp), "level": ce(lev_out, lev)}
        total = sum(weights[k] * losses[k] for k in losses)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        for k in losses:
            sums[k] += losses[k].item() / len(train_loader)
    model.eval()
    v_mse, v_acc = 0.0, 0.0
    with torch.no_grad():
        for x, temp, lev in val_loader:
            temp_out, lev_out = model(x)
            v_mse += mse(temp_out, temp).item() / len(val_loader)
            v_acc += (lev_out.argmax(1) == lev).float().mean().item() / len(val_loader)
    print(f"epoch {epoch}: temp {sums['temperature']:.4f} level {sums['level']:.4f} | val temp {v_mse:.4f} acc {v_acc:.3f}")
