from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sickbay.facts import Head, InputScale, Loss, Op, Values
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, falling, make_record

FLAT = 1.1 + np.random.default_rng(0).normal(0, 0.05, 300)
WINE = {"dtype": "float32", "mean": 69.0, "std": 215.0, "minimum": 0.1, "maximum": 1680.0, "feature_std_min": 0.12, "feature_std_max": 315.0}


def inputs(losses: np.ndarray = FLAT, first: str = "linear", **scale: Any) -> Record:
    loss = Loss(index=0, entrances=(Op(name=first), Op(name="cross_entropy")))
    return make_record(series={"loss/train": losses}, inputs=[InputScale(**WINE | scale)], losses=[loss])


def regression(end: float) -> Record:
    """Targets of spread 1, a loss that falls from half a million."""
    target = Values(count=500, minimum=-3.0, maximum=3.0, mean=0.0, std=1.0)
    loss = Loss(index=0, heads=(Head(function="mse_loss", input_shape=(40, 1), target_shape=(40, 1), target=target),))
    return make_record(series={"loss/train": end + 5e5 * np.exp(-np.arange(400) / 10)}, inputs=[InputScale(**WINE)], losses=[loss])


class TestUnscaledInput(CauseTestCase):
    cause = "unscaled-input"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield inputs()
        yield regression(end=7.0)
        yield inputs(mean=33.0, std=78.0, maximum=255.0, feature_std_min=0.0, feature_std_max=90.0)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "a regression that gets below the variance of its targets", regression(end=0.1)
        yield "it trains well all the same", inputs(losses=falling(1.1, 0.1))
        yield "batch norm comes first", inputs(first="batch_norm")
        yield "token numbers", inputs(dtype="int64")
        yield "standardised", inputs(mean=0.0, std=1.0, maximum=6.0, minimum=-5.0, feature_std_min=0.9, feature_std_max=1.1)
