"""What experiments on a double of the model showed: which of its outputs answer to which of its inputs."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchMixing:
    """One sample of a batch was replaced by another, and predictions for other samples changed."""

    model: str = ""
    step: int = 0
    samples: int = 0
    changed: int = 0
    """How many other samples' predictions changed when one was replaced."""
    effect: float = 0.0
    """Largest change in another sample's prediction, as a share of the largest change anywhere."""
    op: str = ""
    """The first operation of the forward pass in which samples meet."""
    place: Place | None = None
    call: str = ""
    layer_kind: str = ""
    """Class of the torch layer that the user called ("LSTM", "TransformerEncoder"); "" if the operation stands in the user's own forward."""
    shape: tuple[int, ...] = ()
    """Shape of what went into the operation."""
    result: tuple[int, ...] = ()
    """...and of what came out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FutureLeak:
    """One position of a sequence was replaced, and the prediction that has this very value as its target changed."""

    model: str = ""
    step: int = 0
    positions: int = 0
    """Length of the sequence."""
    ahead: int = 1
    """The target at position t is the input at position t + ahead; 0 if target and input are the same sequence."""
    effect: float = 0.0
    """Change of the prediction whose answer was replaced, as a share of the largest change anywhere."""
    earlier: int = 0
    """How many predictions before the replaced position changed."""
    op: str = ""
    place: Place | None = None
    call: str = ""
    layer_kind: str = ""
    loss_at: Place | None = None
    loss_call: str = ""
    compared: int = 0
    """How many target values were compared with the input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStatistics:
    """A batch-norm layer in training mode and how many values it takes each mean and variance from."""

    layer: str
    kind: str = ""
    smallest: int = 0
    """Values per channel (samples times positions), median of the training passes seen."""
    samples: int = 0
    """Samples per batch, median."""
    passes: int = 0
    affine: bool = True
    tracks: bool = True
    place: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalGrowth:
    """Root mean square of what one line of the model gives, each time it is passed in the first forward pass (layers, time steps)."""

    op: str = ""
    place: Place | None = None
    call: str = ""
    passes: int = 0
    first: float = 0.0
    middle: float = 0.0
    last: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Probes:
    """All of it, and whether there was an experiment at all."""

    samples_tested: bool = False
    """Samples were replaced and outputs compared, with a clear answer."""
    future_tested: bool = False
    """The targets were seen to be later inputs, positions were replaced and outputs compared."""
    mixing: tuple[BatchMixing, ...] = ()
    leaks: tuple[FutureLeak, ...] = ()
    batch_norms: tuple[BatchStatistics, ...] = ()
    growth: tuple[SignalGrowth, ...] = ()
    """The lines whose results grow most, most first."""
