"""What the training loop does: optimizers, schedulers, modes, and the order of calls."""

from __future__ import annotations

from dataclasses import dataclass, field

from sickbay.nouns import Place


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
    twice: int = 0
    """Observed steps on which another optimizer had just moved some of its tensors by the very same gradients."""
    shares_with: int | None = None
    """...index of that optimizer,"""
    shared: tuple[str, ...] = ()
    """...and what they share."""
    thawed: tuple[str, ...] = ()
    """Parameters that were frozen when it first stepped, got gradients later, and were then in no optimizer that steps."""
    thawed_looks: int = 0
    """Steps on which that was seen."""


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
    variable: str = ""
    """What the user calls it, where a call of its step() shows it."""
    optimizer: int | None = None
    """Index of the optimizer whose rate it sets."""
    built_at: Place | None = None
    stepped_at: Place | None = None
    also_stepped_at: tuple[Place, ...] = ()
    """Further lines that step it."""
    steps: int = 0
    """Times the script called its step()."""
    optimizer_steps: int = 0
    """Steps of its optimizer since it was built."""
    stepped_gaps: int = 0
    """Times between two steps of its optimizer in which it was stepped..."""
    doubled_gaps: int = 0
    """...and in which it was stepped twice or more."""
    before_first: int = 0
    """Calls before its optimizer's first step."""
    part: bool = False
    """Another scheduler (SequentialLR, ChainedScheduler) steps it."""
    observed: bool = True
    """Its step() is one that we see: not a method of the user's own that replaces torch's."""
    settings: dict[str, float] = field(default_factory=dict)
    """Its own numbers: step_size, gamma, T_max, total_steps, first and last milestone..."""
    mode: str = ""
    """Of ReduceLROnPlateau: "min" or "max", with what it was given and how often it cut the rate."""
    metric_first: float | None = None
    metric_last: float | None = None
    metric_lowest: float | None = None
    metric_highest: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Accumulation:
    """How the gradients of several backward passes come together in one step of an optimizer."""

    loss: int = 0
    """Index of the loss that is differentiated again and again."""
    optimizer: int = 0
    steps: int = 0
    """Steps that were observed."""
    backwards: int = 0
    """Backward passes per step: the most usual number..."""
    regular: int = 0
    """...and how many steps had just that many."""
    retained: int = 0
    """Backward passes with retain_graph=True: several losses may come from one forward pass."""
    rows: int | None = None
    """Samples per backward pass."""
    scale: float | None = None
    """The factor on the mean over the batch that the loss is: 1 for a plain mean, 0.25 for `loss / 4`, None for a sum or if unknown."""
    kept: float | None = None
    """What was left of the gradient when the step came, as a share: below 1 if it was divided or clipped after backward."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clipping:
    """One line of the user's that clips gradients."""

    index: int = 0
    kind: str = ""
    """"norm", "value", or "hand" for a function of the user's that scales gradients to a fixed norm."""
    place: Place | None = None
    limit: float | None = None
    calls: int = 0
    in_time: int = 0
    """Calls with the last backward before them and the step after them."""
    too_early: int = 0
    """Calls before the backward whose gradients the step used."""
    too_late: int = 0
    """Calls after the step had used the gradients and before they were cleared or added to."""
    empty: int = 0
    """Looks that found no gradient, or only zeros, in what was given."""
    looks: int = 0
    """Calls whose tensors were looked at."""
    tensors: int | None = None
    """How many tensors were given; 0 for a generator that was used up."""
    foreign: int = 0
    """Steps after it of optimizers that hold none of the tensors."""
    shared: int = 0
    """...and of optimizers that hold some of them."""
    clipped_share: float | None = None
    """Of value clipping: share of gradient elements beyond the limit, median over looks."""
    cut: float | None = None
    """Of clipping by hand: the norm after backward as a multiple of what the step used, median over looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """Numbers of half precision: autocast, loss scaling, low-precision weights."""

    autocast: str = ""
    """Type in which training's forward passes were computed: "float16", "bfloat16" or ""."""
    autocast_at: Place | None = None
    autocast_steps: int = 0
    weights: str = ""
    """Type of the weights that an optimizer steps, if it is a half-precision one."""
    epsilon: float | None = None
    """The optimizer's epsilon, if it is zero in the type of the weights."""
    scaler: bool = False
    """A GradScaler that is switched on was used."""
    scaled_backwards: int = 0
    plain_backwards: int = 0
    """Backward passes of losses that the scaler had not scaled."""
    plain_at: Place | None = None
    mixed_steps: int = 0
    """Of the sampled steps, those through the scaler on gradients of a scaled loss and of one that was not (at `mixed_at`)."""
    mixed_at: Place | None = None
    scaler_steps: int = 0
    skipped: int = 0
    """scaler.step() calls that left the optimizer alone, because a gradient was not finite."""
    skipped_late: int = 0
    """...of these, within the last half of all calls so far."""
    raw_steps: int = 0
    """Optimizer steps outside scaler.step() on gradients that were still scaled."""
    raw_at: Place | None = None
    clips_scaled: int = 0
    """Clipping of gradients that were still scaled."""
    clip_at: Place | None = None
    first_scale: float | None = None
    last_scale: float | None = None
    looks: int = 0
    """Steps on which gradients and weights were looked at."""
    zero_share: float | None = None
    """Share of gradient elements that are exactly zero in layers that have others, median over looks."""
    tiny_share: float | None = None
    """Share of the non-zero ones below the smallest normal number of half precision (6e-5), median over looks."""
    coarse: tuple[str, ...] = ()
    """Matrices whose gradients are zero or a few of the smallest steps of float16 (6e-8) on most looks, from the first half of them on."""
    lost_share: float | None = None
    """Of low-precision weights with a gradient: share that a step left as they were, median over looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Graphs of earlier steps that are still alive: what a loss tensor that is kept brings with it."""

    loss: int = 0
    called_at: Place | None = None
    """Of a loss that was only computed, on this line, and never differentiated (`loss` is -1 then)."""
    output: bool = False
    """...or of a model that was called on this line."""
    marked: int = 0
    """Losses (or predictions) whose graph was marked."""
    alive: int = 0
    """The most of them that were alive at once, two steps and more after their own."""
    alive_last: int = 0
    oldest: int = 0
    """The greatest age, in steps, of one that was alive."""
    retain: int = 0
    """Backward passes with retain_graph=True."""
    backwards: int = 0
    graph_first: int | None = None
    """Operations in the graph behind the loss when first counted..."""
    graph_last: int | None = None
    """...and last."""
    graph_counts: int = 0
    graph_growths: int = 0
    """Counts that were larger than the one before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuilt:
    """An optimizer that is made anew on the same line, for the same tensors, while training goes on."""

    built_at: Place | None = None
    kind: str = ""
    stateful: bool = False
    """It keeps running averages or momentum, which a new one does not have."""
    times: int = 0
    """Times it was made for tensors that its predecessor had stepped and nobody else had changed since."""
    steps: float = 0.0
    """Steps that one lived for, mean."""
    rate_changed: int = 0
    """...of these, with another learning rate than the one before."""


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
    evaluation_of_copy: bool = False
    """What runs in train mode there is not the trained model but a copy of it (averaged weights, the best so far)."""
    inside_step: int = 0
    """Forward passes without gradients inside training steps (GAN generators, target networks, momentum encoders)."""
    layers_off: tuple[str, ...] = ()
    """The sensitive layers found in the wrong mode."""
