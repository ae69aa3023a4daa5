"""The four training loops that watching is measured on: real steps on data drawn beforehand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle, pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

BATCHES = 16
"""Different batches a workload goes through, so that caches are not kinder than they are in real training."""
VOCABULARY = 4096


@dataclass
class Workload:
    """A model in training. Each call of `step` is one whole training step and returns its loss."""

    name: str
    model: nn.Module
    optimizer: torch.optim.Optimizer
    step: Callable[[], Tensor]


class Residual(nn.Module):
    """Two convolutions around a shortcut."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.shortcut: nn.Module = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        out = F.relu(self.norm1(self.conv1(x)))
        out = self.norm2(self.conv2(out))
        return F.relu(out + self.shortcut(x))


class Block(nn.Module):
    """One transformer layer: causal attention, then a feed-forward network."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).split(width, dim=2)
        q, k, v = (part.view(batch, length, self.heads, width // self.heads).transpose(1, 2) for part in parts)
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        out: Tensor = x + self.feed(self.norm2(x))
        return out


class Transformer(nn.Module):
    """Predicts the next token."""

    def __init__(self, layers: int, width: int, length: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.positions = nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, width // 64) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x)).flatten(0, 1)
        return logits


def _trained(name: str, model: nn.Module, batches: list[tuple[Tensor, Tensor]]) -> Workload:
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    source = cycle(batches)

    def step() -> Tensor:
        inputs, targets = next(source)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        return loss

    return Workload(name, model, optimizer, step)


def mlp() -> Workload:
    """784-512-512-10, batch 128: a step of a few milliseconds, so the fixed Python cost decides."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    return _trained("mlp", model, [(torch.randn(128, 784), torch.randint(10, (128,))) for _ in range(BATCHES)])


def cnn() -> Workload:
    """A residual network of 21 convolutions on 32 x 32 pictures, batch 32."""
    torch.manual_seed(0)
    widths = [32, 32, 32, 32, 64, 64, 64, 128, 128, 128]
    blocks = [Residual(a, b, 1 if a == b else 2) for a, b in pairwise(widths)]
    stem = [nn.Conv2d(3, 32, 3, 1, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()]
    model = nn.Sequential(*stem, *blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))
    return _trained("cnn", model, [(torch.randn(32, 3, 32, 32), torch.randint(10, (32,))) for _ in range(BATCHES)])


def _transformer(name: str, layers: int, width: int, batch: int, length: int = 128) -> Workload:
    torch.manual_seed(0)

    def draw() -> tuple[Tensor, Tensor]:
        tokens = torch.randint(VOCABULARY, (batch, length + 1))
        return tokens[:, :-1].contiguous(), tokens[:, 1:].flatten()

    return _trained(name, Transformer(layers, width, length), [draw() for _ in range(BATCHES)])


def gpt_small() -> Workload:
    """6 layers, d = 256, sequence 128, batch 8."""
    return _transformer("gpt-small", 6, 256, 8)


def gpt_medium() -> Workload:
    """12 layers, d = 512, sequence 128, batch 4."""
    return _transformer("gpt-medium", 12, 512, 4)


WORKLOADS: dict[str, Callable[[], Workload]] = {"mlp": mlp, "cnn": cnn, "gpt-small": gpt_small, "gpt-medium": gpt_medium}


def chosen(names: str) -> list[str]:
    """The workloads a command line names: `all` or `mlp,cnn`."""
    wanted = list(WORKLOADS) if names == "all" else [n.strip() for n in names.split(",")]
    if unknown := [n for n in wanted if n not in WORKLOADS]:
        raise SystemExit(f"no workload is called {unknown[0]!r}; there are {', '.join(WORKLOADS)}")
    return wanted


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    import os
    import platform

    return {
        "torch": torch.__version__,
        "python": platform.python_version(),
        "threads": torch.get_num_threads(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }
