"""Which of six bells rings, from a short spectrogram."""
import torch
import torch.nn as nn


class BellNet(nn.Module):
    def __init__(self, bells):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(16, 24, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(24, 8, 3, padding=1),
            nn.ReLU(),
        )
        self.classify = nn.Linear(48, bells)

    def forward(self, x):
        z = self.features(x)
        z = z.view(-1, 48)
        return self.classify(z)


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        output = self.model(x)
        loss = self.criterion(output, y)
        loss.backward()
        self.optimizer.step()
        return loss.item()


def recordings(n):
    bell = torch.randint(0, 6, (n,))
    bands = torch.arange(16.0)
    tone = torch.exp(-((bands[None] - 2.5 * bell[:, None] - 1) ** 2) / 2)
    decay = torch.exp(-torch.arange(24.0) / 8)
    return tone[:, :, None] * decay + 0.2 * torch.rand(n, 16, 24), bell


torch.manual_seed(91)
x, y = recordings(960)
trainer = Trainer(BellNet(6), 3e-3)
for epoch in range(8):
    for part in torch.randperm(len(x)).split(48):
        loss = trainer.step(x[part], y[part])
    print(f"epoch {epoch}  {loss:.3f}")
