"""A model that is trained again from its first weights (a new fold of a cross-validation) under a schedule that has already ended."""

from __future__ import annotations

import numpy as np

from sickbay.causes.evidence import located, proof, times
from sickbay.causes.schedules import MINIMUM_STEPS, described, rates_of
from sickbay.facts import Scheduler, StateLoad
from sickbay.nouns import Evidence
from sickbay.record.reader import Record
from sickbay.script.fixing import source_at
from sickbay.script.moving import statement_at, without

ENDED = 0.01
"""Of the highest rate: new weights learn next to nothing at a hundredth of the rate that the first ones were given."""
WORSE = 1.5
"""The loss, right after the loading, against right before it: what is loaded is not what had been learned."""
AROUND = 5
"""Losses on either side of the loading that are compared: few, as the new weights learn too."""


def begun_again(record: Record, s: Scheduler) -> Evidence | None:
    """Weights are set back at a line that also ran before the first step, and from then on this schedule's rate is gone for good."""
    again = restarts(record)
    rates = rates_of(record, s)
    if not again or len(rates) < MINIMUM_STEPS or not np.all(np.isfinite(rates.values)) or s.steps < 1:
        return None
    first, top = again[0].step, float(np.max(rates.values))
    after = rates.values[rates.steps >= first]
    if len(after) < MINIMUM_STEPS or np.max(after) > ENDED * top or not _unlearned(record, first):
        return None
    return proof(
        f"the model begins again with its first weights {times(len(again), 'time')} (first at step {first:,}{located(again[0].place, ',')}), "
        f"but {described(s)} is built only once and goes on: the rate was {top:.3g} and is at most {np.max(after):.2g} ever after",
        s.built_at or s.stepped_at,
        (first, int(rates.steps[-1])),
        restarts=len(again),
        highest=top,
    )


def restarts(record: Record) -> list[StateLoad]:
    """Loadings of a whole model in mid-run at a line at which it was loaded before the first step: the same start each time."""
    whole = [x for x in record.facts.state_loads if x.trained and x.place is not None and x.matched == x.own and x.kept == x.weights > 0]
    begun = {(x.place.file, x.place.line) for x in whole if x.step == 0 and x.place is not None}
    return [x for x in whole if x.step > 0 and x.place is not None and (x.place.file, x.place.line) in begun]


def _unlearned(record: Record, step: int) -> bool:
    """Whether the loss is back up: a state that was kept because it was the best (a rewind, an average of weights) is no new beginning."""
    losses = record.series("loss/train")
    before, after = losses.values[losses.steps < step][-AROUND:], losses.values[losses.steps >= step][:AROUND]
    return len(before) > 0 and len(after) > 0 and bool(np.median(after) > WORSE * np.median(before))


def built_for_each(record: Record, s: Scheduler) -> str:
    """The diff that builds the optimizer and the schedule anew after the line that sets the weights back."""
    again = restarts(record)
    optimizer = next((o for o in record.facts.optimizers if o.index == s.optimizer), None)
    source = source_at(record, s.built_at)
    if source is None or optimizer is None or not again or optimizer.built_at is None or optimizer.built_at.file != source.file:
        return ""
    load = statement_at(source, again[0].place)
    moved = [statement_at(source, place) for place in (optimizer.built_at, s.built_at)]
    if load is None or any(m is None or source.function(m) is not source.function(load) for m in moved):
        return ""
    statements = [m for m in moved if m is not None]
    return source.diff(*(without(source, m) for m in statements), *(source.after(load, source.segment(m)) for m in statements))
