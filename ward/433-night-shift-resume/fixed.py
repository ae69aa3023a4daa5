import io
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F

ALPHABET = "abcdefgh "


@dataclass
class Run:
    steps: int
    lr: float
    resume: io.BytesIO | None = None


def text(n, length, gen):
    """Words of a toy language: after a letter comes the third one after it, blanks every 4th place, few slips."""
    start = torch.randint(0, 8, (n, 1), generator=gen)
    place = torch.arange(length)
    word = (start + 3 * place) % 8
    word = torch.where(place % 4 == 3, torch.tensor(8), word)
    slip = torch.rand(n, length, generator=gen) < 0.04
    return torch.where(slip, torch.randint(0, 9, (n, length), generator=gen), word)


class CharGRU(nn.Module):
    def __init__(self, hidden=40):
        super().__init__()
        self.emb = nn.Embedding(len(ALPHABET), 16)
        self.gru = nn.GRU(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, len(ALPHABET))

    def forward(self, x):
        return self.out(self.gru(self.emb(x))[0])


def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)
    elif isinstance(module, nn.Embedding):
        nn.init.normal_(module.weight, std=0.3)
    elif isinstance(module, nn.GRU):
        for name, p in module.named_parameters():
            nn.init.orthogonal_(p) if "weight" in name else nn.init.zeros_(p)


def session(run, gen):
    model = CharGRU()
    model.apply(init_weights)
    if run.resume is not None:
        model.load_state_dict(torch.load(run.resume))
    optimizer = torch.optim.AdamW(model.parameters(), lr=run.lr)
    val = text(200, 16, gen)
    for step in range(1, run.steps + 1):
        batch = text(32, 16, gen)
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            with torch.no_grad():
                v = F.cross_entropy(model(val[:, :-1]).flatten(0, 1), val[:, 1:].flatten()).item()
            print(f"step {step:3d} loss {loss.item():.4f} val {v:.4f}")
    saved = io.BytesIO()
    torch.save(model.state_dict(), saved)
    saved.seek(0)
    return saved


if __name__ == "__main__":
    torch.manual_seed(18)
    gen = torch.Generator().manual_seed(18)
    print("evening")
    saved = session(Run(steps=120, lr=1e-2), gen)
    print("night")
    session(Run(steps=60, lr=5e-4, resume=saved), gen)
