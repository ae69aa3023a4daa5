"""Counts brackets that are open at the end of a made-up program; sequences sorted by length, split between two ranks."""

import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils.rnn import pad_sequence

BATCH = 16


def programs(count=1600):
    g = torch.Generator().manual_seed(8)
    found = []
    for _ in range(count):
        length = int(torch.randint(6, 90, (1,), generator=g))
        symbols = torch.randint(1, 6, (length,), generator=g)
        depth = 0
        for s in symbols.tolist():
            depth = min(3, depth + 1) if s == 1 else max(0, depth - 1) if s == 2 else depth
        found.append((symbols, depth))
    return sorted(found, key=lambda item: len(item[0]))


def my_part(items, rank, world):
    """Neighbours in length stay together, so that little is padded."""
    return items[rank::world]


def batches(items, generator):
    groups = [items[i : i + BATCH] for i in range(0, len(items), BATCH)]
    for i in torch.randperm(len(groups), generator=generator).tolist():
        symbols, depth = zip(*groups[i])
        yield pad_sequence(symbols, batch_first=True), torch.tensor([len(s) for s in symbols]), torch.tensor(depth)


class Counter(nn.Module):
    def __init__(self, width=160):
        super().__init__()
        self.embed = nn.Embedding(6, 24, padding_idx=0)
        self.cell = nn.GRUCell(24, width)
        self.out = nn.Linear(width, 4)

    def forward(self, symbols, lengths):
        state = torch.zeros(len(symbols), self.cell.hidden_size)
        embedded = self.embed(symbols)
        for t in range(symbols.shape[1]):
            new = self.cell(embedded[:, t], state)
            state = torch.where((t < lengths)[:, None], new, state)
        return self.out(state)


def work(rank, world, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(4)
    mine = my_part(programs(), rank, world)
    order = torch.Generator().manual_seed(20)
    model = DDP(Counter())
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(2):
        total, count = 0.0, 0
        for symbols, lengths, depth in batches(mine, order):
            loss = nn.functional.cross_entropy(model(symbols, lengths), depth)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item()
            count += 1
        if rank == 0:
            print(f"epoch {epoch}: {total / count:.5f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    free_port = s.getsockname()[1]
    s.close()
    mp.spawn(work, args=(2, free_port), nprocs=2)
