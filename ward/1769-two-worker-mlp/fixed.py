"""Data-parallel training by hand: two workers, gradients averaged with all_reduce."""
import os
import socket

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn

WORLD, EPOCHS, BATCH = 2, 20, 32


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def turbine_data(n=4800):
    """Power output of a wind turbine from eight measurements."""
    rng = np.random.default_rng(9)
    x = rng.normal(size=(n, 8)).astype("float32")
    y = np.tanh(1.5 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2] + 0.4 * np.sin(2 * x[:, 3]) - 0.3 * x[:, 4]
    y = y + 0.1 * rng.normal(size=n)
    return torch.from_numpy(x), torch.from_numpy(y.astype("float32"))[:, None]


def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        p.grad /= dist.get_world_size()


def build_model():
    return nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))


def worker(rank, port):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", str(port)
    dist.init_process_group("gloo", rank=rank, world_size=WORLD)
    torch.manual_seed(100 + rank)  # every worker shuffles its own shard

    x, y = turbine_data()
    x_val, y_val = x[4000:], y[4000:]
    x, y = x[rank:4000:WORLD], y[rank:4000:WORLD]
    model = build_model()
    for p in model.parameters():
        dist.broadcast(p.data, src=0)
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=EPOCHS)
    for epoch in range(EPOCHS):
        model.train()
        total = 0.0
        for ids in torch.randperm(len(x)).split(BATCH):
            loss = nn.functional.mse_loss(model(x[ids]), y[ids])
            opt.zero_grad()
            loss.backward()
            average_gradients(model)
            opt.step()
            total += loss.item() * len(ids)
        sched.step()
        model.eval()
        with torch.no_grad():
            val = nn.functional.mse_loss(model(x_val), y_val).item()
        if rank == 0 and (epoch + 1) % 2 == 0:
            print(f"epoch {epoch + 1:2d}  train mse {total / len(x):.4f}  val mse {val:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(worker, args=(free_port(),), nprocs=WORLD)
