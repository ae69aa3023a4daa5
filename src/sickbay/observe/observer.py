"""What an observer is: an object with some of these methods. Each is called at its moment in the training step.

    for each training step:                          moment
      batch = next(loader)                           loader_started, batch_loaded
      optimizer.zero_grad()                          zeroed
      output = model(batch)                          forward_begins, forward_ends    (outermost module only)
      loss = criterion(output, target)               loss_called
      loss.backward()                                loss_known, backward_begins, backward_called, backward_ends
      clip_grad_norm_(model.parameters(), 1.0)       clip_begins (sampled steps only), clipped
      optimizer.step()                               step_begins, gradients_broken, stepped, step_ends, then step_closed, step_planned
      scheduler.step()                               scheduler_built, scheduled
      autocast, GradScaler.unscale_, .step, .update  called, scaled, scaler_stepped
    model.eval(); model.train()                      mode_set
    torch.compile(model), model.load_state_dict()    compiled, state_loaded
    nn.init.normal_(layer.weight), torch.load(file)  initialised, checkpoint_read
    module.load_state_dict(state), before it         state_given
    dist.init_process_group(), DDP(model), Join      group_joined, wrapped, uneven_expected
    dist.all_reduce(tensor), dist.barrier()          collective
    now and then, and at the end                     settle (arithmetic that waited), report (write facts), finish

On very short steps most of this is left out most of the time: such a step is `asleep`, and only `loss_known`, `norm_due` (now and then), `gradients_broken`, `stepped`
and what happens outside training steps is heard; `woke` is the first moment after it. Where one part of a close look is due on such a step, the observers that take
that part hear all of it. Of a stretch of such steps on which nothing unusual happens (see nap.py) even these
are not heard, only `napped` after it.

Observers never change anything of the user's: they work on detached tensors, their own torch calls are not observed, their time is counted, and an exception switches that one observer off and is told in the report.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sickbay.nouns import Place

if TYPE_CHECKING:
    from types import CodeType

    import torch

    from sickbay.observe.keys import Rows
    from sickbay.observe.session import Session

IGNORED = -100
"""The label that torch's losses leave out unless told another."""

MOMENTS = (
    "loader_started",
    "batch_loaded",
    "zeroed",
    "forward_begins",
    "forward_ends",
    "loss_called",
    "loss_known",
    "backward_begins",
    "backward_called",
    "backward_ends",
    "gradients_given",
    "clip_begins",
    "clipped",
    "norm_due",
    "gradients_broken",
    "step_begins",
    "stepped",
    "napped",
    "step_ends",
    "step_closed",
    "settle",
    "step_planned",
    "woke",
    "scheduler_built",
    "scheduled",
    "scaled",
    "scaler_stepped",
    "called",
    "mode_set",
    "compiled",
    "state_loaded",
    "optimizer_built",
    "initialised",
    "checkpoint_read",
    "state_given",
    "printed",
    "group_joined",
    "wrapped",
    "collective",
    "uneven_expected",
    "report",
    "finish",
)


JUMP = 3.0
"""A loss this many times its running mean makes the next step a sampled one."""


class Observer:
    """Base of all observers; it only remembers the session."""

    name = "observer"
    sees = "something"
    """What is not seen when this observer fails: becomes a limit in the report."""
    takes: tuple[str, ...] = ()
    """Parts of a close look (see governor.py) that it takes a share in. On a step that is slept through but for such a part, it alone hears what happens."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @property
    def awake(self) -> bool:
        """It hears all of this step."""
        return not self.session.asleep or any(part in self.takes for part in self.session.looking)


@dataclass(slots=True)
class ForwardCall:
    """One call of an outermost module."""

    module: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    grad: bool
    place_key: tuple[CodeType, int] | None
    seconds: float = 0.0
    rows: Rows | None = None
    """Of what it is given, once somebody has asked (see keys.py)."""


@dataclass(slots=True)
class LossCall:
    """One call of a known loss function."""

    function: str
    input: torch.Tensor
    target: torch.Tensor | None
    options: dict[str, Any]
    output: torch.Tensor
    grad: bool
    """The loss has a graph behind it: it may be trained on."""
    place: Place | None
    module: str = ""
    call: str = ""

    @property
    def ignored(self) -> int:
        """The label that stands for none: padding, mostly."""
        return int(self.options.get("ignore_index", IGNORED))


@dataclass(slots=True)
class Site:
    """One place in the user's source where backward passes start: a training loss."""

    index: int
    place: Place | None
    backwards: int = 0
    reads: int = 0
    leaf: bool = False
    optimizers: set[int] = field(default_factory=set)
    operations: tuple[Any, ...] = ()
    activations: tuple[Any, ...] = ()
    found: dict[str, dict[Any, Any]] = field(default_factory=dict)
    """What the readers found, by the field of `facts.Loss` it belongs to; each finding once, by its key."""
    looks: dict[tuple[str, Any], int] = field(default_factory=dict)
    """How often the numbers behind a finding were looked at."""
    variable: str = ""
    running: float | None = None
    """A running mean of the loss."""
    first: float | None = None
    """Its first value."""

    def follow(self, values: Sequence[float]) -> None:
        """Move the running mean along with new values of the loss."""
        keep = 0.9 ** len(values)
        mean = sum(values) / len(values)
        self.first = values[0] if self.first is None else self.first
        known = self.running is not None and math.isfinite(self.running)
        self.running = keep * self.running + (1 - keep) * mean if known else mean  # type: ignore[operator]

    def series(self, stem: str) -> str:
        """The name of one of this loss's series: "loss/train", then "loss/train@1"..."""
        return stem if self.index == 0 else f"{stem}@{self.index}"


@dataclass(slots=True)
class StepTimes:
    """Seconds spent in the phases of the step under way."""

    data: float = 0.0
    forward: float = 0.0
    backward: float = 0.0
    optimizer: float = 0.0
    own: float = 0.0
    extra: dict[str, float] = field(default_factory=dict)
