import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

# retention time of peptides (indexed sequence -> scalar), LSTM regressor
rng = np.random.default_rng(4)
torch.manual_seed(4)

AA = "ACDEFGHIKLMNPQRSTVWY"
hydro = dict(zip(AA, [1.8, 2.5, -3.5, -3.5, 2.8, -0.4, -3.2, 4.5, -3.9, 3.8, 1.9, -3.5, -1.6, -3.5, -4.5, -0.8, -0.7, 4.2, -0.9, -1.3]))


def peptides(n):
    seqs, rts = [], []
    for _ in range(n):
        length = rng.integers(6, 13)
        s = "".join(rng.choice(list(AA), length))
        v = sum(hydro[a] for a in s) + 1.5 * hydro[s[0]] + 6 * np.log(length)
        seqs.append(s)
        rts.append(40 + 2.0 * v + rng.normal(0, 1.0))
    return seqs, np.array(rts, dtype=np.float32)


def encode(seqs):
    lengths = torch.tensor([len(s) for s in seqs])
    ids = [torch.tensor([AA.index(a) + 1 for a in s]) for s in seqs]
    return pad_sequence(ids, batch_first=True), lengths


seqs, rt = peptides(2400)
x, lens = encode(seqs)
mean, std = rt[:2000].mean(), rt[:2000].std()
y = torch.from_numpy((rt - mean) / std).unsqueeze(1)


class RTModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(AA) + 1, 12, padding_idx=0)
        self.lstm = nn.LSTM(12, 32, batch_first=True)
        self.dense = nn.Linear(32, 24)
        self.out = nn.Linear(24, 1)

    def forward(self, ids, lengths):
        h, _ = self.lstm(self.emb(ids))
        last = h[torch.arange(len(ids)), lengths - 1]
        z = torch.relu(self.dense(last))
        return self.out(z)


model = RTModel()
loss_fn = nn.MSELoss()
opt = torch.optim.Adam(model.parameters(), lr=4e-3)
history = {"loss": [], "val": []}

for epoch in range(8):
    model.train()
    order = torch.randperm(2000)
    tot = 0
    for b in range(0, 2000, 50):
        j = order[b:b + 50]
        pred = model(x[j], lens[j])
        loss = loss_fn(pred, y[j])
        opt.zero_grad()
        loss.backward()
        opt.step()
        tot += loss.item() * len(j)
    model.eval()
    with torch.no_grad():
        pv = model(x[2000:], lens[2000:])
        val = loss_fn(pv, y[2000:]).item()
    history["loss"].append(tot / 2000)
    history["val"].append(val)
    r = np.corrcoef(pv[:, 0].numpy() + 1e-9 * rng.random(400), y[2000:, 0].numpy())[0, 1]
    print(f"epoch {epoch + 1} - loss: {tot / 2000:.4f} - val_loss: {val:.4f} - pearson: {r:.3f}")
