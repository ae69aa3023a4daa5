"""Decode a substitution cipher written backwards: encoder, decoder with attention, teacher forcing."""
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(51)
LETTERS, PAD, BOS, EOS = 12, 12, 13, 14
V, MAXLEN = 15, 6
key = torch.randperm(LETTERS)


def batch(n):
    length = torch.randint(3, MAXLEN + 1, (n,))
    src = torch.randint(0, LETTERS, (n, MAXLEN))
    pos = torch.arange(MAXLEN)
    pad = pos[None] >= length[:, None]
    back = (length[:, None] - 1 - pos[None]).clamp(min=0)
    tgt = key[src.gather(1, back)]
    src = src.masked_fill(pad, PAD)
    tgt = tgt.masked_fill(pad, PAD)
    out = torch.cat([tgt, torch.full((n, 1), PAD)], 1)
    out[torch.arange(n), length] = EOS
    inp = torch.cat([torch.full((n, 1), BOS), tgt], 1)
    return src, inp, out, length


class Seq2Seq(nn.Module):
    def __init__(self, d=40):
        super().__init__()
        self.emb = nn.Embedding(V, d, padding_idx=PAD)
        self.enc_pos = nn.Parameter(0.3 * torch.randn(MAXLEN, d))
        self.dec_pos = nn.Parameter(0.3 * torch.randn(MAXLEN + 1, d))
        self.len_emb = nn.Embedding(MAXLEN + 1, d)
        self.dec = nn.GRU(d, d, batch_first=True)
        self.q, self.k, self.v = nn.Linear(2 * d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.out = nn.Sequential(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, V))

    def forward(self, src, inp, length):
        memory = self.emb(src) + self.enc_pos
        h, _ = self.dec(self.emb(inp) + self.dec_pos)
        query = self.q(torch.cat([h, self.dec_pos + self.len_emb(length)[:, None]], -1))
        score = query @ self.k(memory).transpose(1, 2) / query.shape[-1] ** 0.5
        score = score.masked_fill((src == PAD)[:, None], float("-inf"))
        ctx = score.softmax(-1) @ self.v(memory)
        return self.out(torch.cat([h, ctx], -1))


model = Seq2Seq()
opt = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=1e-3)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1, (s + 1) / 30) * max(0.05, 1 - s / 340))
held_out = batch(400)

for step in range(321):
    model.train()
    src, inp, out, length = batch(48)
    logits = model(src, inp, length)
    loss = F.cross_entropy(logits.transpose(1, 2), out, ignore_index=PAD)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    opt.step()
    sched.step()
    if step % 40 == 0:
        model.eval()
        with torch.no_grad():
            src, inp, out, length = held_out
            lg = model(src, inp, length)
            vl = F.cross_entropy(lg.transpose(1, 2), out, ignore_index=PAD)
            ok = (lg.argmax(-1) == out)[out != PAD].float().mean()
        print(f"step {step:3d} loss {loss.item():.4f} val {vl.item():.4f} token acc {ok.item():.3f}")
