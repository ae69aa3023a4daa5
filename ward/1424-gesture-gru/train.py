"""Sensor bursts of different length: which of five gestures, and how strong? Bi-GRU on packed sequences, two heads."""
import math

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(21)
KINDS = 5


class Gestures(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(n):
            k = int(torch.randint(0, KINDS, (1,), generator=g))
            n_t = int(torch.randint(12, 33, (1,), generator=g))
            amp = 0.7 + 0.9 * torch.rand(1, generator=g).item()
            ph = torch.rand(1, generator=g).item() * 2 * math.pi
            t = torch.linspace(0, 1, n_t)
            a, b = [(1, 1), (1, 2), (2, 1), (2, 3), (3, 2)][k]
            xs = torch.stack([torch.sin(2 * math.pi * a * t + ph), torch.cos(2 * math.pi * b * t + ph), 2 * t - 1], 1)
            xs[:, :2] *= amp
            xs[:, :2] += 0.15 * torch.randn(n_t, 2, generator=g)
            self.rows.append((xs, k, (amp - 1.15) / 0.26))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(rows):
    rows = sorted(rows, key=lambda r: -len(r[0]))
    seqs, kinds, amps = zip(*rows)
    return {"x": pad_sequence(seqs, batch_first=True), "len": torch.tensor([len(s) for s in seqs]),
            "kind": torch.tensor(kinds), "amp": torch.tensor(amps)}


class TwoHeads(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.inp = nn.Linear(3, 16)
        self.rnn = nn.GRU(16, hidden, batch_first=True, bidirectional=True)
        self.kind = nn.Sequential(nn.Linear(2 * hidden, 32), nn.ReLU(), nn.Linear(32, KINDS))
        self.amp = nn.Sequential(nn.Linear(2 * hidden, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, batch):
        x = torch.relu(self.inp(batch["x"]))
        packed = pack_padded_sequence(x, batch["len"], batch_first=True)
        _, h = self.rnn(packed)
        h = h.view(x.size(0), -1)
        return self.kind(h), self.amp(h).squeeze(1)


train_dl = DataLoader(Gestures(1500, 1), batch_size=32, shuffle=True, collate_fn=collate)
test_dl = DataLoader(Gestures(400, 2), batch_size=100, collate_fn=collate)
net = TwoHeads()
params = [{"params": list(net.inp.parameters()) + list(net.rnn.parameters()), "lr": 3e-3},
          {"params": list(net.kind.parameters()) + list(net.amp.parameters()), "lr": 2e-3}]
opt = torch.optim.Adam(params)
ce, l1 = nn.CrossEntropyLoss(), nn.SmoothL1Loss()


def metrics():
    net.eval()
    hit = n = 0
    err = 0.0
    with torch.no_grad():
        for b in test_dl:
            k, a = net(b)
            hit += (k.argmax(1) == b["kind"]).sum().item()
            err += (a - b["amp"]).abs().sum().item()
            n += len(a)
    return hit / n, err / n


for epoch in range(1, 13):
    net.train()
    sums = [0.0, 0.0]
    for b in train_dl:
        logits, amp = net(b)
        kind_loss = ce(logits, b["kind"])
        amp_loss = l1(amp, b["amp"])
        opt.zero_grad()
        kind_loss.backward(retain_graph=True)
        (0.5 * amp_loss).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        opt.step()
        sums[0] += kind_loss.item()
        sums[1] += amp_loss.item()
    acc, mae = metrics()
    print(f"epoch {epoch:2d} kind {sums[0] / len(train_dl):.3f} amp {sums[1] / len(train_dl):.3f} | test acc {acc:.3f} mae {mae:.3f}")
