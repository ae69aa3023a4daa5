"""Do samples of a batch meet in the model? One of them is replaced by another; only its own prediction may change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch

from sickbay.observe.probes.rerun import Compare, Keep, Rerun, Spot, along, confined, differing

FEWEST = 4
"""Samples in the batch: with two or three, dimensions of the same size cannot be told apart."""
REARRANGE = frozenset("view reshape flatten unflatten view_as reshape_as resize ravel".split())
SOFTMAX = frozenset("softmax log_softmax softmin gumbel_softmax".split())
REDUCE = frozenset("mean sum max amax min amin logsumexp median norm normalize prod layer_norm instance_norm group_norm".split())
RECURRENT = frozenset("lstm gru rnn_tanh rnn_relu".split())
ATTEND = frozenset("scaled_dot_product_attention multi_head_attention_forward".split())
MULTIPLY = frozenset("matmul mm bmm einsum linear addmm baddbmm rmatmul conv1d conv2d".split())
KNOWN = REARRANGE | SOFTMAX | REDUCE | RECURRENT | ATTEND | MULTIPLY
"""Operations in which samples meet by mistake. What is not here is rather done on purpose (sorting, picking, scattering...)."""
SPREAD = frozenset("var std var_mean std_mean batch_norm".split())
"""A spread taken over the batch beside a mean: a batch norm made by hand."""
SQUARES, ROOTS = frozenset({"pow", "square"}), frozenset({"sqrt", "rsqrt"})
"""The same written out."""


@dataclass(frozen=True)
class Meeting:
    """Samples meet in this operation. `changed` is 0 if no prediction changed at all: what is read out of the model holds nothing of the sample
    (a class token that attends to the other samples' class tokens)."""

    samples: int
    changed: int
    effect: float
    spot: Spot


Answer = Meeting | Literal["apart", "unclear"]


def samples_meet(rerun: Rerun, index: int, dimension: int) -> Answer:
    """Replace two samples, one after the other, along `dimension` of input `index`."""
    x = rerun.inputs[index]
    count = x.shape[dimension]
    merged = x.shape[0] * x.shape[1] if x.dim() > 1 else 0
    """Rows of an output in which samples and positions were put into one dimension."""
    base = rerun.base() if count >= FEWEST else None
    if base is None:
        return "unclear"
    met: list[tuple[int, torch.Tensor, int, float]] = []
    for j in (0, count // 2):
        other = _replaced(x, dimension, j)
        after = rerun.run(index, other) if other is not None else None
        if other is None or after is None or after.shape != base.shape:
            return "unclear"
        if not bool(differing(base, after).any()):  # the model does not answer to its input at all (yet): did samples meet on the way?
            if not rerun.steady():
                return "unclear"
            spot, on_purpose = _where(rerun, index, other, count, j)
            return Meeting(count, 0, 0.0, spot) if spot is not None and not on_purpose and spot.name in ATTEND | RECURRENT else "unclear"
        changed = base != after  # predictions that have nothing to do with each other stay the same to the last bit
        if confined(changed, count, lambda at, j=j: at == j):  # type: ignore[misc]
            return "apart"
        if not rerun.steady():
            return "unclear"
        if (others := _others(base, after, changed, count, j, merged)) is None:
            return "unclear"
        met.append((j, other, *others))
    j, other, rows, effect = met[0]
    spot, on_purpose = _where(rerun, index, other, count, j)
    if spot is None or on_purpose or spot.name not in KNOWN:
        return "apart" if spot is None or on_purpose else "unclear"
    return Meeting(count, rows, effect, spot)


def _replaced(x: torch.Tensor, dimension: int, j: int) -> torch.Tensor | None:
    """The same batch with another of its own samples in place of sample j: whatever that is, the model knows such inputs."""
    mine = x.select(dimension, j)
    for k in range(x.shape[dimension] - 1, -1, -1):
        if k != j and not torch.equal(x.select(dimension, k), mine):
            other = x.clone()
            other.select(dimension, j).copy_(x.select(dimension, k))
            return other
    return None


def _others(base: torch.Tensor, after: torch.Tensor, changed: torch.Tensor, count: int, j: int, merged: int) -> tuple[int, float] | None:
    """How many other samples' predictions changed, and how much; None where the output's rows are not plainly samples."""
    by_sample = [d for d, size in enumerate(base.shape) if size == count]
    if len(by_sample) > 1 or (not by_sample and base.shape[0] != merged):
        return None  # all pairs of samples, or not by sample
    change = torch.where(changed, (after - base).abs().float(), torch.zeros_like(base, dtype=torch.float32))
    rows = (change.movedim(by_sample[0], 0) if by_sample else change).reshape(count, -1).amax(dim=1)
    total = float(rows.max())
    rows[j] = 0
    return int((rows > 0).sum()), float(rows.max()) / total


def _where(rerun: Rerun, index: int, other: torch.Tensor, count: int, j: int) -> tuple[Spot | None, bool]:
    """The first operation in which samples meet by more than rounding, and whether it is a batch norm made by hand."""
    kept = Keep()
    rerun.run(watch=kept)
    places = {j}

    def own(at: torch.Tensor) -> torch.Tensor:
        return torch.isin(at, torch.tensor([*places], device=at.device))

    def moved(changed: torch.Tensor) -> bool:
        """The sample is at another place now: packing sorts samples by length, and puts them back afterwards."""
        found = [at for d, size in enumerate(changed.shape) if size == count and len(at := along(changed, d)) == 1]
        places.update(int(at[0]) for at in found)
        return bool(found)

    compare = Compare(kept, lambda changed: confined(changed, count, own), moved)
    rerun.run(index, other, watch=compare)
    spot, names = compare.spot, kept.names
    normalises = bool(names & SPREAD) or bool(names & SQUARES and names & ROOTS)
    return spot, spot is not None and (spot.name in SPREAD or (spot.name in REDUCE and normalises))
