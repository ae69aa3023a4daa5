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
class Values:
    """The numbers that a tensor held, over all reads of it so far."""

    count: int = 0
    """How many numbers were looked at; non-finite ones are left out of everything below."""
    minimum: float = 0.0
    maximum: float = 0.0
    mean: float = 0.0
    std: float = 0.0
    whole: bool = False
    """Every number is a whole number."""
    distinct: tuple[int, ...] = ()
    """The different whole numbers, in order; empty when they are too many (over 100) or not whole."""
    zeros: float = 0.0
    """Share of exact zeros."""
    row_sum: tuple[float, float] | None = None
    """Smallest and largest sum over the second dimension (classes)."""
    row_logsumexp: tuple[float, float] | None = None
    """...and of its log-sum-exp: zero for log-probabilities."""


PICKS = frozenset({"gather", "take_along_dim", "masked_select"})
"""Operations that choose some of the values: the Q-values of the actions taken, say."""


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
    raw: bool = False
    """The input is a layer's own output: nothing after it scales it, or it is only clamped."""
    input: Values | None = None
    target: Values | None = None
    target_source: Values | None = None
    """What the target was before the script cast it to integers in the step itself (`y.long()`)."""
    target_is_input: bool = False
    """The target also went through the model (autoencoders)."""
    target_is_learned: bool = False
    """The target was made with weights, too (of a target network, a teacher, the model itself): it moves with them."""
    shared_input: bool = False
    """The input also reaches the loss by another way than through this function."""
    weighted: bool = False
    """A weight was given for each value: it may hide some of them."""
    weights: tuple[float, ...] = ()
    """How much each class counts (`weight`; of yes and no, `pos_weight`); empty if all count the same."""
    bounds: tuple[float, float] | None = None
    """Where the nearest operation is a bounded activation: its range."""
    outside: float = 0.0
    """Share of the targets outside these bounds."""
    unreachable: float = 0.0
    """Share of the targets' variance that lies outside these bounds: no prediction can explain it."""

    @property
    def last(self) -> Op | None:
        """The operation that made the values of its input, whichever of them were picked."""
        return next((op for op in self.fed_by if op.name not in PICKS), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassOrder:
    """Whether whole-number targets of a regression loss are ordered in the data: do inputs of 2 and 3 resemble each other more than of 2 and 9?"""

    place: Place | None = None
    classes: int = 0
    samples: int = 0
    correlation: float = 0.0
    """Rank correlation, over all pairs of targets, of the difference of the numbers with the distance of the mean inputs."""
    separation: float = 0.0
    """Distance of the mean inputs against what chance alone would give."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fragile:
    """An operation on the way to the loss, written by hand, that has values at which it or its slope is infinite."""

    op: str
    """"log", "sqrt", "div", "exp"..."""
    place: Place | None = None
    call: str = ""
    made_from: Op | None = None
    """What made its argument (for a division: the divisor), past constants added, subtracted or clamped."""
    raw: bool = False
    """That is a layer's own output."""
    alone: bool = False
    """Only logarithms use that output on the way to the loss."""
    feeds: tuple[str, ...] = ()
    """The operations that use the result."""
    guarded: bool = False
    """A constant is added to the argument, or it is clamped."""
    complement: bool = False
    """The argument is one minus something."""
    lowest: float | None = None
    highest: float | None = None
    """Of the argument, over all reads."""
    touched: int = 0
    """Reads in which the argument reached such a value."""
    reads: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstInvalid:
    """Where NaN or infinity first came up behind one loss. Written once, at the first such step."""

    step: int = 0
    origin: str = "unknown"
    """"operation": finite values went in, others came out; "parameter": the weights were not finite already; "data"; "unknown"."""
    op: str = ""
    place: Place | None = None
    call: str = ""
    kind: str = ""
    """"nan", "inf" or "-inf": what the operation gave."""
    in_layer: bool = False
    """The operation is that of a torch layer (Linear, Conv2d...), not written by hand."""
    backward: bool = False
    """The loss was finite; its gradient was not."""
    lowest: float | None = None
    highest: float | None = None
    """Of what went into the operation."""
    name: str = ""
    """Of the parameter, if one was the origin."""
    parameters_finite: bool | None = None
    """Whether all weights were finite when it happened."""
    traced: bool = False
    """The very step was traced; otherwise the operation was found in autograd's graph and its line in an earlier trace."""
    dtype: str = ""
    """Of what the operation gave: "float32", "float16"..."""
    where: tuple[int, ...] = ()
    """Index of the first such element: in what the operation gave; for a slope, in its argument."""
    count: int = 0
    total: int = 0
    """How many elements of it are such, of how many."""
    rows: tuple[int, ...] = ()
    """Rows of the batch that carry it (a few), where its first dimension is the batch."""
    samples: tuple[int, ...] = ()
    """The same as indices of the data set, where the loader tells."""
    chain: tuple[Op, ...] = ()
    """The operations from there to the loss, a few."""
    fits_single: bool | None = None
    """For half precision: whether the same operation on the same values is finite in float32."""
    parameters: tuple[str, ...] = ()
    """For a gradient: the parameters whose gradient is not finite (a few)."""
    passes_ago: int = 0
    """For a gradient of several backward passes: how many came after the one in which it arose."""
    before_update: bool = False
    """It was noticed in the step in which it came up, before the weights were changed."""
    updated_at: int | None = None
    """Weights that were not finite: the step whose update made them so."""
    largest: float | None = None
    """The largest weight (absolute, finite ones only) when it happened."""
    largest_at_start: float | None = None
    times: int = 1
    """Steps on which the loss or a gradient was not finite, this one included."""
    last: int | None = None
    """The newest of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Masked:
    """Values that were not finite and were hidden: replaced on the way to the loss, or the step left out."""

    way: str
    """"replaced" (nan_to_num, where...), "skipped" (no backward), "gradient" (replaced after backward), "dropped" (backward, but no step)."""
    op: str = ""
    place: Place | None = None
    call: str = ""
    times: int = 0
    """How often values there were seen to be not finite."""
    looks: int = 0
    """How often they were looked at."""
    first: int = 0
    last: int = 0
    origin: str = "unknown"
    """As in `FirstInvalid`."""
    origin_op: str = ""
    origin_at: Place | None = None


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
class LinearMap:
    """One weight at work in the forward pass: a linear layer, a convolution or a matrix product with a parameter."""

    parameter: str
    op: str
    place: Place | None = None
    trainable: bool = True
    unit_axis: int = 0
    """Which axis of the weight counts its output units."""
    inputs: int = 0
    """Features or channels that go in."""
    outputs: int = 0
    fan_in: int = 0
    """Values that one output is a sum of."""
    grouped: bool = False
    """A convolution in groups (depthwise): it does not mix all channels."""
    follows: tuple[str, ...] = ()
    """The weights of earlier maps that its whole input is an affine function of: nothing bends the values in between."""
    after_map: bool = False
    """Its input was made from the output of some earlier map, bent or not."""
    affine: bool = False
    """Its whole input is an affine function of the model's inputs, sums around blocks of layers included."""
    followed_by: tuple[str, ...] = ()
    """The first operations on its output that do more than shape, shift or scale it ("relu", "layer_norm", "cross_entropy")."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waist:
    """The narrowest value that everything on its way from the data to a prediction has to pass."""

    op: Op
    width: int = 0
    """Numbers per sample."""
    outputs: int = 0
    """...of the prediction."""
    rebuilds: bool = False
    """The prediction is compared with the input itself: an autoencoder, which is narrow on purpose."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask:
    """Random numbers, some of them zero, that are multiplied onto what a layer gives: dropout written by hand."""

    place: Place | None = None
    zeros: int = 0
    count: int = 0
    """Of the numbers that were looked at."""

    @property
    def rate(self) -> float:
        return self.zeros / self.count if self.count else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Penalty:
    """The terms of a loss that are made from weights alone: a regulariser written by hand."""

    place: Place | None = None
    call: str = ""
    first: float = 0.0
    first_loss: float = 0.0
    """Their sum and the whole loss, when they were first seen,"""
    last: float = 0.0
    last_loss: float = 0.0
    """...and when they were last seen."""
    step: int = 0
    """When that was."""

    @property
    def rest(self) -> tuple[float, float]:
        """What the data ask for: the loss without the penalty, first and last."""
        return self.first_loss - self.first, self.last_loss - self.last


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
    drawn: tuple[Cut, ...] = ()
    """Random draws on the way to the loss through which no gradient passes; the parameters behind them may be reached another way."""
    leaf: bool = False
    """The loss has no graph behind it at all (rebuilt tensor with requires_grad=True)."""
    graph_reads: int = 0
    activations: tuple[Op, ...] = ()
    """Activation functions seen in the graph, in forward order."""
    linear_maps: tuple[LinearMap, ...] = ()
    """The weights that make up the model, in forward order."""
    by_hand: tuple[Head, ...] = ()
    """Differences of a prediction and a given target that the script squares or takes the size of itself; `function` is "difference"."""
    waists: tuple[Waist, ...] = ()
    entrances: tuple[Op, ...] = ()
    """The first operations that take data and do more than shape them, in order; a few."""
    masks: tuple[Mask, ...] = ()
    penalties: tuple[Penalty, ...] = ()
    """One at most."""
    fragile: tuple[Fragile, ...] = ()
    invalid: tuple[FirstInvalid, ...] = ()
    masked: tuple[Masked, ...] = ()
