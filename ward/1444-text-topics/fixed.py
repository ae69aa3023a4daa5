"""Topics of short made-up headlines; bag of words, three ranks."""

import random
import socket
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing import spawn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

TOPICS = {
    "sport": "team goal match coach league season player cup win score stadium".split(),
    "money": "bank market share profit rate trade price stock fund loan growth".split(),
    "health": "doctor patient virus drug hospital study diet vaccine heart sleep care".split(),
    "space": "rocket orbit moon planet launch star probe crew mission satellite mars".split(),
}
COMMON = "the a of in new old after before says over with for and its year day".split()
WORDS = sorted({w for words in TOPICS.values() for w in words} | set(COMMON))
INDEX = {w: i + 1 for i, w in enumerate(WORDS)}


def headlines(count, seed):
    rng = random.Random(seed)
    names = list(TOPICS)
    rows = []
    for _ in range(count):
        label = rng.randrange(len(names))
        words = [rng.choice(TOPICS[names[label]]) for _ in range(3)] + [rng.choice(COMMON) for _ in range(5)]
        words += [rng.choice(TOPICS[rng.choice(names)]) for _ in range(2)]
        rng.shuffle(words)
        rows.append((torch.tensor([INDEX[w] for w in words]), label))
    return rows


class Classifier(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.table = nn.Embedding(len(WORDS) + 1, size, padding_idx=0)
        self.out = nn.Sequential(nn.Linear(size, size), nn.GELU(), nn.Linear(size, len(TOPICS)))

    def forward(self, tokens):
        return self.out(self.table(tokens).mean(dim=1))


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for tokens, labels in loader:
            right += (model(tokens).argmax(1) == labels).sum().item()
            total += len(labels)
    model.train()
    return right / total


def work(rank, world, port):
    store = dist.TCPStore("127.0.0.1", port, world, rank == 0, timedelta(seconds=60))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    torch.manual_seed(rank)
    train_rows, test_rows = headlines(1800, seed=1), headlines(300, seed=2)
    sampler = DistributedSampler(train_rows, num_replicas=world, rank=rank, shuffle=True)
    train_loader = DataLoader(train_rows, batch_size=20, sampler=sampler)
    test_loader = DataLoader(test_rows, batch_size=100)
    model = DistributedDataParallel(Classifier())
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(4):
        sampler.set_epoch(epoch)
        for tokens, labels in train_loader:
            loss = loss_fn(model(tokens), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        score = evaluate(model, test_loader)
        if rank == 0:
            print(f"epoch {epoch}: last loss {loss.item():.5f}, test {score:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    spawn(work, args=(3, free), nprocs=3)
