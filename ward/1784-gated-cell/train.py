"""A minimal gated unit written by hand (Zhou et al. 2016) on row-by-row digits."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.utils.data import DataLoader, TensorDataset


class MinimalGatedUnit(nn.Module):
    def __init__(self, n_in, hidden):
        super().__init__()
        self.hidden = hidden
        self.x_proj = nn.Linear(n_in, 2 * hidden)
        self.h_gate = nn.Linear(hidden, hidden, bias=False)
        self.h_cand = nn.Linear(hidden, hidden, bias=False)
        nn.init.orthogonal_(self.h_gate.weight)
        nn.init.orthogonal_(self.h_cand.weight)

    def forward(self, x):
        xf, xc = self.x_proj(x).chunk(2, dim=-1)  # all time steps at once
        h = x.new_zeros(len(x), self.hidden)
        states = []
        for t in range(x.shape[1]):
            f = torch.sigmoid(xf[:, t] + self.h_gate(h))
            h = (1 - f) * h + f * torch.tanh(xc[:, t] + self.h_cand(f * h))
            states.append(h)
        return torch.stack(states, 1)


class RowReader(nn.Module):
    def __init__(self, hidden=256):
        super().__init__()
        self.rnn = MinimalGatedUnit(8, hidden)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(hidden, 10)

    def forward(self, img):
        return self.out(self.drop(self.rnn(img)[:, -1]))


def evaluate(model, loader):
    model.eval()
    loss = hits = n = 0
    with torch.no_grad():
        for x, y in loader:
            out = model(x)
            loss += F.cross_entropy(out, y, reduction="sum").item()
            hits += (out.argmax(1) == y).sum().item()
            n += len(y)
    return loss / n, hits / n


def main():
    torch.manual_seed(30)
    d = load_digits()
    x, y = torch.tensor(d.images, dtype=torch.float32) / 16, torch.tensor(d.target)
    xt, xv, yt, yv = train_test_split(x, y, test_size=0.25, stratify=y, random_state=30)
    train = DataLoader(TensorDataset(xt, yt), batch_size=128, shuffle=True)
    valid = DataLoader(TensorDataset(xv, yv), batch_size=450)

    model = RowReader()
    epochs = 20
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=3e-3, total_steps=epochs * len(train))
    for epoch in range(1, epochs + 1):
        model.train()
        total = 0.0
        for xb, yb in train:
            loss = F.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
            total += loss.item() * len(yb)
        vl, va = evaluate(model, valid)
        if epoch % 2 == 0:
            print(f"epoch {epoch:2d} train {total / len(yt):.4f} valid {vl:.4f} acc {va:.4f}")


if __name__ == "__main__":
    main()
