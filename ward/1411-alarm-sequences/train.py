"""Detect intrusions in sequences of alarm-panel events (rare class is sampled more often for training)."""
import numpy as np
import torch
import torch.nn as nn
from sklearn.metrics import average_precision_score, balanced_accuracy_score
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

EVENTS = ["pad", "arm", "disarm", "door", "window", "motion", "code_ok", "code_bad", "heartbeat", "battery", "camera"]
E = {name: i for i, name in enumerate(EVENTS)}


def one_log(rng, intrusion, length=24):
    base = ["heartbeat"] * 8 + ["motion"] * 3 + ["door"] * 3 + ["window", "battery", "camera", "camera", "code_ok", "arm", "disarm", "code_bad"]
    seq = [E[rng.choice(base)] for _ in range(rng.integers(16, length + 1))]
    at = rng.integers(2, len(seq) - 5)
    if intrusion:   # opening, then motion, without a valid code in between
        seq[at] = E[rng.choice(["window", "door"])]
        seq[at + 1:at + 4] = [E[e] for e in rng.permutation(["motion", "code_bad", rng.choice(["motion", "camera"])])]
    elif rng.random() < 0.5:  # the owner comes home
        seq[at:at + 4] = [E[e] for e in ["door", "motion", "code_ok", "disarm"]]
    return seq + [0] * (length - len(seq))


def logs(n, rng):
    y = (rng.random(n) < 0.08).astype("int64")
    x = np.array([one_log(rng, bool(k)) for k in y])
    return TensorDataset(torch.tensor(x), torch.tensor(y))


class LogNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(len(EVENTS), 12, padding_idx=0)
        self.conv = nn.Conv1d(12, 32, 4, padding=2)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(32, 1)

    def forward(self, x):
        h = torch.relu(self.conv(self.emb(x).transpose(1, 2))).amax(2)
        return self.out(self.drop(h)).squeeze(1)


rng = np.random.default_rng(40)
torch.manual_seed(40)
train, val = logs(9000, rng), logs(3000, rng)
y_train, y_val = train.tensors[1], val.tensors[1]
share = y_train.float().mean()
weights = torch.where(y_train == 1, 0.5 / share, 0.5 / (1 - share))
sampler = WeightedRandomSampler(weights, num_samples=6000, replacement=True)
train_dl = DataLoader(train, batch_size=60, sampler=sampler)
val_dl = DataLoader(val, batch_size=500)

net = LogNet()
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
bce = nn.BCEWithLogitsLoss()
prior_shift = torch.log(share / (1 - share))  # back to the natural rate of alarms

for epoch in range(10):
    net.train()
    run = 0.0
    for x, y in train_dl:
        loss = bce(net(x), y.float())
        opt.zero_grad()
        loss.backward()
        opt.step()
        run += loss.item() / len(train_dl)
    net.eval()
    with torch.no_grad():
        logit = torch.cat([net(x) for x, _ in val_dl])
    nat = bce(logit + prior_shift, y_val.float()).item()
    print(f"epoch {epoch + 1:2d} train {run:.4f} (balanced) | val {nat:.4f} (natural rate) "
          f"bal.acc {balanced_accuracy_score(y_val, logit > 0):.3f} AP {average_precision_score(y_val, logit):.3f}")
