"""How many values each batch norm takes its statistics from, on the steps whose operations are followed."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import torch

from sickbay import facts
from sickbay.observe.places import place_of
from sickbay.observe.trace import Node

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_LAYERS, MOST_PASSES = 64, 64


class NormWatch:
    """Listens to the results of batch norms in training mode."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.seen: dict[str, list[tuple[int, int]]] = {}
        self.about: dict[str, facts.BatchStatistics] = {}

    def passed(self, node: Node, output: torch.Tensor) -> None:
        if node.name != "batch_norm" or not node.grad or output.dim() < 2:
            return
        layer = node.layer() if node.layer is not None else None
        if not isinstance(layer, torch.nn.modules.batchnorm._BatchNorm) or not layer.training:
            return
        name = self.session.registry.layer_name(layer)
        seen = self.seen.setdefault(name, []) if len(self.seen) < MOST_LAYERS or name in self.seen else []
        if not seen:
            key = self.session.registry.built_at(layer) or node.key
            self.about[name] = facts.BatchStatistics(
                layer=name,
                kind=type(layer).__name__,
                affine=bool(layer.affine),
                tracks=bool(layer.track_running_stats),
                place=place_of(*key) if key is not None else None,
            )
        if len(seen) < MOST_PASSES:
            seen.append((output.numel() // max(output.shape[1], 1), output.shape[0]))

    def told(self) -> tuple[facts.BatchStatistics, ...]:
        return tuple(self._fact(name, seen) for name, seen in self.seen.items() if seen)

    def _fact(self, name: str, seen: list[tuple[int, int]]) -> facts.BatchStatistics:
        about = self.about[name]
        self.session.keep_source(about.place)
        values, samples = (int(statistics.median(column)) for column in zip(*seen, strict=True))
        return facts.BatchStatistics(
            layer=name,
            kind=about.kind,
            smallest=values,
            samples=samples,
            passes=len(seen),
            affine=about.affine,
            tracks=about.tracks,
            place=about.place,
        )
