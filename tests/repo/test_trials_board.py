"""The trials board draws fairly, plants what it says it plants, and counts what it says it counts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import trials_board
from scoreboard import Patient
from sickbay.causes import catalogue
from sickbay.conclude import diagnose
from sickbay.facts import Facts, Loader, Model, Optimizer, Run
from sickbay.nouns import Series
from sickbay.record.reader import Record
from trials_board import Tried, choose, count, done_before, first, suspected, wrong_suspicion


def patient(name: str, expected: str, acceptable: tuple[str, ...] = ()) -> Patient:
    return Patient(Path(name), name, (expected,), acceptable, None)


def test_every_cause_has_its_turn_before_any_has_a_second() -> None:
    ward = [patient(f"{i:03d}", cause) for i, cause in enumerate(["lr-too-high"] * 9 + ["dead-relu", "overfitting"] + ["healthy"] * 5)]
    curable = {"lr-too-high", "dead-relu"}
    chosen = choose(ward, 3, 2, 0, curable)
    assert sorted(p.expected[0] for p in chosen[:2]) == ["dead-relu", "lr-too-high"]
    assert [p.expected[0] for p in chosen[2:]] == ["lr-too-high", "healthy", "healthy"]
    assert choose(ward, 3, 2, 0, curable) == chosen != choose(ward, 3, 2, 1, curable)


def healthy_record() -> Record:
    loss = Series("loss/train", np.arange(200), np.exp(-np.arange(200) / 40) + 0.01)
    facts = Facts(
        run=Run(steps=200, backwards=200), optimizers=(Optimizer(index=0, steps=200),), models=(Model(name="Net"),), loaders=(Loader(index=0),)
    )
    return Record(facts=facts, all_series={"loss/train": loss})


@pytest.mark.parametrize(("proven", "certainty"), [(True, "proven"), (False, "likely")])
def test_a_planted_suspicion_stands_first_and_goes_again(proven: bool, certainty: str) -> None:
    real = catalogue()["lr-too-low"]
    with suspected("lr-too-low", proven):
        diagnosis = diagnose(healthy_record())
        assert (first(diagnosis), diagnosis.causes[0].certainty) == ("lr-too-low", certainty)
    assert catalogue()["lr-too-low"] is real
    assert first(diagnose(healthy_record())) == "healthy"


def test_what_is_planted_has_nothing_to_do_with_the_right_cause() -> None:
    for number in range(40):
        right = patient(f"{number:03d}", "exploding-gradient", ("lr-too-high",))
        wrong = wrong_suspicion(right, healthy_record())
        assert wrong in trials_board.PLAUSIBLE
        assert (
            wrong not in ("exploding-gradient", "lr-too-high", "class-imbalance", "unshuffled-data")
            and wrong not in catalogue()["exploding-gradient"].explains
        )


def test_counts(tmp_path: Path) -> None:
    cured = Tried("1", ["a"], before="b", after="a", effect="CURED", run_seconds=2, try_seconds=4, planted="x", planted_after="a")
    missed = Tried("2", ["a"], before="a", after="b", effect="HELPED", run_seconds=2, try_seconds=4.5, planted="x", planted_after="x")
    vain = Tried("3", ["a"], before="a", after="a", effect="INCONCLUSIVE")
    well = Tried("4", ["healthy"], before="healthy", after="healthy", run_seconds=1, try_seconds=1)
    got = count([cured, missed, vain, well])
    assert got == {
        "right first before trials": (2, 3),
        "right first after trials": (2, 3),
        "right ones cured or helped": (1, 2),
        "planted demoted": (1, 2),
        "right first after planting": (1, 2),
        "healthy stay healthy": (1, 1),
        "within 3 times": (2, 3),
    }
    file = tmp_path / "results.json"
    assert done_before(file) == []
    file.write_text(json.dumps({"results": [vars(cured)]}))
    assert done_before(file) == [cured]
