"""Which of six bells rang first and which rang last? GRU on event sequences, minGPT-like optimizer set-up."""
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

cfg = SimpleNamespace(bells=6, length=8, dim=24, hidden=48, lr=8e-3, weight_decay=0.01, batch=64, steps=320, seed=27)


class BellModel(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(cfg.bells + 1, cfg.dim)
        self.rnn = nn.GRU(cfg.dim, cfg.hidden, batch_first=True)
        self.ln = nn.LayerNorm(cfg.hidden)
        self.head = nn.Linear(cfg.hidden, 2 * cfg.bells)

    def configure_optimizers(self):
        """Weight decay for matrices only; biases, norms and embeddings go without."""
        decay, no_decay = set(), set()
        for mn, m in self.named_modules():
            for pn, p in m.named_parameters(recurse=False):
                name = f"{mn}.{pn}" if mn else pn
                if pn.startswith("bias"):
                    no_decay.add(name)
                elif pn.startswith("weight") and isinstance(m, (nn.Linear, nn.GRU)):
                    decay.add(name)
                elif pn.endswith("weight") and isinstance(m, (nn.LayerNorm, nn.Embedding)):
                    no_decay.add(name)
        params = dict(self.named_parameters())
        groups = [
            {"params": [params[n] for n in sorted(decay)], "weight_decay": self.cfg.weight_decay},
            {"params": [params[n] for n in sorted(no_decay)], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=self.cfg.lr)

    def forward(self, ids, targets=None):
        out, _ = self.rnn(self.embed(ids))
        logits = self.head(self.ln(out[:, -1])).view(-1, 2, self.cfg.bells)
        loss = None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


def ring(n, g):
    """0 is silence; the sequence has bells at random moments."""
    ids = torch.randint(1, cfg.bells + 1, (n, cfg.length), generator=g)
    quiet = torch.rand(n, cfg.length, generator=g) < 0.35
    quiet[:, 2] = False
    ids = ids.masked_fill(quiet, 0)
    on = (ids > 0).int()
    first = ids.gather(1, on.argmax(1, keepdim=True))
    last = ids.gather(1, cfg.length - 1 - on.flip(1).argmax(1, keepdim=True))
    return ids, torch.cat([first, last], dim=1) - 1


torch.manual_seed(cfg.seed)
g = torch.Generator().manual_seed(cfg.seed)
test_ids, test_targets = ring(500, torch.Generator().manual_seed(1))
model = BellModel(cfg)
optimizer = model.configure_optimizers()
for it in range(1, cfg.steps + 1):
    ids, targets = ring(cfg.batch, g)
    _, loss = model(ids, targets)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if it % 40 == 0 or it == cfg.steps:
        with torch.no_grad():
            logits, test_loss = model(test_ids, test_targets)
        acc = (logits.argmax(-1) == test_targets).float().mean(0)
        print(f"iter {it:4d}: train {loss.item():.4f} test {test_loss.item():.4f} first {acc[0]:.2f} last {acc[1]:.2f}")
