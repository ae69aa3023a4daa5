"""Two-process GRU tagger for machine event logs of very different lengths."""
import os
import random
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence

EVENTS, WORLD, EPOCHS, BATCH = 30, 2, 5, 25
ALARM, CLEAR = 7, 11


def make_logs(n, seed):
    """Sequences of event codes; the label says whether the last alarm is still open."""
    rng = random.Random(seed)
    logs = []
    for _ in range(n):
        length = rng.randint(5, 14) if rng.random() < 0.5 else rng.randint(60, 140)
        seq = [rng.choice([e for e in range(1, EVENTS) if e not in (ALARM, CLEAR)]) for _ in range(length)]
        for pos in rng.sample(range(length), 4):
            seq[pos] = rng.choice([ALARM, CLEAR])
        last = next(e for e in reversed(seq) if e in (ALARM, CLEAR))
        logs.append((torch.tensor(seq), int(last == ALARM)))
    return logs


def shard(logs, rank):
    logs = sorted(logs, key=lambda item: len(item[0]))  # similar lengths together: less padding
    per_rank = len(logs) // WORLD
    return logs[rank * per_rank:(rank + 1) * per_rank]


def bucket_batches(logs, rng):
    """Batches of neighbours in length, in random order."""
    order = sorted(range(len(logs)), key=lambda i: (len(logs[i][0]), rng.random()))
    groups = [order[i:i + BATCH] for i in range(0, len(order), BATCH)]
    rng.shuffle(groups)
    for g in groups:
        g = [logs[i] for i in g]
        yield (pad_sequence([s for s, _ in g], batch_first=True), torch.tensor([len(s) for s, _ in g]),
               torch.tensor([float(t) for _, t in g]))


class Tagger(nn.Module):
    def __init__(self, dim=24, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(EVENTS, dim, padding_idx=0)
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, seqs, lengths):
        packed = pack_padded_sequence(self.embed(seqs), lengths, batch_first=True, enforce_sorted=False)
        _, h = self.gru(packed)
        return self.out(h[-1]).squeeze(1)


def main(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(2)
    rng = random.Random(50 + rank)
    train = shard(make_logs(2000, seed=1), rank)
    test = make_logs(400, seed=2)

    model = DistributedDataParallel(Tagger())
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=EPOCHS)
    bce = nn.BCEWithLogitsLoss()
    for epoch in range(EPOCHS):
        model.train()
        losses = []
        for seqs, lengths, target in bucket_batches(train, rng):
            loss = bce(model(seqs, lengths), target)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            losses.append(loss.item())
        sched.step()
        model.eval()
        loss = hits = 0
        with torch.no_grad():
            for seqs, lengths, target in bucket_batches(test[rank::WORLD], rng):
                out = model.module(seqs, lengths)
                loss += nn.functional.binary_cross_entropy_with_logits(out, target, reduction="sum").item()
                hits += ((out > 0).float() == target).sum().item()
        stats = torch.tensor([sum(losses) / len(losses) / WORLD, loss / len(test), hits / len(test)])
        dist.all_reduce(stats)
        if rank == 0:
            print("epoch %d train %.4f test %.4f acc %.3f" % (epoch + 1, *stats.tolist()), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(main, args=(port,), nprocs=WORLD)
