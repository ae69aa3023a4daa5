"""Route support tickets to a team. Tickets live in a JSON-lines dump."""
import json
import os
import random
import re
import tempfile
import zlib

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

TEAMS = {
    "billing": "invoice refund charge card payment tax receipt price plan discount vat amount".split(),
    "login": "password reset login account token locked email sso code verify session expired".split(),
    "shipping": "parcel delivery courier tracking late address package box damaged label return depot".split(),
    "app": "crash screen button update android version freeze slow sync install error menu".split(),
}
FILLER = "hello please i my the was is not and still again today since yesterday help thanks you can it with for on a".split()


def write_dump(path, n=1600, seed=0):
    rnd = random.Random(seed)
    with open(path, "w") as f:
        for i in range(n):
            team = rnd.choice(list(TEAMS))
            other = rnd.choice([t for t in TEAMS if t != team])
            words = rnd.choices(FILLER, k=22) + rnd.choices(TEAMS[team], k=4) + rnd.choices(TEAMS[other], k=2)
            rnd.shuffle(words)
            f.write(json.dumps({"id": i, "team": team, "body": " ".join(words), "history": rnd.choices(FILLER, k=24)}) + "\n")


class Tickets(Dataset):
    def __init__(self, path, start, stop, length=28, buckets=1000):
        self.path, self.start, self.stop = path, start, stop
        self.length, self.buckets = length, buckets
        self.teams = sorted(TEAMS)

    def __len__(self):
        return self.stop - self.start

    def encode(self, text):
        return [zlib.crc32(w.encode()) % self.buckets for w in re.findall(r"[a-z]+", text.lower())][: self.length]

    def __getitem__(self, i):
        with open(self.path) as f:
            lines = f.readlines()
        row = json.loads(lines[self.start + i])
        return torch.tensor(self.encode(row["body"])), self.teams.index(row["team"])


class Router(nn.Module):
    def __init__(self, buckets=1000, dim=32, teams=4):
        super().__init__()
        self.emb = nn.Embedding(buckets, dim)
        self.conv = nn.Conv1d(dim, 64, 3, padding=1)
        self.drop = nn.Dropout(0.3)
        self.out = nn.Linear(64, teams)

    def forward(self, ids):
        h = torch.relu(self.conv(self.emb(ids).transpose(1, 2)))
        return self.out(self.drop(h.mean(2)))


def main():
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "tickets.jsonl")
        write_dump(path)
        train = DataLoader(Tickets(path, 0, 1200), batch_size=32, shuffle=True)
        val = DataLoader(Tickets(path, 1200, 1600), batch_size=200)
        model = Router()
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        for epoch in range(9):
            model.train()
            losses = []
            for ids, team in train:
                optimizer.zero_grad()
                loss = nn.functional.cross_entropy(model(ids), team)
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            model.eval()
            with torch.no_grad():
                right = sum((model(ids).argmax(1) == team).sum().item() for ids, team in val)
            print(f"epoch {epoch}: loss {sum(losses) / len(losses):.3f}, routed right {right / 400:.1%}")


if __name__ == "__main__":
    main()
