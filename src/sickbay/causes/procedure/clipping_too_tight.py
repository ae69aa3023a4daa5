"""Gradients are clipped so far below their natural size that training crawls.

## What happens

Clipping is for outliers: about one step in twenty. With a limit far below the usual norm every step is cut to the same tiny length, whatever
the gradient says: plain SGD then moves by rate times limit and no further, as if the learning rate were that much smaller.

## How we know

The norm before clipping is recorded on every step. Nearly all steps are cut, by a factor of ten or more, the optimizer does not rescale gradients (SGD,
momentum), and the loss creeps or stands still. For clipping by value: nearly every element of the gradient lies beyond the limit.

A loss that does get somewhere counts where the cut is by a factor of thirty or more, steps are shorter than usual, and the run ends with a good part of the loss left while it
still falls in nearly a straight line: that is the shape which steps of one length give, where a rate that fits bends and levels off.

## Looks like it but is not

- Adam and its kin: they divide by the gradient's running size, so a constant limit cancels out.
- Clipping to norm 1 in large models and recurrent nets, cut often but by little, with a loss that falls.
- Normalised gradients by design, with a rate to match: the loss falls and levels off, by steps of the usual length.
- Gradients that are large because something else is wrong (unscaled data, a diverging run).

## Fix

A limit near the 95th percentile of the norms that were measured, or none.

## References

- Pascanu, Mikolov, Bengio 2013 (choose the limit from the average norm over many updates).
- Zhang et al. 2020 (why gradient clipping accelerates training): clipped steps have a fixed length.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.adaptive import rescales
from sickbay.causes.clip_limit import advise_from
from sickbay.causes.evidence import from_sign, hint, located, strong
from sickbay.causes.rates import main_optimizer
from sickbay.causes.registry import cause
from sickbay.facts import Clipping
from sickbay.nouns import Evidence, Fix, Place, Sign
from sickbay.record.reader import Record
from sickbay.script.fixing import called, is_number, keyword, mend, number, source_at
from sickbay.script.moving import statement_at
from sickbay.script.naming import named_numbers
from sickbay.signs import Signs
from sickbay.signs.curves import end, fall, start, trend_share
from sickbay.signs.losses import enough, judged_losses
from sickbay.signs.slow_descent import MINIMUM_STEPS as SLOW_STEPS
from sickbay.signs.slow_descent import STILL_FALLING
from sickbay.signs.update_ratio_low import reach

MINIMUM_STEPS = 30
MINIMUM_LOOKS = 5
NEARLY_ALL = 0.95
"""Clipping is meant for outliers (about 5 % of the steps); cutting 95 % of them is the opposite."""
FACTOR = 10.0
"""Cut to a tenth of the gradient and less: as if the rate were a tenth. Below that a healthy run can make it good."""
FAR = 30.0
"""...of a run whose loss does fall: rates that work lie within a factor of ten or so of each other, a thirtieth is beyond all of them."""
LEFT = 0.2
"""Of the loss that it began with: below that a run got where it was to go, if slowly."""
USUAL_STEP = 1e-3
"""|update| / |weight| that is healthy (CS231n): a rate that was chosen to match the limit gives steps of that size and more."""
SLOW = ("slow-descent", "flat-loss", "chance-level", "early-plateau", "update-ratio-low")


@cause(
    code="P317",
    level="procedure",
    title="gradients are clipped far below their usual size",
    why="Every step is cut to the same tiny length, so training crawls as if the learning rate were many times smaller.",
    explains={"slow-descent", "flat-loss", "chance-level", "early-plateau", "update-ratio-low", "lr-too-low", "val-flat-from-start"},
    cure="loosen-clipping",
)
def clipping_too_tight(record: Record, signs: Signs) -> Iterator[Evidence]:
    slow = signs.named(*SLOW)
    if rescales(main_optimizer(record)):
        return
    for c in record.facts.clippings:
        if not slow and c.kind == "norm" and (text := _tight(record, c, FAR)) and (drags := _drags(record)):
            yield strong(text, c.place, limit=c.limit or 0.0)
            yield hint(drags)
            return
        if slow and (text := _tight(record, c)):
            yield strong(text, c.place or _between(record), limit=c.limit or 0.0)
            yield strong(_crawls(slow[0]), steps=slow[0].steps)
            yield from (from_sign("hint", s) for s in slow[1:2])
            return


def _crawls(sign: Sign) -> str:
    return f"training crawls: {sign.text}"


def _drags(record: Record) -> str:
    """The loss falls, but in nearly a straight line to the end, by steps that are shorter than usual."""
    step, _ = reach(record)
    if not 0 < step < USUAL_STEP:
        return ""
    for c, _ in judged_losses(record):
        (drop, error), late = fall(c), trend_share(c)
        if len(c) >= enough(record, SLOW_STEPS, 10) and drop > 4 * error and end(c).value > LEFT * start(c).value > 0 and late > STILL_FALLING:
            return (
                f"the loss falls from {start(c).value:.4g} to {end(c).value:.4g} in nearly a straight line and has not levelled off: its second half made {late:.0%} of the way; "
                f"a step changes the weights by {step:.1g} of their size (healthy: about 1e-3)"
            )
    return ""


def _tight(record: Record, c: Clipping, factor: float = FACTOR) -> str:
    if c.kind == "hand":
        tight = c.cut is not None and c.cut >= FACTOR and c.looks >= MINIMUM_LOOKS
        return (
            f"before each step the script itself brings the gradient to a norm of {c.limit:.3g}, 1/{c.cut:.3g} of what backward gave" if tight else ""
        )
    if not c.limit or c.in_time < MINIMUM_STEPS:
        return ""
    if c.kind == "value":
        if c.clipped_share is None or c.clipped_share < NEARLY_ALL:
            return ""
        return f"{c.clipped_share:.0%} of all gradient elements are beyond the limit of {c.limit:g}{located(c.place)} and are cut down to it"
    norms = _norms(record, c)
    if len(norms) < MINIMUM_STEPS or np.mean(norms > c.limit) < NEARLY_ALL or np.median(norms) < factor * c.limit:
        return ""
    return (
        f"{np.mean(norms > c.limit):.0%} of {len(norms):,} steps are clipped{located(c.place)} to {c.limit:g}, from a median norm of {np.median(norms):.3g}: "
        f"to 1/{np.median(norms) / c.limit:.3g} of the gradient"
    )


def _between(record: Record) -> Place | None:
    """The one line between backward and step, if there is just one: where the script's own clipping must be."""
    loss, optimizer = next(iter(record.facts.losses), None), main_optimizer(record)
    source = source_at(record, loss.backward_at) if loss is not None else None
    if source is None or loss is None or optimizer is None:
        return None
    first, last = statement_at(source, loss.backward_at), statement_at(source, optimizer.stepped_at)
    if first is None or last is None or source.parents.get(first) is not source.parents.get(last):
        return None
    block = getattr(source.parents[first], "body", [])
    inside = [s for s in block if first.lineno < s.lineno < last.lineno and not source.calls("zero_grad", within=s)]
    return source.place(inside[0].lineno) if len(inside) == 1 else None


def _norms(record: Record, c: Clipping) -> np.ndarray:
    values = record.series(f"clip_norm@{c.index}" if c.index else "clip_norm").values
    return values[np.isfinite(values)]


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    c = next((c for c in record.facts.clippings if _tight(record, c)), None)
    norms = _norms(record, c) if c is not None else np.empty(0)
    if c is None or c.kind != "norm" or not len(norms):
        return Fix("loosen or remove the clipping, or clip by norm", "clip_grad_norm_(model.parameters(), 1.0)", "advice")
    advice = advise_from(norms, record.facts.run.steps, c.limit)
    text = f"so that only outliers are cut, {advice}"
    return mend(text, _changed(record, c.place, advice.limit), f"max_norm={number(advice.limit)}", "consent")


def _changed(record: Record, place: Place | None, limit: float) -> str:
    source = source_at(record, place)
    calls = source.calls("clip_grad_norm_", line=place.line) if source is not None and place is not None else []
    if source is None or len(calls) != 1 or called(calls[0]) != "clip_grad_norm_":
        return ""
    given = keyword(calls[0], "max_norm")
    value: ast.expr | None = given.value if given is not None else (calls[0].args[1] if len(calls[0].args) > 1 else None)
    if value is not None and not is_number(value):
        found = named_numbers(source, source.segment(value).rpartition(".")[2])
        value = found[0] if len(found) == 1 else None
    return source.diff(source.replacing(value, number(limit))) if value is not None else ""
