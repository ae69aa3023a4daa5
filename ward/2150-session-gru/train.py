"""Which kind of visitor produced this click session?  (GRU over variable-length sessions)"""
import numpy as np
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

N_PAGES, N_KINDS = 24, 4
torch.manual_seed(11)


class Sessions(Dataset):
    def __init__(self, n, seed):
        rng = np.random.default_rng(seed)
        chains = np.random.default_rng(99).dirichlet(np.full(N_PAGES, 0.35), size=(N_KINDS, N_PAGES))
        self.kind = rng.integers(0, N_KINDS, n)
        self.clicks = []
        for k in self.kind:
            page, visit = rng.integers(N_PAGES), []
            for _ in range(rng.integers(6, 22)):
                visit.append(page)
                page = rng.choice(N_PAGES, p=chains[k, page])
            self.clicks.append(torch.tensor(visit) + 1)      # 0 is padding

    def __len__(self):
        return len(self.clicks)

    def __getitem__(self, i):
        return self.clicks[i], int(self.kind[i])


def collate(samples):
    clicks, kinds = zip(*samples)
    kinds = torch.tensor(kinds)
    lengths = torch.tensor([len(c) for c in clicks])
    lengths, order = lengths.sort(descending=True)
    padded = pad_sequence([clicks[i] for i in order.tolist()], batch_first=True)
    return padded, lengths, kinds


class VisitorNet(nn.Module):
    def __init__(self, dim=24, hidden=40):
        super().__init__()
        self.emb = nn.Embedding(N_PAGES + 1, dim, padding_idx=0)
        self.rnn = nn.GRU(dim, hidden, batch_first=True)
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(hidden, N_KINDS)

    def forward(self, padded, lengths):
        packed = pack_padded_sequence(self.emb(padded), lengths, batch_first=True)
        _, h = self.rnn(packed)
        return self.head(self.drop(h[-1]))


def evaluate(model, loader, criterion):
    model.eval()
    loss = right = seen = 0
    with torch.no_grad():
        for padded, lengths, kinds in loader:
            out = model(padded, lengths)
            loss += criterion(out, kinds).item() * len(kinds)
            right += (out.argmax(1) == kinds).sum().item()
            seen += len(kinds)
    return loss / seen, right / seen


def main(epochs=7):
    train = DataLoader(Sessions(9000, 0), batch_size=64, shuffle=True, collate_fn=collate)
    valid = DataLoader(Sessions(1000, 1), batch_size=250, collate_fn=collate)
    model = VisitorNet()
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        model.train()
        total = 0.0
        for padded, lengths, kinds in train:
            optimizer.zero_grad()
            loss = criterion(model(padded, lengths), kinds)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item() * len(kinds)
        scheduler.step()
        vloss, vacc = evaluate(model, valid, criterion)
        print(f"epoch {epoch + 1:2d}  train {total / len(train.dataset):.4f}  valid {vloss:.4f}  acc {vacc:.3f}")


if __name__ == "__main__":
    main()
