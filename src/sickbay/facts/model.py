"""What the models, their layers and their parameters are."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One module of the user's model."""

    name: str
    kind: str
    """Class name: "Linear", "Conv2d", "TransformerEncoderLayer"..."""
    parameters: int = 0
    """Elements in its own parameters (not its children's)."""
    trainable: int = 0
    depth: int = -1
    """Order of first call in the forward pass; -1 if never called."""
    mode_sensitive: bool = False
    """Behaves differently in train and eval mode (active dropout, batch norm with running statistics)."""
    leaf: bool = True


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
