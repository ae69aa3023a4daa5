"""Validation that is scaled by its own numbers (`fit_transform` of both parts): certain where its features have mean 0 and spread 1 to the last digits, and an illness only where
that hides how it differs from training. Split by chance, both parts have nearly the same numbers, and nothing is lost."""

from __future__ import annotations

import numpy as np

from sickbay.causes.data_maps import Difference
from sickbay.causes.evaluated import shown_in
from sickbay.facts import EvaluatedExamples, EvaluationData
from sickbay.record.reader import Record

NEW = 0.1
"""Of its rows, that training may have had, too: what training itself has is scaled by the same numbers by right."""
TWICE, MUCH, LEFT = 2.0, 0.1, 0.5
"""Errors of a linear map of training's samples, as parts of the variance of evaluation's targets: so many times as large as once its answers are shifted and stretched, so much larger,
and what may be left then. Between parts that were split by chance both are the same but for a few hundredths; so are they for a model that has only learned its training samples by heart."""
LESS, ERRORS = 0.1, 4.0
"""Of evaluation's labels: how many fewer are told from training's samples than from its own, and than training's are from each other; in standard errors, too."""
UNIT = (0.6, 1.6)
"""Spreads of what is standardised, as of training's first rows."""


def own_scale(record: Record, data: EvaluationData) -> Difference | None:
    if not data.same_shape or data.found_distinct > NEW * data.distinct:
        return None
    probe = record.facts.data_probe
    told = next((e for e in probe.evaluations if shown_in(data, e)), None) if probe is not None else None
    harm = _harm(told) if told is not None else ""
    if probe is None or told is None or not harm:
        return None
    own = data.own_scale
    if own is not None and _training_alike(data):
        has = "mean 0 and spread 1" if own.kind == "standardised" else "their smallest value at one end of the scale and their largest at the other"
        which = f"all {own.of}" if own.features == own.of else f"{own.features} of {own.of}"
        text = (
            f"is scaled by its own numbers, not by training's: over its {own.rows:,} rows {which} features have {has} to four digits "
            f"(scaled by training's they would be off by about {1 / own.rows**0.5:.2g}); {harm}"
        )
        return Difference(text, ONCE, SNIPPET)
    if told.across is not None and told.across.own_scale and told.across.rows >= data.distinct and UNIT[0] ** 2 < probe.variance < UNIT[1] ** 2:
        text = f"has targets that are scaled by their own numbers, not by training's: the mean of all {told.across.rows:,} is 0 and their spread 1 to four digits; {harm}"
        return Difference(text, ONCE, SNIPPET.replace("x_", "y_"))
    return None


ONCE = "fit the scaler on training data only, and apply it to validation data as it is"
SNIPPET = "x_train = scaler.fit_transform(x_train)\nx_val = scaler.transform(x_val)  # not fit_transform"


def _training_alike(data: EvaluationData) -> bool:
    """Training is scaled in the same way, as far as its first rows tell."""
    a, own = data.train, data.own_scale
    if a is None or own is None:
        return False
    if own.kind == "min-max":
        return a.minimum >= -1 and a.maximum <= 1
    spread = float(np.median([s for s in a.std if s > 0] or [0.0]))
    return UNIT[0] < spread < UNIT[1] and float(np.median(np.abs(a.mean))) < 1 - UNIT[0]


def _harm(told: EvaluatedExamples) -> str:
    """What is lost between both, by simple means that both sides allow; empty if nothing is."""
    if (a := told.across) is not None and a.straightened <= LEFT and a.error - a.straightened >= MUCH and a.error >= TWICE * a.straightened:
        return (
            f"a linear map of training's samples misses {100 * a.error:.0f} % of the variance of its targets ({a.shift:+.2g} spreads on average), "
            f"and {100 * a.straightened:.0f} % once its answers are shifted and stretched, all alike"
        )
    r, own = told.renamed, told.relation
    if r is None or own is None:
        return ""
    within = min(r.within, own.score)
    error = (max(within * (1 - within), 0.01) / max(min(r.rows, own.rows), 1)) ** 0.5
    if within - r.right < max(LESS, ERRORS * error):
        return ""
    return f"training's samples tell {100 * r.right:.0f} % of its labels, its own {100 * own.score:.0f} %, and training's tell {100 * r.within:.0f} % of each other's"
