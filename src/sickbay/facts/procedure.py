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
    layers_off: tuple[str, ...] = ()
    """The sensitive layers found in the wrong mode."""
