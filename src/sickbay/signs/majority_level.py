"""A classifier's accuracy stays where always answering the commonest class would be, and that is what it answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sickbay.nouns import Series, Sign
from sickbay.record.reader import Record
from sickbay.signs.losses import adversarial, index
from sickbay.signs.registry import share, sign
from sickbay.signs.val_noisy import sampling_error

STEPS, LABELS, LOOKS = 50, 200, 3
"""A net may answer one class for its first steps; fewer labels do not tell their shares."""
ONE, OF_THE_RARE = 0.01, 0.1
"""Of the predictions, for all other classes together: a hundredth, and a tenth of what these classes have of the labels. Who finds the rare ones predicts them about as often as they are."""
NEAR = 0.02
"""Two points: validation and training need not have the very same shares."""
ERRORS = 3.0
LATE = 1 / 3
FEWEST = 8
"""Evaluations of a log, which tells neither labels nor predictions: an accuracy that is the same to the last digit at each of them, from the first one on..."""
HALF, HIGH = 0.5, 0.95
"""...from a half (below, see chance-level) to 95 %: a model that was good before the log began stands still above that."""


@sign("majority-level")
def majority_level(record: Record) -> Iterator[Sign]:
    if record.facts.log is not None:
        yield from _logged(record)
        return
    common, predicted = _common(record), _predicted(record)
    if common is None or predicted is None or record.facts.run.steps < STEPS or adversarial(record):
        return
    if 1 - predicted > min(ONE, OF_THE_RARE * (1 - common)):
        return
    for series, right in _accuracies(record, common):
        yield Sign(
            name="majority-level",
            where=series.name,
            steps=(int(series.steps[int(LATE * len(series))]), int(series.steps[-1])),
            strength=share(1 - common, 0.0, 0.5),
            numbers={"accuracy": right, "majority": common, "predicted": predicted},
            text=f"{'validation' if 'eval' in series.name else 'training'} accuracy stays at {right:.3g}: the model always answers one class, and the commonest has {common:.3g} of the training labels",
        )


def _common(record: Record) -> float | None:
    """The commonest class's share of the labels."""
    labels = record.facts.labels
    if labels is not None:
        return max(labels.histogram) / sum(labels.histogram) if labels.classes > 1 and sum(labels.histogram) >= LABELS else None
    family = record.family("label_share/train")  # of pixels and tags
    seen = family.values[np.isfinite(family.values).all(axis=1)] if len(family.names) > 1 else np.empty((0, 0))
    return float(seen.mean(axis=0).max()) if len(seen) >= LOOKS else None


def _predicted(record: Record) -> float | None:
    """The share of the predictions at the end that one class has."""
    for name in ("predicted_share/eval", "predicted_share/train"):
        family = record.family(name)
        late = np.where(np.isfinite(family.values), family.values, 0.0)[-max(LOOKS, len(family.steps) // 5) :]
        if len(late) >= LOOKS and len(family.names) > 1:
            return float(late.mean(axis=0).max())
    return None


def _accuracies(record: Record, common: float) -> Iterator[tuple[Series, float]]:
    """Of validation each value of the last two thirds is there; of training, where a value is one batch, their mean. The first of them that is known counts."""
    samples = {e.index: e.samples for e in record.facts.evaluations}
    for series in record.series_like("accuracy/eval"):
        late, count = series.values[int(LATE * len(series)) :], samples.get(index(series), 0)
        near = max(NEAR, ERRORS * sampling_error(common, count)) if count else NEAR
        if len(late) >= LOOKS:
            if bool(np.all(np.abs(late - common) < near)):
                yield series, float(np.median(late))
            return
    series = record.series("accuracy/train")
    late = series.values[int(LATE * len(series)) :]
    if len(late) >= STEPS // 3 and abs(float(np.mean(late)) - common) < NEAR:
        yield series, float(np.mean(late))


def _logged(record: Record) -> Iterator[Sign]:
    series = record.series("accuracy/eval")
    values = series.values / (100 if np.any(series.values > 1) else 1)
    if len(values) < FEWEST or not np.all(values == values[0]) or not HALF < values[0] < HIGH:
        return
    losses = [s for s in record.series_like("loss/eval") if len(s) > 1]
    if any(bool(np.all(s.values == s.values[0])) for s in losses):  # nothing changes at all: no model that was trained
        return
    yield Sign(
        name="majority-level",
        where=series.name,
        steps=(int(series.steps[0]), int(series.steps[-1])),
        strength=share(len(values), 0, 4 * FEWEST),
        numbers={"accuracy": float(values[0]), "evaluations": float(len(values))},
        text=f"validation accuracy is {values[0]:.4g} at each of {len(values)} evaluations, as it is when every sample is given the same answer",
    )
