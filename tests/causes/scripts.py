"""Sources that the hand-made records of these tests point into."""

from __future__ import annotations

from typing import Any

from sickbay.facts import Loss, Optimizer
from sickbay.nouns import Place
from sickbay.testing import place_in

LOOP = """\
import torch
from torch import nn
import torch.nn.functional as F

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(10):
    for x, y in loader:
        out = model(x)
        loss = F.cross_entropy(out, y)
        loss.backward()
        optimizer.step()
"""


def at(text: str, source: str = LOOP) -> Place:
    return place_in(source, text)


def loop_facts(source: str = LOOP, **optimizer: Any) -> dict[str, Any]:
    """Sources, one optimizer and one loss, at the lines of a plain training loop."""
    given = {"index": 0, "kind": "SGD", "steps": 100, "variable": "optimizer"} | optimizer
    if "SGD(" in source:
        given.setdefault("built_at", at("SGD(", source))
    if "optimizer.step()" in source:
        given.setdefault("stepped_at", at("optimizer.step()", source))
    return {
        "sources": {"train.py": source},
        "optimizers": [Optimizer(**given)],
        "losses": [Loss(index=0, backward_at=at(".backward()", source), optimizers=(0,), backwards=100)],
    }


def added(diff: str) -> list[str]:
    """The lines that a diff adds."""
    return [line[1:] for line in diff.splitlines() if line.startswith("+") and not line.startswith("+++")]


def removed(diff: str) -> list[str]:
    return [line[1:] for line in diff.splitlines() if line.startswith("-") and not line.startswith("---")]
