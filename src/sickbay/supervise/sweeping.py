"""A learning-rate range test on an unmodified script."""

from __future__ import annotations

from pathlib import Path

from sickbay.exams.range_test import RangeTest, read_sweep, rounded
from sickbay.record.reader import Record
from sickbay.supervise.command import Command
from sickbay.supervise.examining import examine, must
from sickbay.trials.interventions.sweep_lr import OWN_RATE
from sickbay.trials.orders import Orders
from sickbay.trials.runner import Runner

FEWEST = 40


def sweep(what: Command, folder: Path, low: float, high: float, steps: int, runner: Runner) -> tuple[RangeTest, float | None]:
    """What the sweep says, and the rate that the script itself starts with. A script that ends before the sweep does gets a shorter one."""
    record = _run(what, folder, "sweep", low, high, steps, runner)
    made = record.facts.run.steps
    if FEWEST <= made < steps and not record.facts.crash:
        record = _run(what, folder, "shorter-sweep", low, high, made, runner)
    rates, losses = record.series("lr"), record.series("loss/train")
    used = next((float(e.data["lr"]) for e in record.events(OWN_RATE)), None)
    found = read_sweep(rates.values, losses.values)
    if found.suggestion is not None:
        found = RangeTest(found.rates, found.losses, found.turn, rounded(found.suggestion), found.reason)
    return found, used


def _run(what: Command, folder: Path, name: str, low: float, high: float, steps: int, runner: Runner) -> Record:
    orders = Orders(treat=f"sweep-lr={low:g}:{high:g}:{steps}", steps=steps, total=steps, seed=0)
    (seen,) = examine(what, folder, [(name, orders)], runner=runner)
    return must(seen)
