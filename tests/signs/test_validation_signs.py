"""Signs that compare validation with training."""

from __future__ import annotations

import numpy as np
import pytest

from sickbay.record.reader import Record
from sickbay.signs import read_signs
from sickbay.testing import falling, make_record

EVALS = np.arange(19, 400, 20)


def run(validation: np.ndarray, train: np.ndarray | None = None) -> Record:
    train = falling(2.3, 0.02, 400) if train is None else train
    return make_record(series={"loss/train": train, "loss/eval": (EVALS[: len(validation)], validation)})


def names(record: Record) -> set[str]:
    return {s.name for s in read_signs(record)}


def turned(best: float, last: float, turn: int = 6, scale: float = 0.0, seed: int = 0) -> np.ndarray:
    down, up = np.linspace(2.0, best, turn), np.linspace(best, last, len(EVALS) - turn)
    return np.concatenate([down, up]) + np.random.default_rng(seed).normal(0, scale, len(EVALS))


def test_a_lasting_rise_and_when_it_began() -> None:
    (sign,) = read_signs(run(turned(0.8, 1.6))).named("val-rising")
    assert sign.numbers["best"] == pytest.approx(0.8, abs=0.1)
    assert abs(sign.steps[0] - EVALS[6]) <= 40


def test_a_small_creep_of_a_good_classifier_is_no_rise() -> None:
    assert "val-rising" not in names(run(turned(0.10, 0.14)))


def test_a_turn_in_the_last_evaluations_is_no_rise() -> None:
    assert "val-rising" not in names(run(turned(0.8, 1.3, turn=len(EVALS) - 3)))


@pytest.mark.parametrize("seed", range(30))
def test_noisy_validation_without_trend_is_no_rise(seed: int) -> None:
    values = 0.8 + np.abs(np.random.default_rng(seed).normal(0, 0.15, len(EVALS)))
    assert "val-rising" not in names(run(values))


def test_losses_that_are_zero_throughout_are_no_rise() -> None:
    """Cross-entropy over one column is always 0."""
    assert "val-rising" not in names(run(np.zeros(len(EVALS)), train=np.zeros(400)))


def test_rising_with_a_training_loss_that_rises_too_is_not_memorising() -> None:
    assert "val-rising" not in names(run(turned(0.8, 1.6), train=np.linspace(1.0, 1.2, 400)))


def test_validation_below_training_is_seen_and_nothing_else() -> None:
    assert names(run(np.linspace(0.6, 0.1, len(EVALS)), train=falling(2.3, 0.4, 400))) == {"val-below-train"}


def test_a_gap_that_widens() -> None:
    assert "train-val-gap" in names(run(np.linspace(1.5, 0.9, len(EVALS))))
    assert "train-val-gap" not in names(run(np.linspace(0.3, 0.05, len(EVALS))))


def test_validation_that_never_falls() -> None:
    assert "val-flat-from-start" in names(run(np.linspace(2.3, 2.9, len(EVALS))))
    assert "val-flat-from-start" not in names(run(np.full(len(EVALS), 0.3)))


def test_a_validation_loss_on_another_scale_is_not_compared() -> None:
    assert not names(run(np.linspace(30, 28, len(EVALS)))) & {"val-flat-from-start", "train-val-gap"}


def test_few_evaluations_say_nothing() -> None:
    assert not names(run(np.array([0.5, 1.0, 2.0])))
