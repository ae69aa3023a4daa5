"""Decides on which steps the dear measurements are made, so that all of them together stay within the budget.

Cheap things are done every step. Each dear instrument says what it cost; its interval is then the one at which its
share of training time is its part of the budget that the every-step work leaves over.
"""

from __future__ import annotations

EVERY_STEP = 0.4
"""The part of the budget that every-step work may use; beyond it, steps are left unwatched (see `may_sleep`)."""
FLOOR = 0.1
"""At least this part of the budget is for sampling even when every-step work has used it up: a run that is never
looked at closely is not watched. On the smallest steps this is what lets the total go over budget a little."""
SMOOTHING = 0.1
AWAKE_STEPS = 256
"""On the first steps everything that is cheap is watched on every step, whatever it costs: most of what structure can
prove (call order, label order, modes) is proven there."""
LANDMARKS = 4096
"""Steps 8, 16, 32... up to here are sampled too: eleven looks that let a short run be judged, at a cost that does not grow."""
BURST = 20
"""A step may be sampled out of turn (the loss jumped) at most once in this many steps."""
PARTS = ("calls", "inputs", "forward", "update")
"""A close look at training: at what is called in which order; at the rows of its batches; at activations, predictions and structure; at gradients and weights."""
DEAR = 0.05
"""Of a step: a look that costs more than that takes each part on a step of its own, one after the other, so that no step is held up by all of them.
The looks that short runs and sudden changes are judged by (the first steps, landmarks, a jump of the loss) are always taken whole."""


class Instrument:
    """One dear measurement and when it is due."""

    def __init__(self, share: float, detail_steps: int) -> None:
        self.share = share
        self.detail_steps = detail_steps
        self.cost = 0.0
        self.next_step = 0
        self.runs = 0
        self.spent = 0.0
        self._forced_at = -BURST

    def forced(self, step: int) -> bool:
        """It is due at this step because something moved."""
        return step == self._forced_at

    def due(self, step: int) -> bool:
        return step < self.detail_steps or step >= self.next_step or self.landmark(step)

    def landmark(self, step: int) -> bool:
        return step & (step - 1) == 0 and step <= LANDMARKS

    def ran(self, step: int, seconds: float, step_seconds: float, allowance: float) -> None:
        """It ran at `step` and took `seconds`; plan the next time."""
        self.runs += 1
        self.spent += seconds
        # The first run pays for warming caches; do not let it set the pace.
        first = self.runs <= 2
        self.cost = seconds if first else self.cost + SMOOTHING * (seconds - self.cost)
        interval = self.cost / max(self.share * allowance * step_seconds, 1e-9)
        self.next_step = step + max(1, round(interval))

    def force(self, step: int) -> None:
        """Something moved: look at `step`, unless that was done a moment ago."""
        if step - self._forced_at >= BURST:
            self._forced_at = step
            self.next_step = min(self.next_step, step)


class Governor:
    """Splits the budget (a share of training time) between the instruments."""

    def __init__(self, budget: float, detail_steps: int = 4) -> None:
        self.budget = budget
        # Together less than the whole: what our clock does not see (caches gone cold, torch's own dispatch) needs room too.
        self.awake_until = 0
        """Before this step none is slept through: something may just have begun anew."""
        self.frame = Instrument(share=0.4, detail_steps=detail_steps)
        self.norm = Instrument(share=0.2, detail_steps=detail_steps)
        self.step_seconds = 0.0
        self.fixed_seconds = 0.0
        """What every-step work costs on a step that is watched."""
        self.asleep_seconds = 0.0
        """...and on one that is not."""
        self._steps = 0
        self._awake_next = 0
        self.appointments = 0
        """Steps that are multiples of it are not slept through: all ranks of a distributed run look at their weights there. 0 for none."""
        self._parts_left: tuple[str, ...] = ()
        """Of a look that is spread over several steps and not over yet,"""
        self._look_seconds = 0.0
        """...and what its other parts cost."""

    def step_took(self, seconds: float, fixed: float, asleep: bool, deaf: bool) -> None:
        """A step's own time, and what our every-step work cost in it: on one that is watched, or not. (One that is slept through but for a part of a look is neither.)"""
        self._steps += 1
        weight = max(1 / self._steps, SMOOTHING)
        # A pause between epochs is not a step: ignore outliers once a pace is known.
        if self._steps > 8:
            seconds = min(seconds, 4 * self.step_seconds)
        self.step_seconds += weight * (seconds - self.step_seconds)
        if deaf:
            self.asleep_seconds += SMOOTHING * (fixed - self.asleep_seconds)
        elif not asleep:
            self.fixed_seconds += weight * (min(fixed, seconds) - self.fixed_seconds)

    def parts_due(self, step: int, in_full: bool) -> tuple[str, ...]:
        """The parts of a look that are due at this step: all, or the next one of a look that is spread over several steps."""
        frame = self.frame
        if in_full or step < frame.detail_steps or frame.landmark(step) or frame.forced(step):
            return PARTS
        if self._parts_left:
            return self._parts_left[:1]
        if not frame.due(step):
            return ()
        return PARTS if frame.cost <= DEAR * self.step_seconds else PARTS[:1]

    def looked(self, step: int, parts: tuple[str, ...], seconds: float) -> None:
        """These parts were taken. The interval is from one whole look to the next."""
        self._look_seconds += seconds
        self._parts_left = PARTS[PARTS.index(parts[-1]) + 1 :]
        if not self._parts_left:
            self.frame.ran(step, self._look_seconds, self.step_seconds, self.allowance)
            self._look_seconds = 0.0

    def may_sleep(self, step: int) -> bool:
        """Very short steps: even the cheap work is too dear for every one of them, so most are only counted."""
        wanted = EVERY_STEP * self.budget * self.step_seconds
        if step < max(AWAKE_STEPS, self.awake_until) or self.fixed_seconds <= wanted or (self.appointments and step % self.appointments == 0):
            return False
        if step >= self._awake_next:
            interval = (self.fixed_seconds - self.asleep_seconds) / max(wanted - self.asleep_seconds, 0.1 * wanted)
            self._awake_next = step + max(2, round(interval))
            return False
        return True

    def sleeps_until(self, step: int) -> int:
        """The next step on which something is due, if it may be slept through until there."""
        landmark = 1 << step.bit_length()
        due = min(self._awake_next, self.frame.next_step, self.norm.next_step)
        if self.appointments:
            due = min(due, step - step % self.appointments + self.appointments)
        return min(due, landmark) if landmark <= LANDMARKS else due

    @property
    def allowance(self) -> float:
        """The share of training time left for sampling."""
        if not self.step_seconds:
            return self.budget
        slept_through = max(EVERY_STEP * self.budget * self.step_seconds, self.asleep_seconds)
        used = min(self.fixed_seconds, slept_through) / self.step_seconds
        return max(self.budget - used, FLOOR * self.budget)
