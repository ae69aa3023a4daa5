"""Sequence to sequence: the last 24 water levels in, the next 8 out. Encoder and decoder have their own optimizers."""
import torch
import torch.nn as nn
from torch import optim


class EncoderRNN(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.gru = nn.GRU(1, hidden_size, batch_first=True)

    def forward(self, levels):
        _, hidden = self.gru(levels)
        return hidden


class DecoderRNN(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.cell = nn.GRUCell(1, hidden_size)
        self.out = nn.Linear(hidden_size, 1)

    def forward(self, hidden, last, steps, teacher=None):
        h, x, outputs = hidden[0], last, []
        for t in range(steps):
            h = self.cell(x, h)
            y = x + self.out(h)
            outputs.append(y)
            x = y if teacher is None else teacher[:, t]
        return torch.stack(outputs, dim=1)


def windows(n, g, past=24, ahead=8):
    t = torch.arange(past + ahead).float()
    phase = 6.283 * torch.rand(n, 1, generator=g)
    spring = 0.6 + 0.6 * torch.rand(n, 1, generator=g)
    level = spring * torch.sin(6.283 * t / 12.4 + phase) + 0.3 * torch.sin(6.283 * t / 24.8 + 2 * phase)
    level = level + 0.04 * torch.randn(n, past + ahead, generator=g)
    return level[:, :past, None], level[:, past:, None]


class Forecaster(nn.Module):
    def __init__(self, hidden_size):
        super().__init__()
        self.encoder = EncoderRNN(hidden_size)
        self.decoder = DecoderRNN(hidden_size)

    def forward(self, x, steps, teacher=None):
        return self.decoder(self.encoder(x), x[:, -1], steps, teacher)


def train_step(x, y, model, encoder_optimizer, decoder_optimizer, criterion):
    predicted = model(x, y.shape[1], teacher=y)
    loss = criterion(predicted, y)
    loss.backward()
    encoder_optimizer.step()
    decoder_optimizer.step()
    model.zero_grad()
    return loss.item()


def train_iters(model, n_iters, print_every=25, learning_rate=5e-3):
    g = torch.Generator().manual_seed(5)
    x_test, y_test = windows(200, torch.Generator().manual_seed(6))
    encoder_optimizer = optim.Adam(model.encoder.parameters(), lr=learning_rate)
    decoder_optimizer = optim.Adam(model.decoder.parameters(), lr=learning_rate)
    criterion = nn.MSELoss()
    total = 0.0
    for it in range(1, n_iters + 1):
        x, y = windows(32, g)
        total += train_step(x, y, model, encoder_optimizer, decoder_optimizer, criterion)
        if it % print_every == 0:
            with torch.no_grad():
                free = criterion(model(x_test, y_test.shape[1]), y_test).item()
            print(f"{it:4d} ({100 * it / n_iters:3.0f}%)  train {total / print_every:.4f}  test, free running {free:.4f}")
            total = 0.0


if __name__ == "__main__":
    torch.manual_seed(15)
    train_iters(Forecaster(32), 150)
