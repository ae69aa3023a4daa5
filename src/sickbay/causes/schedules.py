"""Learning-rate schedulers: what the causes about them share, and those that are built again and again."""

from __future__ import annotations

import numpy as np

from sickbay.causes.evidence import located, proof, times
from sickbay.facts import Scheduler
from sickbay.nouns import Evidence, Place, Series
from sickbay.record.reader import Record
from sickbay.script.fixing import source_at

MINIMUM_STEPS = 20
SELDOM = 0.5
SEVERAL, BEGINNING = 3, 0.8
"""Times that one line builds a scheduler for the same optimizer; calls that each gets, as a share of those that it is planned for (a warm restart gets all)."""


def judged_schedulers(record: Record) -> list[Scheduler]:
    return [s for s in record.facts.schedulers if s.observed and not s.part and s.kind != "SWALR"]


def rates_of(record: Record, s: Scheduler) -> Series:
    return record.series(f"lr@{s.optimizer}" if s.optimizer else "lr")


def planned_calls(s: Scheduler) -> float | None:
    """How many calls the schedule is planned for, where its numbers say so."""
    return next((s.settings[name] for name in ("total_steps", "T_max", "total_iters") if name in s.settings), None)


def described(s: Scheduler) -> str:
    shown = [
        f"{name}={value:g}" for name, value in s.settings.items() if name in ("step_size", "gamma", "T_max", "total_steps", "total_iters", "patience")
    ]
    if "last_milestone" in s.settings:
        shown.append(f"last milestone {s.settings['last_milestone']:g}")
    return f"{s.kind}({', '.join(shown)})" if shown else s.kind


def built_again(record: Record) -> Evidence | None:
    """One line builds a new scheduler again and again (in every epoch), so that none gets beyond the beginning of its schedule."""
    by_line: dict[tuple[object, ...], list[Scheduler]] = {}
    for s in judged_schedulers(record):
        if s.built_at is not None and s.optimizer is not None and s.steps:
            by_line.setdefault((s.built_at.file, s.built_at.line, s.optimizer, s.kind), []).append(s)
    for same in by_line.values():
        first, steps = same[0], max(s.steps for s in same)
        planned = planned_calls(first)
        if (
            len(same) < SEVERAL
            or first.optimizer_steps < MINIMUM_STEPS
            or not (steps < BEGINNING * planned if planned else _begins_anew(record, first, len(same)))
        ):
            continue
        plan = f" of the {planned:g} that it is planned for" if planned else ""
        top, base = float(np.max(rates_of(record, first).values, initial=0.0)), first.settings.get("base_lr")
        reached = (
            f"; the rate never gets above {top:.3g}, {top / base:.2g} of the {base:.3g} that the optimizer was given"
            if base and top < SELDOM * base
            else ""
        )
        return proof(
            f"{described(first)} is built anew {len(same)} times{located(first.built_at)} for the same optimizer: each begins the schedule again and gets {times(steps, 'step')}{plan}{reached}",
            _asked_at(record, first.built_at),
            built=len(same),
            calls=steps,
        )
    return None


def _begins_anew(record: Record, s: Scheduler, count: int) -> bool:
    """Of a schedule whose length is not known: its rate only rises, from the same beginning each time, so that its warm-up never ends."""
    values = rates_of(record, s).values
    back = np.flatnonzero(np.diff(values) < 0)
    lives = np.split(values, back + 1)
    return len(back) >= count - 1 and all(len(life) > 1 and bool(np.all(np.diff(life) >= 0)) for life in lives)


def _asked_at(record: Record, place: Place | None) -> Place | None:
    """The line that asks for it: where a function of the script's own makes it, the one call of that function."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    function = source.function(statement) if source is not None and statement is not None else None
    calls = source.calls(getattr(function, "name", "")) if source is not None and function is not None else []
    return source.place(calls[0].lineno) if source is not None and len(calls) == 1 else place
