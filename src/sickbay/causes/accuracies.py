"""How many answers were right where a script evaluates: which of its evaluations is the one that is meant."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.causes.evaluated import of_training
from sickbay.facts import Evaluation, EvaluationData
from sickbay.nouns import Series
from sickbay.record.reader import Record


def series_of(record: Record, stem: str, evaluation: Evaluation) -> Series:
    """ "accuracy/eval" or "loss/eval" of one evaluation."""
    return record.series(f"{stem}@{evaluation.index}" if evaluation.index else stem)


def data_of(record: Record, evaluation: Evaluation) -> list[EvaluationData]:
    """The samples that an evaluation shows the model: found by the lines and the loader that both have in common."""
    at = [d for d in record.facts.evaluation_data if d.place is not None and d.place == evaluation.model_at]
    called = [d for d in at if d.called_from == evaluation.called_from] or at
    # A loss knows the newest loader only, also where what it judges came from none.
    return [d for d in called if d.loader == evaluation.loader] or [d for d in called if d.loader is None and not evaluation.by_hand]


def accurate(record: Record) -> Iterator[tuple[Evaluation, Series]]:
    """Evaluations with a known share of right answers."""
    for evaluation in record.facts.evaluations:
        if len(series := series_of(record, "accuracy/eval", evaluation)):
            yield evaluation, series


def validation_accuracy(record: Record) -> Series | None:
    """That of the evaluation that comes most often and does not measure training's own samples; None if there is none."""
    found = [(e, s) for e, s in accurate(record) if not any(of_training(record, d) for d in data_of(record, e))]
    if not found:
        known = record.series("accuracy/eval")  # of a log, which tells no places
        return known if len(known) and not record.facts.evaluations else None
    # Of the parts of one forward pass (train, validation, test, in this order by custom) the later.
    return max(found, key=lambda pair: (len(pair[1]), pair[0].part, -pair[0].index))[1]


def told(series: Series) -> str:
    """ "0.41 → 0.93"."""
    first, last = (f"{float(v):.3g}" for v in (series.values[0], series.values[-1]))
    return f"{first} → {last}" if len(series) > 1 else first
