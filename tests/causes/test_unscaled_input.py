from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sickbay.facts import DataProbe, EvaluationData, FeatureScale, Head, InputScale, Loss, Op, Relation, Timeline, Values
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record

FLAT = 1.1 + np.random.default_rng(0).normal(0, 0.05, 300)
WINE = {"dtype": "float32", "mean": 69.0, "std": 215.0, "minimum": 0.1, "maximum": 1680.0, "feature_std_min": 0.12, "feature_std_max": 315.0}


TWICE = {"mean": 0.001, "std": 0.0015, "minimum": 0.0, "maximum": 0.0039, "feature_std_min": 0.0, "feature_std_max": 0.002}
"""Pixels that are divided by 255 twice."""


def inputs(losses: np.ndarray = FLAT, first: str = "linear", **scale: Any) -> Record:
    loss = Loss(index=0, entrances=(Op(name=first), Op(name="cross_entropy")))
    return make_record(series={"loss/train": losses}, inputs=[InputScale(**WINE | scale)], losses=[loss])


RIPPLE = {
    "mean": -0.81,
    "std": 0.004,
    "minimum": -0.82,
    "maximum": -0.8,
    "feature_std_min": 0.0,
    "feature_std_max": 0.0042,
    "feature_abs_mean_max": 0.81,
}
"""...and then standardised with the numbers of pixels that are divided once."""


def faint(losses: np.ndarray = FLAT, first: str = "conv2d", beyond: float = 200.0, **scale: Any) -> Record:
    probe = DataProbe(kind="image", targets="classes", relation=Relation(rows=1400, score=0.5, beyond=beyond))
    loss = Loss(index=0, entrances=(Op(name=first), Op(name="cross_entropy")))
    return make_record(series={"loss/train": losses}, inputs=[InputScale(**WINE | RIPPLE | scale)], losses=[loss], data_probe=probe)


def regression(end: float) -> Record:
    """Targets of spread 1, a loss that falls from half a million."""
    target = Values(count=500, minimum=-3.0, maximum=3.0, mean=0.0, std=1.0)
    loss = Loss(index=0, heads=(Head(function="mse_loss", input_shape=(40, 1), target_shape=(40, 1), target=target),))
    return make_record(series={"loss/train": end + 5e5 * np.exp(-np.arange(400) / 10)}, inputs=[InputScale(**WINE)], losses=[loss])


def classification(end: float) -> Record:
    """Four classes, a loss that falls from thousands."""
    loss = Loss(index=0, heads=(Head(function="cross_entropy", classes=4, input_shape=(40, 4), target_shape=(40,), target_dtype="int64"),))
    return make_record(series={"loss/train": end + 3e3 * np.exp(-np.arange(400) / 10)}, inputs=[InputScale(**WINE)], losses=[loss])


def station(end: float = 0.5, first: str = "gru", told: float = 0.98, biggest: float = 3.0, half: float = 0.55) -> Record:
    """Raw readings, a loss that falls to half of the targets' variance and stays there, though a linear map explains nearly all."""
    curve = np.concatenate([np.linspace(1.0, half, 300), np.linspace(half, end, 300)]) + np.random.default_rng(0).normal(0, 0.01, 600)
    target = Values(count=500, minimum=-3.0, maximum=biggest, mean=0.0, std=1.0)
    head = Head(function="mse_loss", reduction="mean", input_shape=(64,), target_shape=(64,), target=target)
    relation = Relation(rows=2000, score=told, spread=0.02, beyond=40.0, method="linear")
    return make_record(
        series={"loss/train": curve},
        inputs=[InputScale(**WINE)],
        losses=[Loss(index=0, heads=(head,), entrances=(Op(name=first), Op(name="mse_loss")))],
        data_probe=DataProbe(kind="series", targets="numbers", relation=relation, variance=1.0),
    )


def at_the_rails(at_start: float) -> Record:
    """It learns something, with its first layer's squashing units all at their rails."""
    saturated = {"a.tanh": ([0, 100, 200, 299], [at_start, 0.99, 0.99, 0.99])}
    return make_record(series={"loss/train": falling(1.0, 0.6, 300)}, families={"activation_saturated": saturated}, inputs=[InputScale(**WINE)])


class TestUnscaledInput(CauseTestCase):
    cause = "unscaled-input"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield inputs()
        yield regression(end=7.0)
        yield classification(end=9.0)
        yield station()
        yield inputs(mean=33.0, std=78.0, maximum=255.0, feature_std_min=0.0, feature_std_max=90.0)
        yield inputs(**TWICE)
        yield at_the_rails(0.99)
        yield faint()

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "at the rails only later", at_the_rails(0.1)
        yield "small inputs of a model that learns", inputs(falling(2.3, 0.1, 300), **TWICE)
        yield "a ripple that the model copes with", faint(falling(2.3, 0.1, 300))
        yield "a ripple, normalised at the door", faint(first="batch_norm")
        yield "a ripple, of which the model takes the level off by itself", faint(first="sub")
        yield "a ripple that tells nothing", faint(beyond=1.0)
        yield "unit vectors", faint(mean=0.001, std=0.044, minimum=-0.2, maximum=0.2, feature_std_max=0.05, feature_abs_mean_max=0.02)
        yield "a constant", faint(std=0.0, feature_std_max=0.0)
        yield "one column of ordinary spread", faint(feature_std_max=0.6)
        yield "sparse inputs", inputs(**TWICE | {"maximum": 1.0})
        yield "a regression that gets below the variance of its targets", regression(end=0.1)
        yield "a classification that gets below guessing", classification(end=0.4)
        yield "it trains well all the same", inputs(losses=falling(1.1, 0.1))
        yield "batch norm comes first", inputs(first="batch_norm")
        yield "a linear map does no better", station(told=0.6)
        yield "the model divides by itself", station(first="truediv")
        yield "still learning", station(half=0.75)
        yield "learned", station(end=0.05, half=0.06)
        yield "a few huge targets, which an order by size does not know", station(biggest=15.0)
        yield "token numbers", inputs(dtype="int64")
        yield "standardised", inputs(mean=0.0, std=1.0, maximum=6.0, minimum=-5.0, feature_std_min=0.9, feature_std_max=1.1)


def test_a_second_division_is_pointed_at_and_taken_out() -> None:
    script = """\
def prepare(batch):
    images, labels = batch
    return images / 255.0, labels

for batch in loader:
    images, labels = prepare(batch)
    loss = F.cross_entropy(net(images), labels)
"""
    loss = Loss(index=0, backward_at=Place("train.py", 8))
    timeline = Timeline(places={"forward": Place("train.py", 7)})
    record = make_record(
        series={"loss/train": FLAT}, inputs=[InputScale(**WINE | TWICE)], losses=[loss], timeline=timeline, sources={"train.py": script}
    )
    found = assert_suspects(record, "unscaled-input", "likely")
    assert found.place is not None and found.place.line == 3
    assert "+    return images, labels" in found.fix.diff


PART = """\
NUMBERS = ["age", "income"]
frame[NUMBERS] = scaler.fit_transform(frame[NUMBERS])
x = torch.tensor(frame.values)
for idx in torch.randperm(len(x)).split(9):
    loss = F.cross_entropy(net(x[idx]), y[idx])
"""


def beside(*means: float) -> Record:
    """A table whose columns have these means in training."""
    known = FeatureScale(rows=500, mean=means, std=(1.0,) * len(means))
    data = EvaluationData(place=Place("train.py", 9), rows=100, width=len(means), shape=(len(means),), train=known, evaluation=known)
    timeline = Timeline(places={"forward": Place("train.py", 5)})
    loss = Loss(index=0, entrances=(Op(name="linear"), Op(name="cross_entropy")))
    raw = InputScale(**WINE | {"mean": 400.0, "std": 700.0})
    return make_record(
        series={"loss/train": FLAT}, inputs=[raw], losses=[loss], evaluation_data=[data], timeline=timeline, sources={"train.py": PART}
    )


def test_columns_that_are_missing_from_those_that_are_scaled() -> None:
    found = assert_suspects(beside(0.0, 0.1, 2013.0, 0.3), "unscaled-input")
    assert "column 2 of 4 is as it was measured" in found.evidence[0].text and "missing" in found.fix.text
    assert found.place is not None and found.place.text == PART.splitlines()[0]
    for means in ((900.0, 1000.0, 2013.0, 0.3), (0.0, 12.0, 2013.0, 0.3)):  # most are raw; some are in between
        other = assert_suspects(beside(*means), "unscaled-input")
        assert "measured" not in other.evidence[0].text and other.place != found.place
