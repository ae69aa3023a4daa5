"""Where to clip gradients: the distribution of their norms before clipping, as far as it was measured."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sickbay.errors import UsageError
from sickbay.record.reader import Record

PERCENTILE = 95
"""Clipping is meant for outliers: one step in twenty is the usual rule (Pascanu et al. 2013 choose from the norms seen)."""
ENOUGH = 100
"""From so many norms on the 95th percentile has five above it; from fewer it is one or two steps that decide."""


@dataclass(frozen=True, slots=True)
class ClipAdvice:
    """A limit for `torch.nn.utils.clip_grad_norm_`, and the measurements it comes from."""

    limit: float
    """The 95th percentile, rounded to two digits."""
    norms: int
    """How many norms were measured."""
    steps: int
    """Steps of the run: the others were not measured."""
    median: float
    largest: float
    clipped: float
    """Share of the measured steps that this limit would cut."""
    current: float | None = None
    """The limit at which the script clips."""
    clipped_now: float | None = None
    """Share of the measured steps that it cuts."""
    nonfinite: int = 0
    """Norms that were NaN or infinite: they are not counted above."""
    before_clipping: bool = True
    """False where the script clips in a way that shows only the norms after it."""

    @property
    def few(self) -> bool:
        return self.norms < ENOUGH

    @property
    def broken(self) -> bool:
        """Most of the run was not finite: what came before it are the norms of a run that was on its way there."""
        return self.nonfinite > self.norms

    def __str__(self) -> str:
        if self.broken:
            return (
                f"no limit follows from this run: {self.nonfinite:,} of {self.norms + self.nonfinite:,} gradient norms were NaN or infinite, and the others "
                f"(median {self.median:.3g}, largest {self.largest:.3g}) led there; begin with 1, and ask again after a run that stays finite"
            )
        of = "1 gradient norm" if self.norms == 1 else f"{self.norms:,} gradient norms"
        told = [f"clip at {self.limit:g}: the 95th percentile of {of} (median {self.median:.3g}, largest {self.largest:.3g})"]
        if self.current is not None and self.clipped_now is not None:
            told.append(
                f"the limit of {self.current:g} in the script cuts {_share(self.clipped_now)} of them, this one would cut {_share(self.clipped)}"
            )
        if self.norms + self.nonfinite < self.steps:
            told.append(f"{self.norms + self.nonfinite:,} of {self.steps:,} steps were measured")
        if self.nonfinite:
            told.append(f"{self.nonfinite:,} of these were NaN or infinite and are left out")
        if not self.before_clipping:
            told.append("the script clips by a way of its own, so that these are norms after clipping: too small")
        if self.few:
            told.append(f"from fewer than {ENOUGH} norms this is a guess")
        return "; ".join(told)


def advise(record: Record, optimizer: int = 0) -> ClipAdvice:
    """Raises UsageError if no norm was measured."""
    steps = record.facts.run.steps
    clipping = next((c for c in record.facts.clippings if c.kind == "norm" and c.calls), None)
    if clipping is not None and len(before := record.series(_numbered("clip_norm", clipping.index))):
        return advise_from(before.values, steps, clipping.limit)
    series = record.series(_numbered("grad_norm", optimizer))
    if not len(series):
        raise UsageError("no gradient norm was measured in this run: expected at least one optimizer step; record one with `sickbay run train.py`")
    return advise_from(series.values, steps, None, before_clipping=not record.facts.clippings)


def _numbered(stem: str, index: int) -> str:
    return f"{stem}@{index}" if index else stem


def advise_from(norms: NDArray[np.float64], steps: int, current: float | None = None, *, before_clipping: bool = True) -> ClipAdvice:
    """The advice that these norms give; `steps` is how many steps the run had, `current` where its script clips."""
    finite = norms[np.isfinite(norms)]
    if not len(finite):
        raise UsageError(f"none of the {len(norms):,} gradient norms of this run is finite: find out why first, with `sickbay diagnose`")
    limit = float(f"{np.percentile(finite, PERCENTILE):.2g}")
    return ClipAdvice(
        limit=limit,
        norms=len(finite),
        steps=max(steps, len(norms)),
        median=float(np.median(finite)),
        largest=float(finite.max()),
        clipped=float(np.mean(finite > limit)),
        current=current,
        clipped_now=float(np.mean(finite > current)) if current is not None else None,
        nonfinite=len(norms) - len(finite),
        before_clipping=before_clipping,
    )


def _share(share: float) -> str:
    return f"{share:.0%}" if share in (0, 1) or 0.01 <= share <= 0.99 else f"{share:.1%}"
