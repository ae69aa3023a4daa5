"""The first time a value of a training step was not finite: what was kept of that step, and what was not.

The tensors themselves lie in a file of their own beside the record (see `record/incident.py`); here is only what describes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sickbay.facts.data import NonfiniteBatch
from sickbay.facts.loss import FirstInvalid, Op
from sickbay.facts.run import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorKept:
    """One tensor of the batch, or one that a model was given."""

    name: str = ""
    """Where it is: "[0]", "['image']", "kwargs['mask']"; "" if the batch is this one tensor."""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    minimum: float | None = None
    maximum: float | None = None
    """Of its finite values."""
    invalid: int = 0
    """How many of its values are NaN or infinite."""
    rows: tuple[int, ...] = ()
    """Positions along its first dimension that hold such values, at most 16."""
    kept: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelGiven:
    """What one call of a model was given."""

    model: str = ""
    tensors: tuple[TensorKept, ...] = ()
    stateless: bool = False
    """It has no weights and no buffers: a loss function, mostly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartKept:
    """One part of an incident: "batch", "inputs", "rng", "weights" or "optimizer"."""

    part: str
    tensors: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PartMissing:
    """What of a part was not kept, and why."""

    part: str
    why: str = ""
    names: tuple[str, ...] = ()
    """The first few of it."""
    tensors: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """What was kept of the first step with a value that was not finite. Statistics only: no sample is in here."""

    id: str = ""
    """The same in both of its files: they belong together."""
    kind: str = ""
    """What was not finite: "loss", "gradient" or "weight"; "crash" for an exception between forward pass and update."""
    step: int = 0
    epoch: int | None = None
    loss: str = ""
    """The value of the loss, as text: "nan", "inf", "2.31"."""
    rates: tuple[float, ...] = ()
    """Learning rate of each optimizer's first group."""
    message: str = ""
    """Of the exception, for a crash."""
    time: float = 0.0
    script: str = ""
    argv: tuple[str, ...] = ()
    cwd: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that results can depend on."""
    environment: Environment = field(default_factory=Environment)
    first: FirstInvalid | None = None
    data: tuple[NonfiniteBatch, ...] = ()
    """Where the data itself was not finite."""
    batch: tuple[TensorKept, ...] = ()
    fed: bool | None = None
    """The model was given tensors of this batch, as they are; None if that could not be told."""
    inputs: tuple[ModelGiven, ...] = ()
    """What each call of a model since the backward pass before was given, oldest first."""
    samples: tuple[int, ...] = ()
    """Data set indices of the batch, row by row, where the loader tells; at most 1,024."""
    operations: tuple[Op, ...] = ()
    """The operations that the loss is made from, nearest first, as an earlier (or this) step showed them."""
    graph: tuple[str, ...] = ()
    """The nodes of autograd's graph behind the loss, nearest first."""
    rng: Mapping[str, str] = field(default_factory=dict)
    """Each random generator whose state was kept, and when it was taken: "forward" or "incident"."""
    weights: str = "before"
    """Whether the weights are those "before" or "after" the update of this step."""
    kept: tuple[PartKept, ...] = ()
    missing: tuple[PartMissing, ...] = ()
    budget: int = 0
    file: str = ""
    """The file with the tensors, beside this one; "" if it could not be written."""
    bytes: int = 0
    """Its size."""
    seconds: float = 0.0
    """What keeping it took."""
