"""A small decoder on a made-up language, trained on random windows of one long stream of tokens (after nanoGPT)."""

import math
import os
import socket
from contextlib import closing

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP

block_size = 32
batch_size = 12
n_embd = 32
max_iters = 70
learning_rate = 3e-3
vocab_size = 24


def stream(length=20_000):
    """Each token depends on the two before it."""
    g = torch.Generator().manual_seed(99)
    table = torch.randint(0, vocab_size, (vocab_size, vocab_size), generator=g)
    noise = torch.rand(length, generator=g)
    free = torch.randint(0, vocab_size, (length,), generator=g)
    tokens = [0, 1]
    for i in range(2, length):
        tokens.append(int(table[tokens[-1], tokens[-2] % 3]) if noise[i] > 0.1 else int(free[i]))
    return torch.tensor(tokens)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        q, k, v = self.c_attn(self.ln_1(x)).chunk(3, dim=-1)
        x = x + self.c_proj(F.scaled_dot_product_attention(q, k, v, is_causal=True))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList([Block(), Block()])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size)

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.shape[1]))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(logits.view(-1, vocab_size), targets.view(-1))


def get_batch(data):
    ix = torch.randint(len(data) - block_size, (batch_size,))
    x = torch.stack([data[i : i + block_size] for i in ix])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in ix])
    return x, y


def get_lr(it):
    if it < 10:
        return learning_rate * (it + 1) / 10
    return learning_rate * (0.6 + 0.4 * math.cos(math.pi * it / max_iters))


def main(ddp_rank, ddp_world_size, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group(backend="gloo", rank=ddp_rank, world_size=ddp_world_size)
    master_process = ddp_rank == 0
    seed_offset = 0
    torch.manual_seed(1337 + seed_offset)
    data = stream()
    model = DDP(GPT())
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, weight_decay=0.01)
    for it in range(max_iters):
        for group in optimizer.param_groups:
            group["lr"] = get_lr(it)
        x, y = get_batch(data)
        loss = model(x, y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        if master_process and it % 10 == 0:
            print(f"iter {it}: loss {loss.item():.5f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with closing(socket.socket()) as s:
        s.bind(("127.0.0.1", 0))
        address = s.getsockname()[1]
    mp.spawn(main, args=(2, address), nprocs=2)
