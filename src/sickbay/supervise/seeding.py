"""A script with several seeds, with and without a treatment."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from sickbay.errors import UsageError
from sickbay.exams.statistics import Spread, difference
from sickbay.record.reader import Record
from sickbay.supervise.command import Command
from sickbay.supervise.examining import examine
from sickbay.trials.orders import Orders
from sickbay.trials.runner import Runner

METRICS = {"training loss": "loss/train", "validation loss": "loss/eval", "validation accuracy": "accuracy/eval"}
Results = Mapping[str, Mapping[str, list[float]]]
"""By "untreated" or "treated", then by metric: one number per seed."""


def across_seeds(
    what: Command, folder: Path, number: int, steps: int | None, treat: str | None, runner: Runner, told: Callable[[str], None]
) -> Results:
    wanted = [(f"untreated-seed-{n}", Orders(treat=f"seed={n}", steps=steps)) for n in range(number)]
    if treat is not None:
        wanted += [(f"treated-seed-{n}", Orders(treat=f"seed={n},{treat}", steps=steps)) for n in range(number)]
    results: dict[str, dict[str, list[float]]] = {}
    troubles = []
    for seen in examine(what, folder, wanted, runner=runner):
        told(seen.name)
        if seen.record is None:
            troubles.append(f"{seen.name}: {seen.trouble}")
            continue
        group = results.setdefault(seen.name.partition("-")[0], {})
        for metric, name in METRICS.items():
            value = final(seen.record, name)
            if value is not None:
                group.setdefault(metric, []).append(value)
    if not results.get("untreated"):
        raise UsageError(f"no run of the script could be read: {troubles[0] if troubles else 'no loss was seen'}")
    return results


def final(record: Record, name: str) -> float | None:
    """Where a series ends: the median of its last twentieth for the training loss, the last value of an evaluation."""
    values = record.series(name).values
    if not len(values):
        return None
    return float(np.median(values[-max(1, len(values) // 20) :])) if name == "loss/train" else float(values[-1])


def table(results: Results, treat: str | None) -> Iterator[str]:
    for metric in METRICS:
        plain = results["untreated"].get(metric, [])
        if len(plain) < 2:
            continue
        yield f"{metric}: {_told(plain)}"
        other = results.get("treated", {}).get(metric, [])
        if len(other) < 2:
            continue
        yield f"  with {treat}: {_told(other)}"
        delta, (low, high) = difference(plain, other)
        verdict = "more than seed noise" if low > 0 or high < 0 else "within seed noise: no difference is shown"
        yield f"  difference {delta:+.3g} (95 % interval {low:+.3g} to {high:+.3g}): {verdict}"


def _told(values: list[float]) -> str:
    broken = sum(not math.isfinite(v) for v in values)
    if broken:
        return f"not finite with {broken} of {len(values)} seeds"
    s = Spread(tuple(values))
    return f"{s.mean:.4g} ± {s.std:.2g} over {len(values)} seeds (95 % interval of the mean {s.interval[0]:.4g} to {s.interval[1]:.4g})"
