"""A character model on three workers, four micro-batches to a step."""

import contextlib
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

WORLD = 3
CONTEXT = 24
ACCUMULATE = 4
STEPS = 60

TEXT = (
    "the quick brown fox jumps over the lazy dog while a dozen wizards brew very potent juice for the hungry traveller "
    "who came from the far end of the valley and asked nothing but a place to sleep and some bread for the morning "
) * 40
CHARS = sorted(set(TEXT))
IDS = torch.tensor([CHARS.index(c) for c in TEXT])


class CharModel(nn.Module):
    def __init__(self, vocabulary, width=48):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, ids):
        hidden, _ = self.rnn(self.embed(ids))
        return self.head(hidden)


def sample(generator, count=16):
    starts = torch.randint(0, len(IDS) - CONTEXT - 1, (count,), generator=generator)
    x = torch.stack([IDS[s : s + CONTEXT] for s in starts])
    y = torch.stack([IDS[s + 1 : s + CONTEXT + 1] for s in starts])
    return x, y


def run(rank, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=WORLD)
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(100 + rank)
    model = DDP(CharModel(len(CHARS)))
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    for step in range(1, STEPS + 1):
        optimizer.zero_grad(set_to_none=True)
        running = 0.0
        for micro in range(ACCUMULATE):
            x, y = sample(generator)
            last = micro == ACCUMULATE - 1
            with contextlib.nullcontext() if last else model.no_sync():
                loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten()) / ACCUMULATE
                loss.backward()
            running += loss.item()
        optimizer.step()
        if rank == 0 and step % 15 == 0:
            print(f"step {step}: loss {running:.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    os.environ["OMP_NUM_THREADS"] = "1"
    mp.spawn(run, args=(port,), nprocs=WORLD)
