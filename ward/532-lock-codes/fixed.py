"""Read a stream of bits with a GRU and answer, at the end, which of the eight switches were seen in state 1."""
import argparse

import torch
import torch.nn as nn

p = argparse.ArgumentParser()
p.add_argument("--switches", type=int, default=8)
p.add_argument("--hidden", type=int, default=32)
p.add_argument("--steps", type=int, default=300)
p.add_argument("--batch", type=int, default=64)
p.add_argument("--lr", type=float, default=1e-2)
args = p.parse_args()
torch.manual_seed(18)


class LockReader(nn.Module):
    def __init__(self, switches, hidden):
        super().__init__()
        self.gru = nn.GRU(2 * switches, hidden)
        self.answer = nn.Linear(hidden, switches)

    def forward(self, stream):
        _, h = self.gru(stream)
        return self.answer(h.squeeze(0))


def stream(batch):
    """Switches report once each, in random order: one-hot of (switch, state). Time first."""
    k = args.switches
    order = torch.rand(batch, k).argsort(dim=1)
    state = torch.randint(0, 2, (batch, k))
    token = order + k * state.gather(1, order)
    return nn.functional.one_hot(token, 2 * k).float().transpose(0, 1), state.float()


model = LockReader(args.switches, args.hidden)
opt = torch.optim.Adam(model.parameters(), lr=args.lr)
bce = nn.BCEWithLogitsLoss()
val_x, val_y = stream(400)
recent = []
for step in range(1, args.steps + 1):
    x, y = stream(args.batch)
    loss = bce(model(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    recent.append(loss.item())
    if step % 30 == 0:
        with torch.no_grad():
            out = model(val_x)
        right = ((out > 0) == (val_y > 0.5)).float().mean().item()
        print(f"step {step:4d}  train {sum(recent) / len(recent):.4f}  val {bce(out, val_y).item():.4f}  bits right {right:.3f}")
        recent = []
