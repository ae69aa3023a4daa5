"""Which of the loss functions that a script calls with gradients on it trains on: the graph behind the next backward passes tells.

A loss may have several terms, each computed on a line of its own; a validation pass that forgot `no_grad` computes losses in the same way. What lies
in the graph of a loss that is differentiated is training's. What was in none of the next few is not. Only numbers are kept until that is known: holding on
to a tensor would hold on to the user's memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch

from sickbay.observe.numbers import Array

MOST_NODES = 4096
"""Of a graph, that are looked at: a loss lies a few operations before the sum that is differentiated."""
PASSES = 4
"""Backward passes (of a generator, a critic, ...) that may come before the one that a loss was computed for."""


class Result(NamedTuple):
    """What one call of a loss function shows."""

    loss: float
    samples: int
    accuracy: float | None
    counts: Array | None
    """How often each class was predicted."""


@dataclass
class Calls:
    """What is known of the calls at one place until it is known what they are for."""

    numbers: tuple[int, ...]
    """Autograd's own numbers of the newest result and of what it was made from: a metric that is worked out beside the loss is no evaluation either."""
    training: bool
    """The model was in training mode."""
    passes: int = 0
    """Backward passes since that it was not part of."""
    results: list[Result] = field(default_factory=list)


class TrainedOn:
    """Places in the script, by what the losses that are computed there are for."""

    def __init__(self) -> None:
        self.known: dict[Any, set[bool]] = {}
        """Whether the model was in training mode when something was trained on what is computed there; nothing for evaluations."""
        self.waiting: dict[Any, Calls] = {}

    def is_training(self, key: Any, training: bool) -> bool:
        """A line of training's, unless the model is in evaluation mode there now, which it was not when it trained. Of any other the next backward passes
        are asked each time: what was an evaluation may be what the next phase trains on."""
        return training in self.known.get(key[0], ())

    def note(self, key: Any, made_from: torch.Tensor, output: torch.Tensor, training: bool, result: Result) -> None:
        calls = self.waiting.setdefault(key, Calls((), training))
        numbers = (_number(output.grad_fn), _number(made_from.grad_fn))
        calls.numbers, calls.training, calls.passes = tuple(n for n in numbers if n is not None), training, 0
        calls.results.append(result)

    def backward_begins(self, loss: torch.Tensor) -> Iterator[tuple[Any, Calls]]:
        """What turns out to have been an evaluation."""
        if not self.waiting:
            return
        numbers = [n for c in self.waiting.values() for n in c.numbers]
        behind = _behind(loss.grad_fn, min(numbers)) if numbers else set()
        for key, calls in [*self.waiting.items()]:
            calls.passes += 1
            if not behind.isdisjoint(calls.numbers):
                self.known.setdefault(key[0], set()).add(calls.training)
                del self.waiting[key]
            elif key[0] in self.known or calls.passes >= PASSES or (not calls.training and any(True in modes for modes in self.known.values())):
                yield key, self._evaluation(key)

    def called_again(self, key: Any) -> Calls | None:
        """What was computed here before and went into no backward pass since: an evaluation, and this is the next."""
        return self._evaluation(key) if key in self.waiting and self.waiting[key].passes else None

    def _evaluation(self, key: Any) -> Calls:
        self.known.setdefault(key[0], set())
        return self.waiting.pop(key)

    def finish(self) -> Iterator[tuple[Any, Calls]]:
        """No backward pass comes any more."""
        while self.waiting:
            yield self.waiting.popitem()


def _number(node: Any) -> int | None:
    number = getattr(node, "_sequence_nr", None)
    return int(number()) if number is not None else None


def _behind(node: Any, lowest: int) -> set[int]:
    """The numbers of the operations behind a loss, back to the one with the lowest: numbers grow as operations are done."""
    found: set[int] = set()
    waiting: list[Any] = [node]
    seen: set[Any] = set()
    while waiting and len(seen) < MOST_NODES:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        number = _number(node)
        if number is not None and number < lowest:
            continue
        if number is not None:
            found.add(number)
        waiting += [below for below, _ in node.next_functions]
    return found
