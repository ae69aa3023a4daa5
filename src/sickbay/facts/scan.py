"""What an examination of loaders showed, before any training: the vocabulary between looking (`exams/scan`) and judging (`scanned`).

Nothing here is a value of a sample: indices, counts, shapes, types and blurred ranges only. What an exception said is kept apart (`Failure.message`), and shown only where the
user asks for samples.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sickbay.facts.data import EvaluationData, InputScale, LabelOrder, Loader
from sickbay.facts.examples import DataProbe, Outlying
from sickbay.nouns import NotChecked, Place


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRow:
    """A sample that holds NaN or infinity."""

    batch: int = 0
    row: int = 0
    """...in its batch,"""
    index: int | None = None
    """...in the data set, where the sampler tells."""
    columns: tuple[int, ...] = ()
    """At most 8."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSeen:
    """One tensor of the batches, over the whole pass."""

    name: str = ""
    """As it is found in a batch: "0", "image", "inputs.mask"."""
    role: str = "input"
    """"input" or "target"."""
    kind: str = ""
    """"table", "series", "image", "tokens", "numbers", "ragged", "text" or "object"."""
    dtype: str = ""
    dtypes: int = 1
    shape: tuple[int, ...] = ()
    """Of one sample, the commonest."""
    shapes: int = 1
    """How many there are, at most 64;"""
    odd_shapes: tuple[tuple[int, ...], ...] = ()
    """...those that came seldom."""
    rows: int = 0
    scale: InputScale | None = None
    minimum: float = 0.0
    maximum: float = 0.0
    """Blurred to four digits."""
    nan: int = 0
    infinite: int = 0
    only_zero_else: bool = False
    """Whatever is finite beside the infinities is zero: a mask to be added to attention."""
    bad_rows: int = 0
    bad_batches: int = 0
    bad: tuple[BadRow, ...] = ()
    """At most 1,000 of them."""
    bad_columns: tuple[int, ...] = ()
    columns: int = 0
    constant: tuple[int, ...] = ()
    """Columns of a table that never vary."""
    missing: tuple[int, ...] = ()
    """Columns of a table that are never finite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A sample (or a batch) that could not be loaded."""

    batch: int = 0
    index: int | None = None
    path: str = ""
    kind: str = ""
    """The exception's class,"""
    place: Place | None = None
    """...the user's line that raised it,"""
    message: str = ""
    """...and what it said, which may hold values of the sample: shown only where samples may be."""
    collate: bool = False
    """The samples were made, but could not be put together into a batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSeen:
    """One pass over one loader."""

    name: str = "train"
    kind: str = ""
    loader: Loader = field(default_factory=lambda: Loader(index=0))
    stream: bool = False
    """Of a data set that can only be read from its beginning (IterableDataset, a generator)."""
    replacement: bool = False
    """Its sampler draws with replacement, or by weights."""
    own_batches: bool = False
    """Batches are drawn by a sampler of the user's own (episodes, buckets)."""
    pinned: bool = False
    cuda: bool = False
    """A GPU is there to copy to."""
    batches: int = 0
    rows: int = 0
    batch_size: int = 0
    """The commonest,"""
    batch_sizes: int = 1
    """...how many there are,"""
    last_batch: int = 0
    """...and the last one's."""
    indexed: bool = False
    tensors: tuple[TensorSeen, ...] = ()
    changed: int = 0
    """Batches with other parts than the first."""
    failures: tuple[Failure, ...] = ()
    """At most 1,000."""
    failed: int = 0
    failed_batches: int = 0
    ended_by: str = ""
    """The exception that ended the pass early; "interrupted"; "" where it ended by itself."""
    target: str = ""
    """The tensor that holds one target per sample."""
    target_kind: str = ""
    """"classes", "numbers" or ""."""
    labels: LabelOrder | None = None
    histogram: tuple[tuple[int, int], ...] = ()
    """Class, samples; at most 1,000 classes."""
    again: int = 0
    """Samples drawn more than once in this pass (by their index),"""
    equal: int = 0
    """...and samples equal, number for number, to an earlier one of another index."""
    looked_up: int = 0
    """Samples among which equal ones were looked for,"""
    part: float = 1.0
    """...which is this share of all."""
    same_order: bool | None = None
    """Two epochs draw the samples in one and the same order."""
    resumed_at: int = 0
    """Batches that an earlier, interrupted scan had seen."""
    waited: float = 0.0
    """Seconds that the loader took,"""
    own: float = 0.0
    """...and that looking took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Twins:
    """Samples of the validation loader that are, or nearly are, samples of the training loader."""

    pairs: tuple[tuple[int, int], ...] = ()
    """(validation's index, training's index), at most 1,000."""
    rows: int = 0
    """Of validation, looked at,"""
    found: int = 0
    """...found in training,"""
    expected: float = 0.0
    """...and as many of training's own would be found among its others."""
    by: str = ""
    """"picture" or "text"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Augmentation:
    """One sample, made several times as the loader's own workers make it."""

    random: bool = False
    """It comes out differently each time."""
    workers: int = 0
    same_across_workers: bool = False
    same_each_epoch: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """Everything that an examination of one or two loaders showed."""

    train: LoaderSeen = field(default_factory=LoaderSeen)
    val: LoaderSeen | None = None
    probe: DataProbe | None = None
    overlap: EvaluationData | None = None
    exact: Twins | None = None
    near: Twins | None = None
    outlying: tuple[tuple[str, Outlying], ...] = ()
    """By loader."""
    augmentation: Augmentation | None = None
    not_checked: tuple[NotChecked, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that is wrong with a loader, or worth a remark."""

    cause: str
    """A cause of the catalogue where `code` is given; else a name that only scans use."""
    code: str = ""
    title: str = ""
    certainty: str = "possible"
    """"proven" and "likely" are wrong; "possible" is a remark."""
    loader: str = "train"
    text: str = ""
    """What was seen, with the numbers."""
    indices: tuple[int, ...] = ()
    """Samples of the data set (or, where the loader tells no index, positions in the stream), at most 1,000."""
    positions: bool = False
    """...they are positions."""
    columns: tuple[int, ...] = ()
    tensor: str = ""
    place: Place | None = None
    fix: str = ""
    diff: str = ""
    details: tuple[str, ...] = ()
    """Lines that may hold values of samples: shown only where samples may be."""

    @property
    def wrong(self) -> bool:
        return self.certainty != "possible"
