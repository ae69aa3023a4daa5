"""What is known about the parts of one run: the vocabulary between observing and diagnosing.

Observers write these (as JSON, by `record.writer`), causes read them (typed, by `record.reader`). Every field has a
default, so a fact that could not be observed is simply absent, and an older record still opens. Layers and
parameters are called by their path in the user's model ("encoder.0.weight"); tensors outside any module by the
user's variable name ("w1"). All `Place`s are in the user's own source.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sickbay.nouns import Place

HISTOGRAM_DECADES = (-12, 4)
"""Histograms count |x| in half-decade bins from 1e-12 to 1e4, after one bin for exact zeros (and below)."""
HISTOGRAM_BINS = 2 * (HISTOGRAM_DECADES[1] - HISTOGRAM_DECADES[0]) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    python: str = ""
    torch: str = ""
    numpy: str = ""
    sickbay: str = ""
    platform: str = ""
    device: str = "cpu"
    threads: int = 0
    rank: int = 0
    world_size: int = 1


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


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerGroup:
    parameters: int = 0
    lr: float | None = None
    weight_decay: float | None = None
    momentum: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimizer:
    index: int
    kind: str = ""
    variable: str = ""
    """What the user calls it ("self.optim"), where a call shows it."""
    built_at: Place | None = None
    stepped_at: Place | None = None
    zeroed_at: Place | None = None
    steps: int = 0
    groups: tuple[OptimizerGroup, ...] = ()
    parameters: tuple[str, ...] = ()
    zero_calls: int = 0
    """zero_grad calls (the optimizer's own, or of a module that holds its parameters) since the first step."""
    intervals: int = 0
    """Times that one step followed another, with the state of the gradients in between observed."""
    stale_intervals: int = 0
    """...of which the old gradient was still there when the next backward added to it."""
    stale_norm: float | None = None
    """Norm of the old gradient that was found there, largest."""
    stale_first: int | None = None
    stale_last: int | None = None
    stale_parameters: tuple[str, ...] = ()
    """Which ones, if not all of them (a part was cleared: `model.zero_grad()` with parameters outside the model)."""
    observed_steps: int = 0
    """Steps before which its gradients were looked for (very short steps are not all watched)."""
    empty_steps: int = 0
    """...of which no parameter had a gradient, or all had been cleared since the last backward."""
    emptied_by_hand: int = 0
    """Times that gradients were seen to be there after backward and to be exactly zero when the step came."""
    backwards_per_step: float | None = None
    closure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Loader:
    index: int
    role: str = "unknown"
    """"train" if training steps were made from its batches, else "eval"; "unknown" if never iterated."""
    sampler: str = ""
    sequential: bool = False
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
    deliberate: bool = False


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


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPattern:
    """One order of calls between two optimizer steps ("zero_grad forward backward step"), and how often it was seen."""

    calls: tuple[str, ...]
    count: int = 0
    first: int = 0
    last: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    patterns: tuple[CallPattern, ...] = ()
    places: dict[str, Place] = field(default_factory=dict)
    """First user line seen for each kind of call: "backward", "step", "zero_grad", "clip", "scheduler", "train", "eval"..."""
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """A learning-rate scheduler and how it is driven."""

    kind: str
    stepped_at: Place | None = None
    steps: int = 0
    """Times the script called its step()."""
    optimizer_steps: int = 0
    """Optimizer steps over the same time."""
    settings: dict[str, float] = field(default_factory=dict)
    """Its own numbers: step_size, gamma, T_max, total_steps, first and last milestone..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Modes:
    """Train and eval mode at forward passes of models that have mode-sensitive layers."""

    sensitive: tuple[str, ...] = ()
    """Layers that behave differently by mode ("drop1: Dropout(p=0.5)")."""
    training_forwards: int = 0
    """Forward passes (root module, gradients on, followed by backward and step)."""
    training_in_eval: int = 0
    """...with the root module and every sensitive layer in eval mode."""
    training_in_eval_first: int | None = None
    training_in_eval_last: int | None = None
    training_forward_at: Place | None = None
    eval_called_at: Place | None = None
    """The .eval() call that put it there."""
    train_called_at: Place | None = None
    """The last .train() call seen."""
    evaluation_passes: int = 0
    """Runs of forward passes without gradients between training steps that are not part of a training step."""
    evaluation_in_train: int = 0
    """...with sensitive layers in train mode."""
    evaluation_in_train_first: int | None = None
    evaluation_in_train_last: int | None = None
    evaluation_forward_at: Place | None = None
    evaluation_repeats_input: bool = False
    """The same input went through several times in a row (Monte Carlo dropout does this on purpose)."""
    evaluation_on_training_data: bool = False
    inside_step: int = 0
    """Forward passes without gradients inside training steps (GAN generators, target networks, momentum encoders)."""
    deliberate_train_call: bool = False
    """.train() was called directly before the evaluation pass, with gradients off."""
    layers_off: tuple[str, ...] = ()
    """The sensitive layers found in the wrong mode."""


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
class Evaluation:
    """One way in which the script evaluates; its numbers are the series loss/eval and accuracy/eval of that index."""

    index: int
    place: Place | None = None
    loader: int | None = None
    passes: int = 0
    samples: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Crash:
    """An exception that ended the script."""

    kind: str = ""
    message: str = ""
    place: Place | None = None
    step: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """Something that was not seen, and why: becomes `not_checked` in the report."""

    what: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The run as a whole; rewritten while it grows."""

    script: str = ""
    argv: tuple[str, ...] = ()
    cwd: str = ""
    started: float = 0.0
    seconds: float = 0.0
    training_seconds: float = 0.0
    steps: int = 0
    backwards: int = 0
    forwards: int = 0
    epochs: int = 0
    steps_per_epoch: float | None = None
    overhead_seconds: float = 0.0
    sampled_steps: int = 0
    exit: int | str | None = None
    manual_updates: bool = False
    """Weights move without any optimizer step: the script updates them by hand."""
    autograd_grad_calls: int = 0
    finished: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """All facts of one record."""

    environment: Environment = Environment()
    run: Run = Run()
    models: tuple[Model, ...] = ()
    parameters: tuple[Parameter, ...] = ()
    optimizers: tuple[Optimizer, ...] = ()
    loaders: tuple[Loader, ...] = ()
    losses: tuple[Loss, ...] = ()
    schedulers: tuple[Scheduler, ...] = ()
    batches: Batches = Batches()
    timeline: Timeline = Timeline()
    modes: Modes = Modes()
    nonfinite: tuple[NonfiniteBatch, ...] = ()
    labels: LabelOrder | None = None
    inputs: tuple[InputScale, ...] = ()
    evaluations: tuple[Evaluation, ...] = ()
    crash: Crash | None = None
    limits: tuple[Limit, ...] = ()
