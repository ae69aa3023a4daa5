"""What the loaders and their batches hold."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.facts.drawn import Generator, Start
from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    index: int
    role: str = "unknown"
    """"train" if training steps were made from its batches, else "eval"; "unknown" if never iterated."""
    sampler: str = ""
    sequential: bool = False
    stream: bool = False
    """Of an `IterableDataset`: it decides the order itself, and no sampler does."""
    batch_size: int | None = None
    batches: int | None = None
    samples: int | None = None
    workers: int = 0
    drop_last: bool = False
    dataset: str = ""
    built_at: Place | None = None
    iterated_at: Place | None = None
    epochs: int = 0
    variable: str = ""
    item_at: Place | None = None
    """Where the script's own data set makes one sample (`__getitem__`, `__iter__`)."""
    delivered: Deliveries | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliveries:
    """What a loader's first batches held for which indices."""

    seen: int = 0
    distinct: int = 0
    alike: int = 0
    """Batches that held the same samples as the one directly before, though none of their indices was the same."""
    run: int = 0
    """How many such batches stood in a row, with the one that they repeat, where nearly always as many; 0 where not."""
    period: int = 0
    """After how many batches (one epoch or more) all came again in the same order; 0 where they did not."""
    moved: int = 0
    """...batches that did so though the indices were others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NonfiniteBatch:
    """A batch that held NaN or infinity where it entered the model or the loss."""

    role: str
    """"input" or "target"."""
    step: int = 0
    batches: int = 0
    """How many batches so far held such values."""
    batches_seen: int = 0
    kind: str = "nan"
    """"nan", "inf" or "-inf"."""
    count: int = 0
    total: int = 0
    rows: tuple[int, ...] = ()
    """Sample positions within the batch, at most 16."""
    samples: tuple[int, ...] = ()
    """The same as data set indices, where the loader tells."""
    found: tuple[int, ...] = ()
    """Those of all such batches so far, at most 1,000."""
    columns: tuple[int, ...] = ()
    columns_total: int = 0
    shape: tuple[int, ...] = ()
    place: Place | None = None
    loss_nonfinite: bool = False
    """The loss (or the model's output) of the same step was not finite."""
    variable: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelOrder:
    """How class labels are ordered in the training batches."""

    classes: int = 0
    histogram: tuple[int, ...] = ()
    batches: int = 0
    batch_size: float = 0.0
    distinct_mean: float = 0.0
    """Distinct classes per batch, mean."""
    distinct_expected: float = 0.0
    """...expected if batches were drawn at random from the histogram."""
    majority_mean: float = 0.0
    majority_expected: float = 0.0
    run_length: float = 0.0
    """Mean length of runs of one label in the order in which samples came."""
    run_length_expected: float = 0.0
    sequential_sampler: bool | None = None
    """None when batches did not come from a DataLoader."""
    same_order_each_epoch: bool | None = None
    loader: int | None = None
    place: Place | None = None
    ascending_share: float | None = None
    """For number targets (regression; classes is 0): share of neighbouring samples whose target does not fall. About 0.5
    when shuffled, also for most time series; 1 or 0 when the rows are sorted by the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """Training batches by their fingerprints (of what entered the model)."""

    seen: int = 0
    distinct: int = 0
    repeated: int = 0
    """Batches whose very content had been seen before."""
    in_a_row: int = 0
    """...as the batch directly before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Randomness:
    """The state of the global random generators before the first steps' forward passes."""

    seen: int = 0
    again: int = 0
    """Steps before which something had been drawn, but the state was one that had been before: somebody seeds anew."""
    generators: tuple[Generator, ...] = ()
    starts: tuple[Start, ...] = ()
    """Of the trainings that one line of the script began several times."""
    text_hash_varies: bool = False
    """Python gives strings another hash in every process (PYTHONHASHSEED is not set): sets of strings come in another order, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputScale:
    """Statistics of what entered the model, over the first batches."""

    role: str = "train"
    dtype: str = ""
    shape: tuple[int, ...] = ()
    mean: float = 0.0
    std: float = 0.0
    minimum: float = 0.0
    maximum: float = 0.0
    feature_std_min: float = 0.0
    feature_std_max: float = 0.0
    feature_abs_mean_max: float = 0.0
    batches: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureScale:
    """Mean and spread of single features (evenly spread ones, where there are many)."""

    rows: int = 0
    minimum: float = 0.0
    maximum: float = 0.0
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    row_mean: tuple[float, float] | None = None
    """Lowest and highest mean of a single row,"""
    row_std: tuple[float, float] | None = None
    """...and spread within one: the same for all rows where each is standardised by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnScale:
    """What one whole pass over a set of samples has to the last digits, and can only have by itself."""

    kind: str = "standardised"
    """Each feature has mean 0 and spread 1; or "min-max": it runs from 0 (or -1) to 1, with a single row at each end."""
    features: int = 0
    """That have it,"""
    of: int = 0
    """...of those that vary."""
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoredSet:
    """How well the model did on one set of samples, wherever the script evaluates it."""

    loader: int | None = None
    place: Place | None = None
    """Where the model is called, at first,"""
    called_from: Place | None = None
    """...and where the function around that."""
    samples: int = 0
    """Of the last pass."""
    steps: tuple[int, ...] = ()
    """Training steps before each pass,"""
    accuracy: tuple[float | None, ...] = ()
    loss: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Samples that the model was given after training, which are those of an earlier evaluation, prepared otherwise."""

    place: Place | None = None
    """Where the model is called,"""
    called_from: Place | None = None
    """...and where the function around that."""
    texts: tuple[str, ...] = ()
    """Both as they are written, with the names of the functions that they stand in."""
    loader: int | None = None
    reference: Place | None = None
    """Where the model is called with the same samples as they were evaluated,"""
    reference_from: Place | None = None
    reference_loader: int | None = None
    rows: int = 0
    map: str = ""
    """From those to these, in words (those are called training, these serving)."""
    back: str = ""
    """...and back again, as code."""
    answers: int = 0
    """Answers to the same samples by the same weights; 0 if the weights had moved between both."""
    changed: int = 0
    """Those that differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A stretch of training, where training went over to other samples (or to another way of giving them to the model) at least once."""

    first: int
    """Its first step that was looked at,"""
    last: int
    """...its last,"""
    steps: int
    """...and how many were looked at."""
    rows: int = 0
    met: int = 0
    """Of these rows, those that an earlier stretch had too, number for number."""
    recognised: float = 0.0
    """How likely such a row would have been known: 1 if earlier stretches were looked at step by step."""
    labels: int = 0
    """Different class labels,"""
    labels_met: int = 0
    """...and those of them that an earlier stretch had too."""
    loader: int | None = None
    place: Place | None = None
    """Where the model is called,"""
    called_from: Place | None = None
    """...and where the function around it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordShift:
    """Ids at each position of evaluation's rows beside training's: shares of the tokens that would have to change to make both alike, means over the positions."""

    positions: int = 0
    ids: int = 0
    train_rows: int = 0
    evaluation_rows: int = 0
    distance: float = 0.0
    by_chance: float = 0.0
    """...that so few rows of the same kind would show,"""
    in_order: float = 0.0
    """...and if ids were free: of the shares in the order of their size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """Which share of the rows begins, and which ends, with what shorter ones are filled up with."""

    id: int = 0
    train: tuple[float, float] = (0.0, 0.0)
    evaluation: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Evaluated windows of which most stretches stand in windows of training, number for number but at other places: further back in one, further ahead in another."""

    rows: int = 0
    """Looked at, none of them a row of training,"""
    found: int = 0
    covered: float = 0.0
    """Share of their stretches that training holds, median."""
    steps: int = 0
    """Of a stretch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationData:
    """The samples that one evaluation showed the model, beside those that it was trained on."""

    place: Place | None = None
    """Where the model was called,"""
    called_from: Place | None = None
    """...and where the function around that call was."""
    texts: tuple[str, ...] = ()
    """Both as they are written."""
    loader: int | None = None
    train_loader: bool = False
    """Its batches came from the loader that training uses."""
    passes: int = 0
    """Steps of the run after which it came,"""
    first: int = 0
    """...the first of them,"""
    last: int = 0
    """...and the last."""
    rows: int = 0
    distinct: int = 0
    found: int = 0
    """Rows that training had met too, number for number."""
    samples: tuple[int, ...] = ()
    """...as indices of the evaluated data set, where a loader tells; at most 1,000."""
    found_distinct: int = 0
    found_first: int | None = None
    """Rows of the first pass that training had met before it (None if it came before all training),"""
    first_rows: int = 0
    """...of so many,"""
    found_later: int = 0
    """...and of the second pass."""
    anew_rows: int = 0
    """Rows of the first pass that showed others than the first two, which showed the same; 0 if there is none,"""
    anew_found: int = 0
    """...those of them that training had met before,"""
    anew_after: int = 0
    """...and the step of the pass before it."""
    part: int = 0
    """Samples of the part of a data set (`Subset`, `SubsetRandomSampler`) that its loader dealt out, where there is one,"""
    part_shared: int = 0
    """...and those of them that belong, by their indices, to a part that training's loader had dealt out before: of the first two passes, the one that shared most."""
    overlap: Overlap | None = None
    batches: int = 0
    whole_batches: int = 0
    """Batches of which (nearly) every row was known from training."""
    rows_in_whole_batches: int = 0
    train_rows: int = 0
    train_distinct: int = 0
    train_again: float = 0.0
    """Of the newest training rows, the share that training had met before: near 1 when all of its data was seen."""
    train_whole: bool = True
    """Training gave the model nothing else (such as points at which it asks for derivatives)."""
    train_twins: float = 0.0
    """How likely two rows of one training batch are equal."""
    whole_numbers: bool = False
    """Inputs hold whole numbers only: equal rows may be chance."""
    width: int = 0
    same_shape: bool = True
    shape: tuple[int, ...] = ()
    """Of one sample."""
    words: WordShift | None = None
    filled: Filled | None = None
    train: FeatureScale | None = None
    evaluation: FeatureScale | None = None
    own_scale: OwnScale | None = None
