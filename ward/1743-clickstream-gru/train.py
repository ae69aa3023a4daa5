import torch
import torch.nn as nn
from torch.utils.data import DataLoader

MAX_LEN = 100
PAGES, USERS = 24, ["buyer", "browser", "researcher", "bot"]


def sessions(n, gen):
    """Sessions as lists of page ids (1..PAGES), each user type moves through the shop in its own way."""
    fixed = torch.Generator().manual_seed(99)
    moves = torch.softmax(2.0 * torch.randn(len(USERS), PAGES, PAGES, generator=fixed), dim=-1)
    rows = []
    for _ in range(n):
        user = int(torch.randint(len(USERS), (1,), generator=gen))
        length = min(MAX_LEN, 8 + int(torch.empty(1).exponential_(1 / 10, generator=gen)))
        page = int(torch.randint(PAGES, (1,), generator=gen))
        trail = [page + 1]
        for _ in range(length - 1):
            page = int(torch.multinomial(moves[user, page], 1, generator=gen))
            trail.append(page + 1)
        rows.append((trail, user))
    return rows


def collate(rows):
    """Newest click in the last column."""
    longest = max(len(trail) for trail, _ in rows)
    x = torch.zeros(len(rows), longest, dtype=torch.long)
    for i, (trail, _) in enumerate(rows):
        x[i, longest - len(trail):] = torch.tensor(trail)
    return x, torch.tensor([user for _, user in rows])


def collate_eval(rows):
    """One shape for every batch."""
    x = torch.zeros(len(rows), MAX_LEN, dtype=torch.long)
    for i, (trail, _) in enumerate(rows):
        x[i, :len(trail)] = torch.tensor(trail)
    return x, torch.tensor([user for _, user in rows])


class SessionModel(nn.Module):
    def __init__(self, dim=24, hidden=48):
        super().__init__()
        self.emb = nn.Embedding(PAGES + 1, dim, padding_idx=0)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(hidden, len(USERS))

    def forward(self, x):
        _, h = self.gru(self.emb(x))
        return self.out(self.drop(h[-1]))


def main():
    torch.manual_seed(15)
    gen = torch.Generator().manual_seed(15)
    train_dl = DataLoader(sessions(2200, gen), batch_size=50, shuffle=True, collate_fn=collate)
    valid_dl = DataLoader(sessions(500, gen), batch_size=100, collate_fn=collate_eval)

    model = SessionModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, 9):
        model.train()
        train_loss = train_hits = 0.0
        for x, y in train_dl:
            out = model(x)
            loss = criterion(out, y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            train_loss += loss.item() * len(y)
            train_hits += (out.argmax(1) == y).sum().item()

        model.eval()
        valid_loss = valid_hits = 0.0
        with torch.no_grad():
            for x, y in valid_dl:
                out = model(x)
                valid_loss += criterion(out, y).item() * len(y)
                valid_hits += (out.argmax(1) == y).sum().item()
        n, m = len(train_dl.dataset), len(valid_dl.dataset)
        print(f"epoch {epoch:2d}  train {train_loss / n:.4f} ({train_hits / n:.3f})  valid {valid_loss / m:.4f} ({valid_hits / m:.3f})")


if __name__ == "__main__":
    main()
