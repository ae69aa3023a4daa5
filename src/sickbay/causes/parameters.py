"""Questions about the parameters of a run that several causes ask."""

from __future__ import annotations

import math
from collections.abc import Iterable

from sickbay.facts import Parameter
from sickbay.record.reader import Record


def size(parameters: Iterable[Parameter]) -> int:
    """Number of elements."""
    return sum(p.size or math.prod(p.shape) for p in parameters)


def held(record: Record) -> list[Parameter]:
    """Trainable parameters that some optimizer holds."""
    return [p for p in record.facts.parameters if p.trainable and p.optimizer is not None]


def unused(record: Record) -> list[Parameter]:
    """Held by an optimizer and never reached by a loss. What lies behind a detach or no_grad is another illness (detached-graph)."""
    cut = {name for loss in record.facts.losses for c in loss.cuts for name in c.parameters}
    followed = any(loss.graph_reads for loss in record.facts.losses)
    return [
        p
        for p in held(record)
        if p.in_model and p.reached is False and not p.loaded and p.moved is not True and p.name not in cut and (followed or not p.called)
    ]


def mostly_loaded(record: Record) -> bool:
    """Whether most of what is trained began from a checkpoint (fine-tuning): small steps and a flat loss are then normal."""
    trained = held(record)
    loaded = size(p for p in record.facts.parameters if p.loaded)
    everything = size(record.facts.parameters)
    return bool(everything) and (loaded > 0.5 * everything or size(p for p in trained if p.loaded) > 0.5 * size(trained) > 0)


def optimises_inputs(record: Record) -> bool:
    """Whether the optimizers hold only tensors outside any model: an image, a trigger, a latent code is being optimised."""
    holding = [p for p in record.facts.parameters if p.optimizer is not None]
    return bool(holding) and not any(p.in_model or p.replaced_by for p in holding) and any(p.in_model for p in record.facts.parameters)


def named(record: Record, names: Iterable[str]) -> list[Parameter]:
    wanted = set(names)
    return [p for p in record.facts.parameters if p.name in wanted]
