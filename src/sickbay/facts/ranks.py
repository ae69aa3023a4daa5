"""The processes of a distributed run: what each says of itself, and what their records show side by side.

`Rank` is written by each process into its own record. `Ranks` is made after the run, from all of them (`record/ranks/`), and is part of the one record that is diagnosed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardSampler:
    """How a loader deals out its data set to the ranks: its DistributedSampler."""

    kind: str = ""
    """Class of the sampler."""
    replicas: int = 1
    """Among how many ranks it divides,"""
    rank: int = 0
    """...and which part it takes."""
    shuffle: bool = False
    seed: int = 0
    epochs: tuple[int, ...] = ()
    """What `set_epoch` had set when each pass began, at most 16 of them,"""
    orders: tuple[int, ...] = ()
    """...and a key of the indices that each of these passes began with."""
    place: Place | None = None
    """Where the loader is gone through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """One process of a distributed run."""

    rank: int = 0
    world_size: int = 1
    launch: str = ""
    """The same for all processes that belong together."""
    attempt: int = 0
    """Times that the launcher had started them before."""
    joined: bool = False
    """`init_process_group` was called; otherwise only the launcher's variables say that there are others."""
    backend: str = ""
    host: str = ""
    local: int = 0
    """Ranks on this machine, where the launcher says so."""
    model: str = ""
    """A key of the names and shapes of all that is trained."""
    wrapper: str = ""
    """What keeps the replicas alike: "DistributedDataParallel", "FullyShardedDataParallel", or ""."""
    wrapped_at: Place | None = None
    replicas: tuple[int, ...] = ()
    """The ranks that the wrapper keeps alike; () if all."""
    through: int = 0
    """Training's forward passes through the wrapper,"""
    past: int = 0
    """...and past it, through the model inside,"""
    past_at: Place | None = None
    unwrapped: tuple[str, ...] = ()
    """Trained parameters that are in no wrapper, at most 64."""
    unsynced: int = 0
    """Steps all of whose backward passes ran inside `no_sync()`,"""
    synced: int = 0
    """...and the others; of those that were looked at."""
    own_loss: bool = True
    """It calls backward on a loss, not on activations with a gradient that another rank has sent (a stage of a pipeline)."""
    joins: bool = False
    """The script uses `Join`, which is made for ranks with different numbers of batches."""
    collectives: Mapping[str, int] = field(default_factory=dict)
    """Calls by what they were given: "gradients", "late gradients" (after the step that should have used them), "first weights" (before the first step),
    "weights", "forward" (inside a forward or backward pass) and "other"."""
    collective_at: Mapping[str, Place] = field(default_factory=dict)
    loader: int | None = None
    """Index of the loader that training uses."""
    shard: ShardSampler | None = None
    """...and how it divides its data."""
    rows: tuple[tuple[int, ...], ...] = ()
    """Keys of a few rows of each of the first training batches, in their order."""
    sketch: tuple[int, ...] = ()
    """The smallest keys of all rows of the first epoch: two ranks that see the same rows have the same ones."""
    rows_seen: int = 0
    """Rows that the sketch stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankSummary:
    """One rank of a run, as its record tells."""

    rank: int
    record: str = ""
    """Its file."""
    host: str = ""
    steps: int = 0
    backwards: int = 0
    batches: int | None = None
    """Of one pass through the loader that training uses."""
    ended: float = 0.0
    """Seconds since 1970; 0 if it never said."""
    finished: bool = False
    """Its process came to its own end (also by an exception), and was not ended from outside."""
    crash: str = ""
    """Kind of the exception that ended it,"""
    message: str = ""
    crash_at: Place | None = None
    lost_contact: bool = False
    """...which says no more than that another rank was gone."""
    broken_step: int | None = None
    """First step at which something was not finite,"""
    broken: str = ""
    """...and what: "loss", "gradient" or "weight"."""
    loading: float = 0.0
    forward: float = 0.0
    rest: float = 0.0
    waiting: float = 0.0
    """Seconds per step: for its batch, in the model, in all else of its own, and in backward passes and collectives, where it waits for the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """The weights of replicas at the same steps."""

    steps: tuple[int, ...] = ()
    """Steps before whose backward pass all of them were compared,"""
    ranks: int = 0
    """...of so many ranks,"""
    parameters: int = 0
    """...and so many tensors."""
    differ: tuple[int, ...] = ()
    """Those of the steps at which they differ."""
    together_again: int | None = None
    """A step at which tensors that had differed were the same again."""
    names: tuple[str, ...] = ()
    """Tensors that differ at the first of these steps, at most 16,"""
    count: int = 0
    """...and how many there are."""
    last_count: int = 0
    """...at the last of these steps."""
    gap: float = 0.0
    """Largest distance between a rank and the lowest one at the last such step, as a share of the weights' own size,"""
    moved: float = 0.0
    """...and how far training had moved them by then."""
    others: tuple[int, ...] = ()
    """Ranks that differ from the most common state at the first of these steps, at most 16."""
    buffers: tuple[str, ...] = ()
    """Buffers that ended far apart (running statistics of normalisation are not compared), at most 16."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SameRows:
    """The rows that the ranks trained on, side by side."""

    batches: int = 0
    """Batches that were compared, by their place in the order,"""
    ranks: int = 0
    same: int = 0
    """...of which a rank was given the very rows that another was given at the same place: the most of any rank,"""
    pairs: tuple[tuple[int, int], ...] = ()
    """...those ranks, each with one that was given the same, at most 16,"""
    distinct: int = 0
    """...and different ones among them."""
    overlap: float | None = None
    """Share of the rows of the first epoch that two ranks have in common, the least of all pairs with the first rank; None if they did not see whole passes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """The rank that the others wait for."""

    rank: int = 0
    part: str = ""
    """What takes it longer: "loading", "forward" or "rest"."""
    own: float = 0.0
    """Seconds of a step that it needs for that part,"""
    others: float = 0.0
    """...and the others' median."""
    excess: float = 0.0
    """Seconds of a step by which it is behind the second slowest,"""
    step: float = 0.0
    """...of so long a step."""
    usual: float = 0.0
    """The same for the median step."""
    alike: bool = False
    """All ranks take the same time for a step, as they do where they wait for each other."""
    always: float = 0.0
    """Share of all that was waited for any rank that was waited for this one."""
    steps: int = 0
    seconds: float = 0.0
    """In all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """All processes of a distributed run."""

    world_size: int = 1
    read: int = 0
    """The rank whose record this is,"""
    because: str = ""
    """...and why it is not rank 0."""
    all: tuple[RankSummary, ...] = ()
    facts: tuple[Rank, ...] = ()
    """What each said of itself, without its rows, in the same order."""
    missing: tuple[int, ...] = ()
    """Ranks that left no record here, at most 64,"""
    missing_count: int = 0
    elsewhere: bool = False
    """...which may be because they ran on other machines."""
    attempts: int = 1
    weights: Apart | None = None
    rows: SameRows | None = None
    lag: Lag | None = None
