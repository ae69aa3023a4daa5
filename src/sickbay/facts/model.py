"""What the models, their layers and their parameters are."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One module of the user's model."""

    name: str
    kind: str
    """Class name: "Linear", "Conv2d", "TransformerEncoderLayer"..."""
    parameters: int = 0
    """Elements in its own parameters (not its children's)."""
    trainable: int = 0
    mode_sensitive: bool = False
    """Behaves differently in train and eval mode (active dropout, batch norm with running statistics)."""
    leaf: bool = True
    switched_on: bool = False
    """The script set `requires_grad = True` on the module itself, which torch makes a new attribute of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A root module: one that the script calls directly."""

    name: str
    layers: tuple[Layer, ...] = ()
    compiled: bool = False
    loaded: bool = False
    """load_state_dict was called on it (or on a part of it)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A trainable or frozen tensor that belongs to a model, is held by an optimizer, or is reached by a loss."""

    name: str
    shape: tuple[int, ...] = ()
    size: int = 0
    trainable: bool = True
    layer: str = ""
    layer_kind: str = ""
    optimizer: int | None = None
    """Index of the optimizer that holds it; None if none does."""
    in_model: bool = True
    """Belongs to a module that was called in the run."""
    called: bool = True
    """Its own module was called in a forward pass."""
    loaded: bool = False
    """Its module went through load_state_dict: untrained on purpose is plausible."""
    reached: bool | None = None
    """A loss's backward gave it a gradient at least once; None when this could not be observed."""
    moved: bool | None = None
    """Its values changed by at least one bit during the run; None when not observed twice."""
    initial_mean: float | None = None
    initial_std: float | None = None
    replaced_by: str | None = None
    """For an orphan in an optimizer: the name of the module parameter of the same shape that took its place."""
    put_at: Place | None = None
    """For a parameter of the model that no optimizer holds: the line that put it (or made its layer) there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """The values of one weight matrix or kernel as training found them, before its first update, and what became of them."""

    name: str
    shape: tuple[int, ...] = ()
    layer_kind: str = ""
    step: int = 0
    """When it was first looked at: 0, or the step at which its model first trained."""
    trainable: bool = True
    mean: float = 0.0
    rms: float = 0.0
    """Root mean square of its values."""
    signal: float | None = None
    """How much what it gave varied over the samples of its first batch (per unit, root mean square over units): biases do not count."""
    looked_at: tuple[int, int] = (0, 0)
    """Rows and columns that were compared (all of a small one). A row is `weight[i]`, flattened; a column is `weight[:, j]`."""
    distinct: tuple[int, int] = (0, 0)
    """...how many of them differ from each other to the last bit."""
    distinct_later: tuple[int, int] | None = None
    """...and at the newest look, where few of them differed at first: differing by more than a thousandth of the way they moved."""
    later_step: int = 0
    moved: bool | None = None
    """Where few of them differed at first: any value changed since."""
    twin: str = ""
    """Another trainable weight that held the very same random numbers (a copied branch)."""
    twin_later: bool | None = None
    """...and still does, to a thousandth of the way that both moved."""
    drawn: bool = False
    """Its values are the very ones that a random initialisation drew in this run: neither loaded nor trained."""
    set_by: str = ""
    """The newest function of torch.nn.init that was seen to fill it ("normal_")."""
    set_at: Place | None = None
    """...and the user's line of that call; of the layer's making if torch made it by itself (see `set_by_user`)."""
    set_by_user: bool = False
    built_at: Place | None = None
    """Where its layer was made."""
    frozen_at: Place | None = None
    """The call of requires_grad_(False) that was seen on a module around it."""
    feeds_trained: bool = False
    """It is frozen, and what it computes goes into a layer that is trained."""
    fed_by_trained: bool = False
    """It is frozen, and gradients pass through it to layers that are trained."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstLoss:
    """What the first call of a known loss function compared: how far the untrained model was off."""

    function: str
    value: float = 0.0
    prediction_rms: float = 0.0
    target_rms: float = 0.0
    step: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointRead:
    """A file of weights that torch.load read, and whether the model that trained next holds any of them."""

    place: Place | None = None
    file: str = ""
    step: int = 0
    tensors: int = 0
    """Weights in it."""
    fitting: int = 0
    """Weights of the model that trained next which have a counterpart of their shape in it."""
    weights: int = 0
    """...of this many."""
    present: int = 0
    """...and this many hold its very values when training goes on."""
    drawn: int = 0
    """...and this many hold the very numbers that a random initialisation drew."""
    used_elsewhere: bool = False
    """Its values went into another module that the run calls (a teacher, a feature extractor)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateLoad:
    """One call of load_state_dict on a module."""

    module: str
    place: Place | None = None
    step: int = 0
    strict: bool = True
    own: int = 0
    """Entries that the module has."""
    given: int = 0
    """Entries of the state that was loaded."""
    matched: int = 0
    """...that went into the module."""
    own_values: int = 0
    matched_values: int = 0
    missing: tuple[str, ...] = ()
    """Names the module has and the state does not, at most 8."""
    unexpected: tuple[str, ...] = ()
    changed: bool | None = None
    """Any value of the module changed by it."""
    weights: int = 0
    """Weights that were loaded and belong to the model that trained next."""
    kept: int = 0
    """...that still held the loaded values then."""
    redrawn: int = 0
    """...that held values which a random initialisation drew after the loading."""
    redrawn_at: Place | None = None
    trained: bool = False
    """The module (or a part of it) is in the model that trained next."""
    called: bool = False
    """The module was called in a forward pass of the run."""
