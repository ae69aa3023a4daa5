"""Jumps of the loss, and the batches they came with."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlier:
    """A sample of a batch whose values lie far outside what other batches hold."""

    role: str = "input"
    """"input" or "target"."""
    row: int = 0
    sample: int | None = None
    """Its place in the data set, where the loader tells."""
    column: int | None = None
    columns: int = 1
    value: float = 0.0
    low: float = 0.0
    high: float = 0.0
    """What other batches hold in this column (for images: anywhere)."""
    ranges: float = 0.0
    """How far outside it is, as a multiple of that range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossSpike:
    """One backward pass whose loss was several times its running mean."""

    loss: int = 0
    step: int = 0
    epoch: int = -1
    value: float = 0.0
    usual: float = 0.0
    rows: int = 0
    samples: tuple[int, ...] = ()
    """The batch as data set indices, where the loader tells..."""
    marks: tuple[int, ...] = ()
    """...else a fingerprint of each row."""
    outliers: tuple[Outlier, ...] = ()
    between: int = 0
    """Samples of it (and other batches) that are outside of the range too, but less far: the tail of a distribution, not a gap."""
    compared: int = 0
    """With how many other batches its values were compared; 0 if a part of it was not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spikes:
    """All such jumps of a run."""

    seen: int = 0
    kept: tuple[LossSpike, ...] = ()
    usual_rows: int = 0
    place: Place | None = None
    """Where the batch enters the model."""
    variable: str = ""
    target: str = ""
    """The target in the user's words."""
