"""What a small sample of inputs and targets showed when the run was over: whether one follows from the other."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """How well targets can be told from inputs by simple means (neighbours, a linear map), each sample by all others."""

    rows: int = 0
    score: float = 0.0
    """Of the best: share of classes told right, or R² for numbers."""
    chance: float = 0.0
    """...of the same means on targets dealt out at random,"""
    spread: float = 0.0
    """...and how much that varies."""
    beyond: float = 0.0
    """The largest of all means' distances from chance, in such spreads."""
    majority: float = 0.0
    """Share of the commonest class; 0 for numbers."""
    method: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offset:
    """Targets follow from inputs when they are taken from another sample."""

    by: int = 0
    """The target of sample i belongs to the input of sample i + by (in the data set's order)."""
    reversed: bool = False
    """...or the two lie in opposite order."""
    relation: Relation = Relation()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlying:
    """Samples that hold a value far outside all others."""

    rows: int = 0
    """Looked at,"""
    found: int = 0
    times: float = 0.0
    """As far from the middle as any of the others, at least."""
    indices: tuple[int, ...] = ()
    """In the data set, at most 1,000; empty where they are not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspects:
    """Samples whose label speaks against all that resemble them."""

    rows: int = 0
    """Looked at,"""
    known: int = 0
    """...of classes that are recognised,"""
    odd: int = 0
    """...and of these, those that resemble another class than theirs most."""
    margin: float = 0.0
    """How much more they resemble one class than the next, median: near 1 where classes are clear."""
    deep: int = 0
    """The clearest 30 %,"""
    deep_odd: int = 0
    """...and those of them that resemble another class than theirs;"""
    most: int = 0
    """...the clearest 60 %,"""
    most_odd: int = 0
    """...and those of them."""
    count: int = 0
    """Samples that clearly resemble another class than theirs, once the odd ones are called otherwise."""
    indices: tuple[int, ...] = ()
    """In the data set, at most 200, the surest first; empty where they are not known."""
    pairs: tuple[tuple[int, int, int], ...] = ()
    """Given label, resembled label, how many: the most frequent ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnGroup:
    """A few columns that each tell much of the class, among many."""

    columns: tuple[int, ...] = ()
    least: float = 0.0
    """What the least of them tells by itself,"""
    next_best: float = 0.0
    """...the best of the others,"""
    others: float = 0.0
    """...and all of those together."""
    alike: float = 0.0
    """Largest correlation of two of the group, by rank within a class."""
    fixed: float = 1.0
    """Spread of the best column within the class where it is smallest, as a part of where it is largest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The input column that tells most of the target by itself."""

    column: int = 0
    columns: int = 0
    score: float = 0.0
    """By itself,"""
    others: float = 0.0
    """...of all other columns together,"""
    next_best: float = 0.0
    """...and of the next best one by itself."""
    chance: float = 0.0
    continuous: bool = False
    """It takes many different values."""
    sealed: float = 0.0
    """Share of the rows in which it has a value that comes often, and with one class only, without exception,"""
    sealed_classes: int = 0
    """...and how many classes are told so."""
    on_a_line: float = 0.0
    """Of numbers: share of the rows whose target is exactly one straight line of it."""
    group: ColumnGroup | None = None
    """Of classes: what it belongs to, where a few stand out together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How sure the model was in its last evaluation, and how right."""

    step: int | None = None
    """When that was."""
    rows: int = 0
    classes: int = 0
    accuracy: float = 0.0
    confidence: float = 0.0
    """Mean probability of what it said."""
    error: float = 0.0
    """Expected calibration error in ten bins,"""
    by_chance: float = 0.0
    """...and what a calibrated model would show on so many samples (95 of 100 times less)."""
    loss: float = 0.0
    """Cross-entropy,"""
    loss_tempered: float = 0.0
    """...and with the logits divided by the best single number,"""
    temperature: float = 1.0
    """...this one."""
    told: float = 0.0
    """Of the class whose share is told worst: its mean probability,"""
    seen: float = 0.0
    """...and its share."""
    place: Place | None = None
    """Where that evaluation's loss is called,"""
    texts: tuple[str, ...] = ()
    """...as it is written, and the call around it."""
    by_hand: bool = False
    """The script computes no loss there: it compares answers with labels. Then the place is where it calls the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed:
    """Evaluation's labels, told from the training samples that resemble its samples most."""

    rows: int = 0
    right: float = 0.0
    """Share of them, as they are,"""
    renamed: float = 0.0
    """...and under the names that fit best:"""
    names: tuple[tuple[int, int], ...] = ()
    """...training's class, and what evaluation calls it, where that is another."""
    within: float = 0.0
    """Share of training's own labels that its other samples tell in the same way."""
    turned: float = 0.0
    """...and of evaluation's, as they are, once the three channels of its pictures are read in opposite order; 0 of anything else than pictures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Across:
    """Evaluation's number targets, told by a linear map of training's samples. Errors are mean squares, as parts of the variance of evaluation's targets."""

    rows: int = 0
    error: float = 0.0
    """Of its answers,"""
    straightened: float = 0.0
    """...and of the best straight line of them: what is left once they are shifted and stretched, all alike."""
    shift: float = 0.0
    """Mean of what the answers miss, in spreads of training's targets."""
    own_scale: bool = False
    """The targets themselves have mean 0 and spread 1, exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NearCopies:
    """Evaluated samples to which a few training samples lie far closer than all others."""

    rows: int = 0
    """Looked at,"""
    found: int = 0
    by_chance: float = 0.0
    """Share that would be found in samples of as many dimensions that merely lie dense."""
    closer: float = 0.0
    """How many times closer than the next one, median."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedExamples:
    """The same questions on what one evaluation was given."""

    place: Place | None = None
    called_from: Place | None = None
    loader: int | None = None
    relation: Relation | None = None
    renamed: Renamed | None = None
    copies: NearCopies | None = None
    across: Across | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DataProbe:
    """Of the training data."""

    kind: str = ""
    """Of the inputs: "table", "series", "image" or "tokens"."""
    targets: str = ""
    """ "classes" or "numbers"."""
    classes: int = 0
    features: int = 0
    place: Place | None = None
    """Where the loss compares with the target,"""
    target: str = ""
    """...which is called this there."""
    loader: int | None = None
    relation: Relation | None = None
    variance: float = 0.0
    """Of number targets."""
    noise_inputs: bool = False
    """Inputs look like independent random numbers."""
    again: int = 0
    """Samples that came again, number for number,"""
    changed: int = 0
    """...and with another target."""
    offset: Offset | None = None
    suspects: Suspects | None = None
    outlying: Outlying | None = None
    column: Column | None = None
    evaluations: tuple[EvaluatedExamples, ...] = ()
    calibration: tuple[Calibration, ...] = ()
    """Of each evaluation of a classifier."""
