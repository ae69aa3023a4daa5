"""How a training loss comes about: the operations that feed it, and what they do to values and gradients."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.nouns import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Op:
    """One operation of the forward pass as autograd and the call trace saw it."""

    name: str
    """"softmax", "log_softmax", "linear", "relu", "detach"... (the function's name, without underscores at the ends)"""
    place: Place | None = None
    shape: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A known loss function (F.cross_entropy, nn.MSELoss...) that feeds a training loss."""

    function: str
    called_at: Place | None = None
    call: str = ""
    """The expression as the user wrote it: "criterion(model(x), y)"."""
    module: str = ""
    """nn module class if called through one ("CrossEntropyLoss")."""
    input_shape: tuple[int, ...] = ()
    target_shape: tuple[int, ...] = ()
    input_dtype: str = ""
    target_dtype: str = ""
    classes: int | None = None
    reduction: str = "mean"
    label_smoothing: float = 0.0
    fed_by: tuple[Op, ...] = ()
    """The operations that made its input, nearest first, shape-only operations left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Broadcast:
    """An elementwise operation on the way to the loss whose result is larger than both its operands."""

    op: str
    place: Place | None = None
    call: str = ""
    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    result: tuple[int, ...] = ()
    left_text: str = ""
    right_text: str = ""
    prediction: str = ""
    """"left" or "right": which operand depends on trainable parameters; "" if both or neither."""
    in_loss_function: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where a value that depends on trainable parameters lost its gradient on the way to the loss."""

    op: str
    """"detach", "data", "item", "numpy", "no_grad", "argmax", "tensor"..."""
    place: Place | None = None
    parameters: tuple[str, ...] = ()
    """Trainable parameters behind the cut that no loss reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogitsThroughSoftmax:
    """A log-softmax (or logits loss) whose input is already squashed: the graph pattern, wherever it stands."""

    outer: Op
    inner: Op


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """One place in the user's source that starts backward passes: a training loss."""

    index: int
    backward_at: Place | None = None
    variable: str = ""
    backwards: int = 0
    optimizers: tuple[int, ...] = ()
    """Optimizers that stepped on its gradients."""
    heads: tuple[Head, ...] = ()
    operations: tuple[Op, ...] = ()
    """Nearest the loss first, at most 64."""
    squashed: tuple[LogitsThroughSoftmax, ...] = ()
    broadcasts: tuple[Broadcast, ...] = ()
    cuts: tuple[Cut, ...] = ()
    leaf: bool = False
    """The loss has no graph behind it at all (rebuilt tensor with requires_grad=True)."""
    graph_reads: int = 0
    activations: tuple[Op, ...] = ()
    """Activation functions seen in the graph, in forward order."""
