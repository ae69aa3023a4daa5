import math
import torch
import torch.nn as nn

torch.manual_seed(3)
n, T = 2400, 24


def waves(n):
    """sine, square, sawtooth and triangle, random frequency and phase, some noise"""
    kind = torch.randint(0, 4, (n,))
    freq = 1.5 + torch.rand(n, 1)
    phase = (freq * torch.linspace(0, 1, T) + torch.rand(n, 1)) % 1
    shapes = torch.stack([torch.sin(2 * math.pi * phase), torch.sign(phase - 0.5), 2 * phase - 1,
                          4 * (phase - 0.5).abs() - 1], dim=1)
    x = shapes[torch.arange(n), kind] + 0.1 * torch.randn(n, T)
    return x.unsqueeze(-1), kind


class WaveLSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(1, 32, batch_first=True)
        self.fc = nn.Linear(32, 4)

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.fc(out.max(1).values)


x_train, y_train = waves(n)
x_test, y_test = waves(600)
model = WaveLSTM()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005)

for epoch in range(7):
    model.train()
    perm = torch.randperm(n)
    epoch_loss = 0
    for i in range(0, n, 60):
        batch = perm[i:i + 60]
        optimizer.zero_grad()
        output = model(x_train[batch])
        loss = criterion(output, y_train[batch])
        loss.backward()
        optimizer.step()
        epoch_loss += loss.item()

    model.eval()
    with torch.no_grad():
        test_out = model(x_test)
        test_loss = criterion(test_out, y_test)
        correct = (test_out.argmax(1) == y_test).sum().item()
    print('Epoch %d, loss %.4f, test loss %.4f, test accuracy %.1f%%' % (
        epoch + 1, epoch_loss / (n // 60), test_loss, 100 * correct / 600))
