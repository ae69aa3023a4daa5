"""Next character of a calendar rhyme, LSTM over text windows."""
import calendar
import random

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

CONFIG = {"context": 24, "width": 48, "batch": 24, "lr": 5e-3, "windows": 2640, "seed": 0,
          "passes": 3}


def rhyme(lines, rng):
    out = []
    for _ in range(lines):
        year, month = rng.randint(1900, 1999), rng.randint(1, 12)
        out.append(f"{calendar.month_name[month].lower()} has {calendar.monthrange(year, month)[1]} days\n")
    return "".join(out)


class Windows(Dataset):
    def __init__(self, ids, context, count, seed):
        g = torch.Generator().manual_seed(seed)
        self.ids, self.context = ids, context
        self.starts = torch.randint(len(ids) - context - 1, (count,), generator=g)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        s = self.starts[i]
        return self.ids[s:s + self.context], self.ids[s + 1:s + self.context + 1]


class CharLSTM(nn.Module):
    def __init__(self, vocab, width):
        super().__init__()
        self.embed = nn.Embedding(vocab, 16)
        self.lstm = nn.LSTM(16, width, batch_first=True)
        self.out = nn.Linear(width, vocab)

    def forward(self, x):
        return self.out(self.lstm(self.embed(x))[0])


def main(cfg):
    torch.manual_seed(cfg["seed"])
    rng = random.Random(cfg["seed"])
    text, held = rhyme(1500, rng), rhyme(300, rng)
    chars = sorted(set(text))
    encode = lambda t: torch.tensor([chars.index(c) for c in t])
    train = DataLoader(Windows(encode(text), cfg["context"], cfg["windows"], 1), batch_size=cfg["batch"], shuffle=True)
    val_x, val_y = next(iter(DataLoader(Windows(encode(held), cfg["context"], 200, 2), batch_size=200)))
    model = CharLSTM(len(chars), cfg["width"])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    loss_fn = nn.CrossEntropyLoss()
    step, recent = 0, []
    for _ in range(cfg["passes"]):
        for x, y in train:
            model.train()
            loss = loss_fn(model(x).transpose(1, 2), y)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            recent.append(loss.item())
            step += 1
            if step % 10 == 0:
                model.eval()
                with torch.no_grad():
                    val = loss_fn(model(val_x).transpose(1, 2), val_y).item()
                print(f"step {step}: train {sum(recent) / len(recent):.3f} val {val:.3f}")
                recent = []


main(CONFIG)
