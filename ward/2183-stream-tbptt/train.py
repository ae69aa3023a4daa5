"""GRU over one long event stream, read in order; the state is carried over and cut between chunks."""
import numpy as np
import torch
import torch.nn as nn

STREAMS, CHUNK, SYMBOLS = 24, 30, 12
torch.manual_seed(43)


def event_stream(n, seed):
    """A machine with three operating modes; within a mode, symbols follow that mode's own cycle with slips."""
    rng = np.random.default_rng(seed)
    orders = np.random.default_rng(5).permuted(np.tile(np.arange(SYMBOLS), (3, 1)), axis=1)
    mode, place, out = 0, 0, []
    for _ in range(n):
        if rng.random() < 0.01:
            mode = rng.integers(3)
        place = (place + 1) % SYMBOLS if rng.random() < 0.92 else rng.integers(SYMBOLS)
        out.append(orders[mode, place])
    return torch.tensor(np.array(out))


def chunks(stream):
    width = len(stream) // STREAMS
    table = stream[:width * STREAMS].view(STREAMS, width)
    for at in range(0, width - 1, CHUNK):
        end = min(at + CHUNK, width - 1)
        yield table[:, at:end], table[:, at + 1:end + 1]


class StreamModel(nn.Module):
    def __init__(self, dim=24, hidden=48):
        super().__init__()
        self.emb, self.rnn, self.out = nn.Embedding(SYMBOLS, dim), nn.GRU(dim, hidden, batch_first=True), nn.Linear(hidden, SYMBOLS)

    def forward(self, x, state=None):
        h, state = self.rnn(self.emb(x), state)
        return self.out(h), state


def run(model, stream, optimizer=None, scheduler=None):
    state, total, right, n = None, 0.0, 0, 0
    model.train(optimizer is not None)
    for x, y in chunks(stream):
        if state is not None:
            state = state.detach()
        with torch.set_grad_enabled(optimizer is not None):
            out, state = model(x, state)
            loss = nn.functional.cross_entropy(out.flatten(0, 1), y.flatten())
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            scheduler.step()
        total += loss.item() * y.numel()
        right += (out.argmax(-1) == y).sum().item()
        n += y.numel()
    return total / n, right / n


train, valid = event_stream(60000, 1), event_stream(15000, 2)
model = StreamModel()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
per_epoch = sum(1 for _ in chunks(train))
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=8 * per_epoch)
for epoch in range(1, 9):
    loss, acc = run(model, train, optimizer, scheduler)
    vloss, vacc = run(model, valid)
    print(f"epoch {epoch}  train {loss:.4f} ({acc:.3f})  valid {vloss:.4f} ({vacc:.3f})")
