"""What the causes about targets share: whether simple means tell targets from inputs, and whether the model itself does so on new samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sickbay.facts import DataProbe, Loss, Relation
from sickbay.nouns import Series
from sickbay.record.reader import Record
from sickbay.signs.curves import curve, end
from sickbay.signs.losses import adversarial, chance_loss, index, judged_losses

ENOUGH_ROWS = 300
"""On so many, the standard error of a share is below 0.03: what is not seen there is hardly there."""
AT_CHANCE = 3.0
"""Spreads beyond chance. Of 5,439 tables with random targets 101 reached it (several means are compared, the best counts)."""
CLEARLY = 4.0
"""Standard errors by which accuracy must exceed the share of the commonest class: evaluations are many, and some are lucky."""
BETTER = 0.97
"""Validation loss below this part of what the best constant scores has learned something."""
COMMON = 0.6
"""Share of the commonest class."""
LEARNABLE, LEFT, LEAST = 0.8, 3.0, 0.2
"""What simple means tell at least; how many times as much the model leaves untold, and how much at least."""
SPREADS = 3.0
"""Standard errors of a variance (each is its part sqrt(2 / rows) of it)."""

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


@dataclass(frozen=True)
class Short:
    """A model that tells far less of its own training samples than simple means do of samples held out."""

    told: float
    """Share of right classes, or R²."""
    text: str


def falls_short(record: Record) -> Short | None:
    probe = probe_of(record)
    own = _told_by_model(record, probe) if probe is not None else None
    if probe is None or probe.relation is None or own is None:
        return None
    relation, classes = probe.relation, probe.targets == "classes"
    if relation.rows < ENOUGH_ROWS or relation.score < LEARNABLE or 1 - own < max(LEFT * (1 - relation.score), LEAST):
        return None
    what = f"{100 * own:.0f} % of its training labels" if classes else f"{100 * max(own, 0):.0f} % of its training targets' variance"
    return Short(own, f"{what}; of samples held out, {told(relation, classes)}")


def _told_by_model(record: Record, probe: DataProbe) -> float | None:
    """Of the samples it is trained on, at the end: share of right classes, or R²."""
    if probe.targets == "classes":
        if probe.relation is None or probe.relation.majority > COMMON:
            return None  # a loss that weighs rare classes up gives accuracy away on purpose
        found = [curve(s) for s in record.series_like("accuracy/train")]
        return max((end(c).value for c in found if len(c)), default=None)
    for c, loss in judged_losses(record):
        if loss is not None and probe.variance > 0 and _squares(loss):
            return 1 - end(c).value / probe.variance
    return None


def _squares(loss: Loss) -> bool:
    last = [op.name for op in loss.operations[:3]]  # the nearest first
    by_hand = len(last) == 3 and last[0] == "mean" and last[1] in ("pow", "square") and last[2] == "sub"
    return by_hand if not loss.heads else [(h.function, h.reduction) for h in loss.heads] == [("mse_loss", "mean")]


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
        held_out = evaluation.loader not in train if evaluation is not None else not known  # one that was only printed has no place
        if held_out and len(series) and (constant := _constant(record, probe)) is not None:
            answers.append("yes" if _below(series, constant, probe) else "no")
    return "yes" if "yes" in answers else "no" if "no" in answers else "unknown"


def _below(series: Series, constant: float, probe: DataProbe) -> bool:
    """Whether a validation loss gets below what a constant scores. A variance is known from the kept samples only, and validation's own may differ as much: within
    that, the loss must also fall."""
    rows = probe.relation.rows if probe.relation is not None else 0
    unsure = 0.0 if probe.targets == "classes" else SPREADS * (2 / max(rows, 1)) ** 0.5
    lowest, falls = float(np.nanmin(series.values)) / constant, bool(series.values[-1] < series.values[0])
    return lowest < BETTER and (falls or lowest < 1 - unsure)


def _accurate(probe: DataProbe, series: Series, samples: int) -> Generalises:
    base = probe.relation.majority if probe.relation is not None else 0.0
    late = float(np.mean(series.values[-max(3, len(series) // 2) :]))
    error = float(np.sqrt(max(base * (1 - base), 0.01) / max(samples, 1)))
    return "yes" if late > base + CLEARLY * error else "no" if samples >= ENOUGH_ROWS // 3 else "unknown"


def _constant(record: Record, probe: DataProbe) -> float | None:
    """What the best constant prediction scores."""
    losses = [loss for _, loss in judged_losses(record) if loss is not None]
    if len(losses) == 1 and _squares(losses[0]):
        return probe.variance if probe.variance else None
    heads = [h for loss in losses for h in loss.heads]
    return chance_loss(record, heads[0]) if len(heads) == 1 else None


def memorised(record: Record, probe: DataProbe) -> bool:
    """The training loss went well below what the best constant scores."""
    constant = _constant(record, probe)
    for c, _ in judged_losses(record):
        if constant is not None and len(c) >= 20:
            last = float(np.median(curve(record.series(c.name)).values[-max(5, len(c) // 20) :]))
            return last < 0.8 * constant
    return False
