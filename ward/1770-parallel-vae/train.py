import os
import socket
from dataclasses import dataclass

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


@dataclass
class Args:
    world_size: int = 2
    port: int = 0
    epochs: int = 30
    batch_size: int = 32
    lr: float = 2e-3
    latent: int = 8
    seed: int = 5


class VAE(nn.Module):
    def __init__(self, latent):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.mu, self.logvar = nn.Linear(128, latent), nn.Linear(128, latent)
        self.dec = nn.Sequential(nn.Linear(latent, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        h = self.enc(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar) if self.training else mu
        return self.dec(z), mu, logvar


def negative_elbo(net, x):
    logits, mu, logvar = net(x)
    rec = nn.functional.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum()
    return (rec + kl) / len(x)


def run(rank, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
    dist.init_process_group("gloo", rank=rank, world_size=args.world_size)
    torch.manual_seed(args.seed)
    images = torch.tensor(load_digits().data, dtype=torch.float32) / 16
    images = images[torch.randperm(len(images))]
    train, held_out = TensorDataset(images[:1440]), images[1440:]
    torch.manual_seed(args.seed + rank)
    sampler = DistributedSampler(train, args.world_size, rank, shuffle=True, seed=args.seed)
    loader = DataLoader(train, batch_size=args.batch_size, sampler=sampler)

    model = DDP(VAE(args.latent))
    net = model.module
    opt = torch.optim.Adam(net.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.epochs)
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        net.train()
        total = torch.zeros(1)
        for (x,) in loader:
            loss = negative_elbo(net, x)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        sched.step()
        net.eval()
        with torch.no_grad():
            test = negative_elbo(net, held_out).item()
        dist.all_reduce(total)
        if rank == 0 and epoch % 3 == 2:
            mean = total.item() / len(loader) / args.world_size
            print(f"epoch {epoch + 1:2d} train -elbo {mean:.3f} held-out -elbo {test:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    args = Args()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        args.port = s.getsockname()[1]
    mp.spawn(run, args=(args,), nprocs=args.world_size)
