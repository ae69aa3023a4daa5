"""Which of four alarms opened the log?  Read the whole log, answer at the end."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LENGTH, KINDS, OTHERS = 50, 4, 6


def logs(n):
    opening = torch.randint(0, KINDS, (n,))
    rest = torch.randint(KINDS, KINDS + OTHERS, (n, LENGTH - 1))
    return TensorDataset(torch.cat([opening[:, None], rest], 1), opening)


class LogReader(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(KINDS + OTHERS, 16)
        self.rnn = nn.LSTM(16, hidden, batch_first=True)
        nn.init.constant_(self.rnn.bias_hh_l0[hidden:2 * hidden], 4.0)
        self.answer = nn.Linear(hidden, KINDS)

    def forward(self, ids):
        out, _ = self.rnn(self.emb(ids))
        return self.answer(out[:, -1])


def main():
    torch.manual_seed(44)
    train, val = DataLoader(logs(2240), batch_size=64, shuffle=True), DataLoader(logs(400), batch_size=200)
    model = LogReader()
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(6):
        model.train()
        run = 0.0
        for ids, first in train:
            loss = nn.functional.cross_entropy(model(ids), first)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            run += loss.item() / len(train)
        model.eval()
        with torch.no_grad():
            res = [(model(ids), first) for ids, first in val]
            vl = sum(nn.functional.cross_entropy(o, f).item() for o, f in res) / len(res)
            acc = sum((o.argmax(1) == f).float().mean().item() for o, f in res) / len(res)
        print(f"epoch {epoch:2d} train {run:.4f} val {vl:.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
