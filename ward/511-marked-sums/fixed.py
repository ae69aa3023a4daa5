import torch
import torch.nn as nn


class LSTMCell(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.n_hidden = n_hidden
        self.gates = nn.Linear(n_in + n_hidden, 4 * n_hidden)
        with torch.no_grad():
            self.gates.bias.zero_()
            self.gates.bias[n_hidden:2 * n_hidden].fill_(4.0)      # remember by default

    def forward(self, x, state):
        h, c = state
        i, f, o, g = self.gates(torch.cat([x, h], dim=1)).chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, c


class Adder(nn.Module):
    def __init__(self, n_hidden=20):
        super().__init__()
        self.cell = LSTMCell(2, n_hidden)
        self.readout = nn.Linear(n_hidden, 1)

    def forward(self, seq):
        batch = seq.shape[1]
        h = c = seq.new_zeros(batch, self.cell.n_hidden)
        for x in seq:
            h, c = self.cell(x, (h, c))
        return self.readout(h).squeeze(1)


def adding_problem(batch, length=16):
    """Two channels: values in [-1, 1] and a marker; the target is the sum of the two marked values."""
    values = torch.rand(length, batch) * 2 - 1
    marks = torch.zeros(length, batch)
    first = torch.randint(0, length // 2, (batch,))
    second = torch.randint(length // 2, length, (batch,))
    cols = torch.arange(batch)
    marks[first, cols] = 1
    marks[second, cols] = 1
    return torch.stack([values, marks], dim=2), (values * marks).sum(0)


torch.manual_seed(13)
model = Adder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
val_x, val_y = adding_problem(500)
for step in range(1, 251):
    x, y = adding_problem(64)
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 25 == 0:
        with torch.no_grad():
            v = nn.functional.mse_loss(model(val_x), val_y)
        print(f"step {step:3d} train mse {loss.item():.4f} val mse {v.item():.4f}")
