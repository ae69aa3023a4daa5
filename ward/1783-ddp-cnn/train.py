"""1-D CNN on generated ECG-like beats, two gloo processes."""
import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

WORLD_SIZE, EPOCHS, SEED = 2, 10, 17


def beats(n, seed):
    rng = np.random.default_rng(seed)
    t = np.linspace(0, 1, 96)
    kind = rng.integers(0, 3, n)
    centre = rng.uniform(0.4, 0.6, (n, 1))
    width = np.array([0.02, 0.05, 0.02])[kind][:, None] * rng.uniform(0.8, 1.25, (n, 1))
    wave = np.exp(-((t - centre) / width) ** 2) * rng.uniform(0.8, 1.2, (n, 1))
    wave += (kind == 2)[:, None] * -0.5 * np.exp(-((t - centre - 0.12) / 0.04) ** 2)
    wave += 0.2 * rng.normal(size=wave.shape)
    return TensorDataset(torch.tensor(wave[:, None], dtype=torch.float32), torch.tensor(kind))


def conv_net():
    return nn.Sequential(nn.Conv1d(1, 12, 7, stride=2, padding=3), nn.ReLU(), nn.Conv1d(12, 24, 7, stride=2, padding=3),
                         nn.ReLU(), nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Dropout(0.3), nn.Linear(96, 3))


@torch.no_grad()
def evaluate(net, loader):
    net.eval()
    loss = hits = n = 0
    for x, y in loader:
        out = net(x)
        loss += nn.functional.cross_entropy(out, y, reduction="sum").item()
        hits += (out.argmax(1) == y).sum().item()
        n += len(y)
    return loss / n, hits / n


def worker(rank, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD_SIZE)
    torch.manual_seed(SEED + rank)
    train, val = beats(3200, SEED), beats(800, SEED + 1)
    sampler = DistributedSampler(train, num_replicas=WORLD_SIZE, rank=rank, shuffle=True, seed=SEED)
    train_loader = DataLoader(train, batch_size=32, sampler=sampler)
    val_loader = DataLoader(val, batch_size=200)

    ddp = DDP(conv_net())
    opt = torch.optim.Adam(ddp.parameters(), lr=1.5e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=EPOCHS)
    for epoch in range(EPOCHS):
        sampler.set_epoch(epoch)
        ddp.train()
        loss_sum = torch.zeros(1)
        for x, y in train_loader:
            loss = nn.functional.cross_entropy(ddp(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            loss_sum += loss.detach()
        sched.step()
        dist.all_reduce(loss_sum)
        if rank == 0:
            vl, va = evaluate(ddp.module, val_loader)
            print(f"epoch {epoch + 1:2d}  train {loss_sum.item() / WORLD_SIZE / len(train_loader):.4f}  val {vl:.4f}  "
                  f"acc {va:.3f}", flush=True)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]
    s.close()
    mp.spawn(worker, args=(port,), nprocs=WORLD_SIZE)
