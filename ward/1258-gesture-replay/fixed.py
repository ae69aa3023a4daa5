"""Sequence autoencoder for pen gestures: a GRU encodes 12 positions, a GRU decoder replays them from the code."""
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, features, code):
        super().__init__()
        self.rnn = nn.GRU(features, 48, batch_first=True)
        self.to_code = nn.Linear(48, code)

    def forward(self, x):
        _, h = self.rnn(x)
        return self.to_code(h[-1])


class Decoder(nn.Module):
    def __init__(self, features, code, seq_len):
        super().__init__()
        self.seq_len, self.code = seq_len, code
        self.clock = nn.Parameter(torch.randn(1, seq_len, 8) * 0.3)
        self.rnn = nn.GRU(code + 8, 48, batch_first=True)
        self.out = nn.Linear(48, features)

    def forward(self, z):
        steps = z.repeat(1, self.seq_len).reshape(-1, self.seq_len, self.code)
        steps = torch.cat([steps, self.clock.expand(len(steps), -1, -1)], dim=2)
        h, _ = self.rnn(steps)
        return self.out(h)


class RecurrentAutoencoder(nn.Module):
    def __init__(self, seq_len=12, features=2, code=8):
        super().__init__()
        self.encoder = Encoder(features, code)
        self.decoder = Decoder(features, code, seq_len)

    def forward(self, x):
        return self.decoder(self.encoder(x))


def gestures(n, seq_len=12):
    t = torch.linspace(0, 1, seq_len)
    amp, phase = torch.randn(2, n, 2, 1)
    start = 0.5 * torch.randn(n, 2, 1)
    xy = start + amp * torch.sin(4.5 * t + phase)
    return (xy + 0.03 * torch.randn(n, 2, seq_len)).transpose(1, 2).contiguous()


def train_model(model, train, val, n_epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=n_epochs)
    criterion = nn.MSELoss()
    history = dict(train=[], val=[])
    for epoch in range(1, n_epochs + 1):
        model.train()
        losses = []
        for idx in torch.randperm(len(train)).split(50):
            seq = train[idx]
            optimizer.zero_grad()
            loss = criterion(model(seq), seq)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        model.eval()
        with torch.no_grad():
            val_loss = criterion(model(val), val).item()
        history["train"].append(sum(losses) / len(losses))
        history["val"].append(val_loss)
        print(f"Epoch {epoch}: train loss {history['train'][-1]:.4f} val loss {val_loss:.4f}")
    return history


if __name__ == "__main__":
    torch.manual_seed(15)
    data = gestures(1400)
    train_model(RecurrentAutoencoder(), data[:1200], data[1200:], n_epochs=9)
