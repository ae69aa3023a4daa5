"""What the causes about targets share: whether simple means tell targets from inputs, and whether the model itself does so on new samples."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sickbay.facts import DataProbe, Relation
from sickbay.nouns import Series
from sickbay.record.reader import Record
from sickbay.signs.curves import curve
from sickbay.signs.losses import adversarial, chance_loss, index, judged_losses

ENOUGH_ROWS = 300
"""On so many, the standard error of a share is below 0.03: what is not seen there is hardly there."""
AT_CHANCE = 3.0
"""Spreads beyond chance. Of 5,439 tables with random targets 101 reached it (several means are compared, the best counts)."""
CLEARLY = 4.0
"""Standard errors by which accuracy must exceed the share of the commonest class: evaluations are many, and some are lucky."""
BETTER = 0.97
"""Validation loss below this part of what the best constant scores has learned something."""

Generalises = Literal["yes", "no", "unknown"]


def probe_of(record: Record) -> DataProbe | None:
    """What a sample of the data showed, where one loss compares each sample with one target of its own."""
    probe = record.facts.data_probe
    return probe if probe is not None and probe.relation is not None and not adversarial(record) else None


def at_chance(relation: Relation | None) -> bool:
    return relation is not None and relation.rows >= ENOUGH_ROWS and relation.beyond < AT_CHANCE


def told(relation: Relation, classes: bool) -> str:
    """What simple means tell, in words."""
    how, s = ("the nearest other samples", "") if relation.method == "neighbours" else ("a linear map", "s")
    if classes:
        return f"{how} tell{s} {100 * relation.score:.0f} % of {relation.rows:,} labels"
    return f"{how} explain{s} {100 * max(relation.score, 0):.0f} % of the targets' variance ({relation.rows:,} samples)"


def generalises(record: Record, probe: DataProbe) -> Generalises:
    """Whether the model does better than the best constant on samples that it was not trained on."""
    known = {e.index: e for e in record.facts.evaluations}
    train = {d.loader for d in record.facts.evaluation_data if d.train_loader}
    answers = []
    for series in record.series_like("accuracy/eval"):
        evaluation = known.get(index(series))
        if evaluation is not None and evaluation.loader not in train and len(series) and probe.targets == "classes":
            answers.append(_accurate(probe, series, evaluation.samples))
    for series in record.series_like("loss/eval"):
        evaluation = known.get(index(series))
        if evaluation is not None and evaluation.loader not in train and len(series) and (constant := _constant(record, probe)) is not None:
            answers.append("yes" if float(np.nanmin(series.values)) < BETTER * constant else "no")
    return "yes" if "yes" in answers else "no" if "no" in answers else "unknown"


def _accurate(probe: DataProbe, series: Series, samples: int) -> Generalises:
    base = probe.relation.majority if probe.relation is not None else 0.0
    late = float(np.mean(series.values[-max(3, len(series) // 2) :]))
    error = float(np.sqrt(max(base * (1 - base), 0.01) / max(samples, 1)))
    return "yes" if late > base + CLEARLY * error else "no" if samples >= ENOUGH_ROWS // 3 else "unknown"


def _constant(record: Record, probe: DataProbe) -> float | None:
    """What the best constant prediction scores."""
    heads = [h for _, loss in judged_losses(record) if loss is not None for h in loss.heads]
    if len(heads) != 1:
        return None
    if heads[0].function == "mse_loss":
        return probe.variance if probe.variance else None
    return chance_loss(record, heads[0])


def memorised(record: Record, probe: DataProbe) -> bool:
    """The training loss went well below what the best constant scores."""
    constant = _constant(record, probe)
    for c, _ in judged_losses(record):
        if constant is not None and len(c) >= 20:
            last = float(np.median(curve(record.series(c.name)).values[-max(5, len(c) // 20) :]))
            return last < 0.8 * constant
    return False
