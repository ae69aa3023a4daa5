"""How a run died: the exception that ended it, and what was at hand when it was raised."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class CrashTensor:
    """A tensor that took part in the operation that failed."""

    role: str = ""
    """What the operation calls it: "input", "target", "weight"; "" where it has no name for it."""
    variable: str = ""
    """What the user calls it."""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    device: str = ""
    parameter: str = ""
    """Its name, if it is a parameter of a model."""
    made_by: str = ""
    """The operation that made it, on traced steps..."""
    made_in: str = ""
    """...the layer in which..."""
    made_at: Place | None = None
    """...and the user's line."""
    entered: bool = False
    """It was given to the outermost module as it is: it comes from the data, not from a layer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BadIndices:
    """Class labels, tokens or other indices that an operation refused."""

    function: str = ""
    variable: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    allowed: int = 0
    """Legal are 0 to this minus one."""
    ignored: int | None = None
    """The value that is legal besides (ignore_index)."""
    lowest: float = 0.0
    highest: float = 0.0
    values: tuple[float, ...] = ()
    """The distinct ones that are not legal, at most 8."""
    count: int = 0
    total: int = 0
    rows: tuple[int, ...] = ()
    """Sample positions within the batch, at most 16."""
    samples: tuple[int, ...] = ()
    """The same as data set indices, where the loader tells."""
    one_hot: bool = False
    """Every row holds a single one and otherwise zeros."""
    whole: bool = True
    """All of them are whole numbers."""
    outputs: str = ""
    """Of labels: the last layer with as many outputs as there are legal ones..."""
    outputs_kind: str = ""
    outputs_at: Place | None = None
    """...and where it was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attached:
    """A variable of the user's that had its history (a graph) behind it when the run died."""

    name: str
    shape: tuple[int, ...] = ()
    operation: str = ""
    several: bool = False
    """It is a tuple or list of such tensors (the state of an LSTM)."""
    file: str = ""
    function: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class InplaceWrite:
    """An operation that overwrote a tensor which the backward pass still needed."""

    operation: str = ""
    layer: str = ""
    place: Place | None = None
    built_at: Place | None = None
    """Where the layer was made that did it by itself (`nn.ReLU(inplace=True)`)."""
    call: str = ""
    shape: tuple[int, ...] = ()
    version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Bytes, when memory ran out."""

    requested: int | None = None
    device: str = "cpu"
    resident: int | None = None
    """Of the whole process."""
    available: int | None = None
    """What the machine, the container or the device has in all."""
    parameters: int = 0
    gradients: int = 0
    optimizer: int = 0
    batch: int = 0
    batch_size: int = 0
    largest: tuple[tuple[str, int], ...] = ()
    """The largest variables at hand, with their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """An exception that ended the script."""

    kind: str = ""
    message: str = ""
    place: Place | None = None
    step: int = 0
    call: str = ""
    """The user's expression that failed."""
    operation: str = ""
    """What failed in torch: "cross_entropy", "Linear", "backward"..."""
    layer: str = ""
    """The innermost layer of the user's model that was at work."""
    layer_kind: str = ""
    layer_text: str = ""
    """...as it prints: "Linear(in_features=256, out_features=10, bias=True)"."""
    layer_built_at: Place | None = None
    entered_at: Place | None = None
    """The user's line that called the outermost module."""
    tensors: tuple[CrashTensor, ...] = ()
    reshaped_at: Place | None = None
    """Where predictions ceased to have one row per target, on traced steps..."""
    reshaped_by: str = ""
    """...and the operation."""
    indices: BadIndices | None = None
    attached: tuple[Attached, ...] = ()
    needed_at: Place | None = None
    """Where the tensor that was overwritten had been made, on traced steps."""
    writes: tuple[InplaceWrite, ...] = ()
    stepped: tuple[str, ...] = ()
    """Parameters that fit the overwritten tensor and were changed by an optimizer..."""
    stepped_at: Place | None = None
    """...on this line."""
    backwards: int = 0
    """How often backward had been called on the crash's line, this time included."""
    others: tuple[Place, ...] = ()
    """Other lines on which backward had been called."""
    memory: MemoryUse | None = None
