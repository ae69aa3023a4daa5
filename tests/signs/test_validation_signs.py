"""Signs that compare validation with training."""

from __future__ import annotations

import numpy as np
import pytest

from sickbay.causes import catalogue
from sickbay.facts import Evaluation, LabelOrder, Log
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


# -- val-noisy ------------------------------------------------------------------------------------------------------


def scored(accuracy: np.ndarray, samples: int = 2000, **facts: object) -> Record:
    series = {"loss/train": falling(2.3, 0.2, 400), "accuracy/eval": (np.arange(len(accuracy)) * 20 + 19, accuracy)}
    return make_record(series=series, evaluations=[Evaluation(index=0, samples=samples)], **facts)  # type: ignore[arg-type]


def test_an_accuracy_that_jumps_by_more_than_its_samples_explain() -> None:
    (sign,) = read_signs(scored(0.75 + 0.1 * (-1.0) ** np.arange(20))).named("val-noisy")
    assert sign.numbers["jump"] == pytest.approx(0.2)
    assert sign.text == "validation accuracy jumps by 20 points at 12 of the last 14 evaluations; 2,000 samples explain 1.0"


@pytest.mark.parametrize("seed", range(20))
def test_the_jumps_of_few_samples_are_their_own(seed: int) -> None:
    drawn = np.random.default_rng(seed).binomial(30, 0.75, 20) / 30
    assert "val-noisy" not in names(scored(drawn, samples=30))
    assert "val-noisy" not in names(scored(np.random.default_rng(seed).normal(0.9, 0.015, 20), samples=50_000))  # small jumps of many


def test_a_steep_rise_or_one_bad_evaluation_is_no_noise() -> None:
    assert "val-noisy" not in names(scored(np.linspace(0.1, 0.99, 10)))
    bad = np.full(20, 0.9)
    bad[[9, 15]] = 0.3
    assert "val-noisy" not in names(scored(bad))


def test_a_validation_loss_is_noisy_by_its_own_roughness_only_if_it_is_wild() -> None:
    (sign,) = read_signs(run(1.0 + 0.6 * (-1.0) ** np.arange(len(EVALS)))).named("val-noisy")
    assert sign.where == "loss/eval" and "around a level of" in sign.text
    rng = np.random.default_rng(0)
    assert "val-noisy" not in names(run(np.linspace(1.5, 0.8, len(EVALS)) * np.exp(0.1 * rng.standard_normal(len(EVALS)))))
    assert "val-noisy" not in names(run(0.02 * np.exp(rng.standard_normal(len(EVALS)))))  # multiples of nothing


def test_a_log_without_its_number_of_samples_is_judged_strictly() -> None:
    steps = np.arange(20)
    for size, noisy in ((0.2, True), (0.05, False)):
        series = {"loss/train": np.linspace(2, 1, 20), "accuracy/eval": (steps, 100 * (0.6 + size * (-1.0) ** steps))}
        assert ("val-noisy" in names(make_record(series=series, log=Log(file="log.csv")))) is noisy


# -- majority-level -------------------------------------------------------------------------------------------------

LABELS = LabelOrder(classes=2, histogram=(700, 300))


def answered(accuracy: np.ndarray, first: float, labels: LabelOrder | None = LABELS) -> Record:
    at = np.arange(len(accuracy)) * 20 + 19
    return make_record(
        series={"loss/train": falling(0.8, 0.6, 400), "accuracy/eval": (at, accuracy)},
        families={"predicted_share/eval": {"0": (at, np.full(len(at), first)), "1": (at, np.full(len(at), 1 - first))}},
        evaluations=[Evaluation(index=0, samples=1000)],
        labels=labels,
    )


def test_an_accuracy_that_stays_at_the_share_of_the_commonest_class() -> None:
    (sign,) = read_signs(answered(np.full(12, 0.705), 1.0)).named("majority-level")
    assert sign.where == "accuracy/eval" and sign.numbers["majority"] == pytest.approx(0.7)
    assert sign.text == "validation accuracy stays at 0.705: the model always answers one class, and the commonest has 0.7 of the training labels"


def test_an_accuracy_that_is_there_by_chance_or_only_at_first_is_no_majority() -> None:
    assert "majority-level" not in names(answered(np.full(12, 0.705), 0.6))  # both classes are answered
    assert "majority-level" not in names(answered(np.linspace(0.7, 0.95, 12), 0.72))
    assert "majority-level" not in names(answered(np.full(12, 0.705), 1.0, None))
    rare = LabelOrder(classes=2, histogram=(995, 5))
    assert "majority-level" not in names(answered(np.full(12, 0.999), 0.995, rare))  # and the rare ones are found


def test_a_log_whose_accuracy_never_moves() -> None:
    def log(accuracy: np.ndarray, validation: np.ndarray) -> Record:
        return make_record(
            series={"loss/train": np.linspace(1, 0.6, 10), "loss/eval": validation, "accuracy/eval": accuracy}, log=Log(file="log.csv")
        )

    falls = np.linspace(0.7, 0.6, 10)
    assert "majority-level" in names(log(np.full(10, 0.8432), falls))
    assert "majority-level" not in names(log(np.full(10, 0.98), falls))
    assert "majority-level" not in names(log(np.full(10, 0.8432), np.full(10, 0.7)))  # nothing was trained
    assert "majority-level" not in names(log(np.append(np.full(9, 0.8432), 0.86), falls))


def test_what_explains_chance_explains_the_majority() -> None:
    assert all(("majority-level" in c.explains) == ("chance-level" in c.explains) for c in catalogue().values())
