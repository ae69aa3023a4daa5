"""How what a model is served differs from what it was trained on, for the same raw samples (`sickbay.skew`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sameness = Literal["same", "rounding", "differs", "random"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureSkew:
    """One feature (a column, a channel, a named tensor) in training and in serving."""

    name: str
    differ: float
    """Share of its values that differ beyond rounding."""
    mean: tuple[float, float]
    """In training, in serving,"""
    spread: tuple[float, float]
    """...and the same of their spread."""
    correlation: float
    explained: str = ""
    """What maps training's values to serving's; empty where nothing simple does, or where nothing differs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skewed:
    """Everything that the comparison found."""

    sameness: Sameness
    samples: int
    differ: int
    """Samples with any difference beyond rounding."""
    shapes: tuple[str, str]
    dtypes: tuple[str, str]
    first: str = ""
    """Where the first difference is: sample and feature, no values."""
    values: tuple[float, float] | None = None
    """Training's and serving's value there; only where values were asked for."""
    explained: str = ""
    """What maps training's tensors to serving's, in words; empty where nothing simple does."""
    cure: str = ""
    """How serving's become training's, as code."""
    features: tuple[FeatureSkew, ...] = ()
    notes: tuple[str, ...] = ()
