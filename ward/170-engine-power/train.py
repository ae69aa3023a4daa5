import torch
from torch import nn

torch.manual_seed(26)
# engine power from 8 readings
X = torch.randn(1600, 8)
coef = torch.tensor([1.0, -0.8, 0.6, 0.5, -0.4, 0.3, 0.0, 0.0])
power = X @ coef + 0.7 * X[:, 6] * X[:, 7] + 0.1 * torch.randn(1600)
power = ((power - power.mean()) / power.std()).unsqueeze(1)
X_train, X_val, p_train, p_val = X[:1300], X[1300:], power[:1300], power[1300:]


class Regressor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 50)
        self.fc2 = nn.Linear(50, 50)
        self.fc3 = nn.Linear(50, 50)
        self.fc4 = nn.Linear(50, 1)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        x = self.relu(self.fc3(x))
        return self.fc4(x)


model = Regressor()
optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
criterion = nn.SmoothL1Loss()

for epoch in range(20):
    model.train()
    batches = torch.randperm(1300).split(65)
    train_loss = 0.0
    for b in batches:
        optimizer.zero_grad()
        loss = criterion(model(X_train[b]), p_train[b])
        loss.backward()
        optimizer.step()
        train_loss += loss.item() / len(batches)
    scheduler.step()
    model.eval()
    with torch.no_grad():
        pred = model(X_val)
        val_loss = criterion(pred, p_val).item()
    if epoch % 2 == 0:
        print(f"epoch {epoch:2d} train {train_loss:.4f} val {val_loss:.4f} spread of predictions {pred.std().item():.4f}")
