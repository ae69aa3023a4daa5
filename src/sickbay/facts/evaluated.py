"""What an evaluation of a model found (`sickbay.evaluate`): numbers about many samples, and of single ones only what was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Task = Literal["classes", "labels", "numbers"]
Standing = Literal["beyond", "unclear", "below"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """One number that a model is judged by, with what a constant answer would have scored."""

    name: str
    value: float
    low: float
    high: float
    """95 % interval: how far it may be off because there are only so many samples."""
    constant: float
    """The same score of the best answer that is the same for every sample."""
    larger_is_better: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassScore:
    """One class (or one label of several, or one output of a regression by its R²)."""

    name: str
    support: int
    """Samples (or pixels, or tokens) that have it,"""
    predicted: int
    """...and that it was predicted for."""
    precision: float
    recall: float
    recall_low: float
    recall_high: float
    f1: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputScore:
    """One number of several that a model predicts."""

    name: str
    r2: float
    mae: float
    constant_mae: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Confused:
    """Samples of one class that were taken for another."""

    given: str
    taken_for: str
    count: int
    support: int
    low: float
    """Lower end of the 95 % interval of their share."""

    @property
    def share(self) -> float:
        return self.count / self.support


@dataclass(frozen=True, slots=True, kw_only=True)
class ReliabilityBin:
    """Predictions that were about equally sure."""

    count: int
    confidence: float
    """Mean,"""
    right: float
    """...and the share of them that was right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """How sure the model is, beside how right it is."""

    of: Literal["predicted class", "positive class"]
    """Whose probability: that of the class it says, or of "yes" where there are only yes and no."""
    error: float
    """Expected calibration error in ten bins of equal width,"""
    by_chance: float
    """...and what a calibrated model would show on so many samples (95 of 100 times less); NaN where samples are not independent of each other (pixels)."""
    confidence: float
    accuracy: float
    bins: tuple[ReliabilityBin, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Residuals:
    """Errors (target minus prediction) beside the predictions."""

    bias: float
    bias_low: float
    bias_high: float
    bins: tuple[tuple[float, float, float], ...]
    """Tenths of the samples by what was predicted: mean prediction, mean error, spread of the errors."""
    spread_with_prediction: float
    """Rank correlation of the errors' sizes with the predictions: 0 if errors are alike everywhere."""
    explained: float
    """Part of the squared error that the mean error of each tenth would take away: predictions that are bent or shifted, not noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceScore:
    """One part of the samples beside all others."""

    by: str
    value: str
    rows: int
    score: float
    low: float
    high: float
    others: float
    """The score of all other samples,"""
    chance: float
    """...and how likely a difference as large as this is by chance, for all slices together (Holm)."""
    worse: bool
    """Worse than the others beyond chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    """One sample; only where samples were asked for."""

    index: int
    """In the order in which the loader gave them, from 0."""
    loss: float
    predicted: str
    target: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """Everything that one evaluation found."""

    task: Task
    unit: str
    """What is counted: "samples", "pixels", "tokens"."""
    samples: int
    counted: int
    """Units."""
    score: Score
    """The one that is told first,"""
    more: tuple[Score, ...] = ()
    """...and others."""
    loss: float | None = None
    """Mean of the given loss function."""
    standing: Standing = "unclear"
    """Against the best constant answer, sample by sample."""
    read_as: str = ""
    """How the model's outputs were read: "logits", "probabilities"."""
    classes: tuple[ClassScore, ...] = ()
    outputs: tuple[OutputScore, ...] = ()
    confusion: tuple[tuple[int, ...], ...] = ()
    """Given class by predicted class; empty for other tasks, and where there are too many."""
    confused: tuple[Confused, ...] = ()
    reliability: Reliability | None = None
    residuals: Residuals | None = None
    slice_score: str = ""
    """What slices are compared by; lower is better for "mean absolute error"."""
    slices: tuple[SliceScore, ...] = ()
    worst: tuple[Mistake, ...] = ()
    notes: tuple[str, ...] = ()
