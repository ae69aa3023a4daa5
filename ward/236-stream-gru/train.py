# a long stream, trained in chunks; the hidden state is carried over
import torch
import torch.nn as nn

torch.manual_seed(0)
STREAMS, CHUNK, HID = 32, 20, 24


def make_stream(n_steps, streams):
    """x is a random bit, y is the parity-like memory: x[t-1] xor x[t-3]"""
    x = torch.randint(0, 2, (n_steps, streams))
    y = torch.zeros_like(x)
    y[3:] = x[2:-1] ^ x[:-3]
    return x.float().unsqueeze(-1), y


class Memory(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, HID)
        self.read = nn.Sequential(nn.Linear(HID, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, x, h):
        o, h = self.gru(x, h)
        return self.read(o), h


net = Memory()
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
ce = nn.CrossEntropyLoss()
x, y = make_stream(CHUNK * 200, STREAMS)
xv, yv = make_stream(400, 8)
h = torch.zeros(1, STREAMS, HID)
acc_loss = 0.0
for c in range(200):
    xc, yc = x[c * CHUNK:(c + 1) * CHUNK], y[c * CHUNK:(c + 1) * CHUNK]
    out, h = net(xc, h.detach())
    loss = ce(out.flatten(0, 1), yc.flatten())
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 5.0)
    opt.step()
    acc_loss += loss.item()
    if (c + 1) % 20 == 0:
        net.eval()
        with torch.no_grad():
            ov, _ = net(xv, torch.zeros(1, 8, HID))
            v, a = ce(ov.flatten(0, 1), yv.flatten()).item(), (ov.argmax(-1) == yv).float().mean().item()
        net.train()
        print(f"chunk {c + 1} loss {acc_loss / 20:.4f} val {v:.4f} acc {a:.3f}")
        acc_loss = 0.0
