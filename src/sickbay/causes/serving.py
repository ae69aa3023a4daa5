"""What `serving-skew` and `train-val-mismatch` share: which inference is no validation, and whether a validation is there that fits."""

from __future__ import annotations

import re

from sickbay.causes.data_maps import ROWS, difference, other_words
from sickbay.causes.evaluated import of_training
from sickbay.facts import EvaluationData, Phase
from sickbay.record.reader import Record

ON_PURPOSE = re.compile(
    r"ood|out_of|shift|nois|corrupt|advers|attack|fgsm|pgd|perturb|augment|tta|flip|crop|drift|robust|blur|occlu|mask|ablat|permut|shuffl|importance|counterfact|what_if|sensitiv|salien|"
    r"rotat|invarian|degrad|stress|outlier|anomal|novel|unseen_domain|extrapol|interpol|sweep|grid|mesh|linspace|random|fake|generat|sampl(?:e_|ed|ing)|dream|latent",
    re.IGNORECASE,
)
"""What scripts call inputs that are meant to be others than training's."""


def meant_to_differ(*texts: str) -> bool:
    return any(ON_PURPOSE.search(text) for text in texts)


def after_training(record: Record, data: EvaluationData) -> bool:
    """It came only when training was over: it steers nothing."""
    return 0 < record.facts.run.steps <= data.first


def validated(record: Record, besides: EvaluationData | None = None) -> EvaluationData | None:
    """An evaluation that shows the model new samples, prepared as training's are; None if there is none."""
    for data in record.facts.evaluation_data:
        known = data.train is not None and data.evaluation is not None and min(data.train.rows, data.evaluation.rows) >= ROWS
        if (
            data is not besides
            and known
            and data.same_shape
            and not of_training(record, data)
            and difference(data) is None
            and other_words(data) is None
        ):
            return data
    return None


def is_served(record: Record, data: EvaluationData) -> bool:
    """Predictions after training, beside a validation that fits."""
    return after_training(record, data) and validated(record, besides=data) is not None


def new_data(phase: Phase) -> bool:
    """Whether a stretch of training has other samples than those before it: next to none of its rows, or of its labels, had been there."""
    if phase.labels and not phase.labels_met:
        return True
    known = phase.rows * phase.recognised
    return known >= FEWEST_ROWS and phase.met <= REHEARSED * known


FEWEST_ROWS = 50
"""Rows that would have been recognised: with none among fifty, fewer than one in ten are old (95 %: 0.9**50 is 0.005)."""
REHEARSED = 0.1
"""More old rows than that among the new ones are a rehearsal: what is lost in spite of it, is lost otherwise."""
