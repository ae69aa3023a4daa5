from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from causes.scripts import LOOP, added, at, loop_facts
from sickbay.facts import Loader, OptimizerGroup, Run, Timeline
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record

EVALS = np.arange(19, 400, 20)


def run(validation: Iterable[float], train: np.ndarray | None = None) -> Record:
    values = np.asarray(list(validation), float)
    series = {"loss/train": falling(0.7, 0.01, 400) if train is None else train, "loss/eval": (EVALS[: len(values)], values)}
    return make_record(series=series, **loop_facts(LOOP))


def turned(best: float, last: float, turn: int = 5) -> np.ndarray:
    return np.concatenate([np.linspace(0.69, best, turn), np.linspace(best, last, len(EVALS) - turn)])


class TestOverfitting(CauseTestCase):
    cause = "overfitting"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run(turned(0.5, 1.2))
        yield run(turned(0.4, 0.8) + np.random.default_rng(1).normal(0, 0.02, len(EVALS)))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "validation falls too", run(np.linspace(0.7, 0.2, len(EVALS)))
        yield "a small turn before early stopping", run(turned(0.3, 0.33, turn=len(EVALS) - 4))
        yield "a confident classifier", run(turned(0.05, 0.08))
        yield "dropout makes validation better", run(np.linspace(0.5, 0.1, len(EVALS)), train=falling(0.7, 0.2, 400))
        yield "validation never fell: the data differ", run(np.linspace(0.70, 2.5, len(EVALS)))
        yield "everything gets worse", run(turned(0.5, 1.2), train=np.linspace(0.6, 1.0, 400))
        yield "no validation", make_record(series={"loss/train": falling(0.7, 0.01, 400)})


def test_the_fix_names_the_best_step_and_adds_weight_decay() -> None:
    fix = assert_suspects(run(turned(0.5, 1.2)), "overfitting").fix
    assert "step 99" in fix.text or "step 119" in fix.text
    assert added(fix.diff) == ["optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-2)"]


def test_an_optimizer_that_decays_by_itself_is_given_more() -> None:
    record = run(turned(0.5, 1.2))
    decaying = replace(record.facts.optimizers[0], kind="AdamW", groups=(OptimizerGroup(parameters=2, lr=0.1, weight_decay=0.01),))
    fix = assert_suspects(with_facts(record, optimizers=(decaying,)), "overfitting").fix
    assert "weight_decay=1e-1" in fix.diff


@pytest.mark.parametrize(
    ("loop", "line"),
    [
        ("for epoch in range(10):", 7),
        ("for epoch in range(1, 11):", 7),
        ("n_epochs = 10\nfor epoch in range(n_epochs):", 7),
        ("for epoch in range(few(x)):", 7),
    ],
)
def test_the_place_is_where_the_length_is_written_else_the_loop(loop: str, line: int) -> None:
    source = LOOP.replace("for epoch in range(10):", loop)
    places = {"forward": at("model(x)", source)}
    record = make_record(
        series={"loss/train": falling(0.7, 0.01, 400), "loss/eval": (EVALS, turned(0.5, 1.2))}, timeline=Timeline(places=places), **loop_facts(source)
    )
    place = assert_suspects(record, "overfitting").place
    assert place is not None and place.line == line and place.guess == ("few" in loop)


@pytest.mark.parametrize(("steps", "line"), [(400, 1), (40, 8)])
def test_samples_that_came_a_hundred_times_are_too_few(steps: int, line: int) -> None:
    source = "max_train_samples = 32\n" + LOOP.replace("range(10)", "range(few)")
    facts = {"loaders": [Loader(index=0, role="train", batch_size=8, samples=32)], "run": Run(steps=steps, backwards=steps)}
    series = {"loss/train": falling(0.7, 0.01, 400), "loss/eval": (EVALS, turned(0.5, 1.2))}
    s = assert_suspects(make_record(series=series, **facts, **loop_facts(source)), "overfitting")
    assert (s.place.line if s.place is not None else None) == line
    assert ("how many samples there are is set at train.py:1" in s.evidence[0].text) == (line == 1)


LINES = np.arange(200, 5001, 200)
COHORT = np.linspace(-1.3, -3.3, len(LINES))
"""A partial likelihood over a whole cohort, less a constant, as it is printed beside validation's."""


def printed(validation: np.ndarray, train: np.ndarray = COHORT, words: str = "nll", batches: np.ndarray | None = None) -> Record:
    """Batches' losses on a scale of their own, and a validation loss that is only printed."""
    observed = np.r_[np.linspace(3.1, 2.6, 200), np.interp(np.arange(200, 5000), LINES, COHORT + 4.0)] if batches is None else batches
    lines = {f"train {words}": (LINES, train), f"valid {words}": (LINES, validation)}
    facts = loop_facts(LOOP.replace("lr=0.1, ", "lr=0.1, weight_decay=0.0, "))
    facts["optimizers"] = [replace(facts["optimizers"][0], groups=(OptimizerGroup(parameters=2, lr=0.1, weight_decay=0.0),))]
    return make_record(series={"loss/train": observed}, families={"printed": lines}, **facts)


def rising(last: float, first: float = -1.29) -> np.ndarray:
    return np.r_[first, first - 0.01, np.linspace(first, last, len(LINES) - 2)]


class TestOverfittingAsPrinted(CauseTestCase):
    cause = "overfitting"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield printed(rising(8.0))
        yield printed(rising(0.5))
        yield printed(rising(0.5), words="loss")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "validation falls too", printed(COHORT + 0.05)
        yield "validation gives back little", printed(rising(-1.0))
        yield "validation swings", printed(rising(-1.2) + np.tile([0.0, 1.5, 0.3, 2.0, 0.1], 5))
        yield "it turns in the last lines", printed(np.r_[COHORT[:-3], -2.0, -1.0, 0.0])
        yield "validation is apart from the first line on", printed(rising(8.0, first=0.5))
        yield "training does not go on falling", printed(rising(8.0), train=np.r_[COHORT[0], np.full(len(LINES) - 1, -1.31)])
        yield "what is printed is not what is trained on", printed(rising(8.0), batches=np.linspace(1.0, 3.0, 5000))
        yield "a score, of which more is better", printed(rising(8.0), words="score")


def test_a_decay_that_is_turned_off_is_the_place() -> None:
    suspicion = assert_suspects(printed(rising(8.0)), "overfitting")
    assert suspicion.place is not None and "weight_decay=0.0" in (suspicion.place.text or "")
    (line,) = added(suspicion.fix.diff)
    assert "weight_decay=1e-2" in line
