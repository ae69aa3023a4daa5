"""The reader knows digits 0-4; a second delivery of scans adds 5-9."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

torch.manual_seed(10)
d = load_digits()
X = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16
y = torch.tensor(d.target)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, stratify=y, random_state=10)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                                  nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.fc = nn.Sequential(nn.Flatten(), nn.Dropout(0.2), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10))

    def forward(self, x):
        return self.fc(self.conv(x))


def part(X, y, digits):
    keep = torch.isin(y, torch.tensor(digits))
    return X[keep], y[keep]


def score(model, data):
    model.eval()
    with torch.no_grad():
        out = model(data[0])
    return F.cross_entropy(out, data[1]).item(), (out.argmax(1) == data[1]).float().mean().item()


def fit(model, data, lr, epochs, watch):
    X, y = data
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=epochs)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for ids in torch.randperm(len(y)).split(32):
            loss = F.cross_entropy(model(X[ids]), y[ids])
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(ids)
        sched.step()
        if epoch % 4 == 3:
            vl, va = score(model, watch)
            print(f"  epoch {epoch + 1:2d} train {total / len(y):.4f} val {vl:.4f} acc {va:.3f}")


first, second = [0, 1, 2, 3, 4], [5, 6, 7, 8, 9]
first_train, first_test = part(X_train, y_train, first), part(X_test, y_test, first)
second_train, second_test = part(X_train, y_train, second), part(X_test, y_test, second)

model = Reader()
print("digits 0-4")
fit(model, first_train, lr=2e-3, epochs=20, watch=first_test)
print("digits 0-4 test accuracy %.3f" % score(model, first_test)[1])

print("adding digits 5-9")
both_train = torch.cat([first_train[0], second_train[0]]), torch.cat([first_train[1], second_train[1]])
fit(model, both_train, lr=2e-3, epochs=20, watch=(X_test, y_test))
print("digits 5-9 test accuracy %.3f" % score(model, second_test)[1])
print("all digits test accuracy %.3f" % score(model, (X_test, y_test))[1])
