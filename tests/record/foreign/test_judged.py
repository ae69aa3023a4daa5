"""What the eye says of curves that logs hold, short and long; each with a neighbour that is something else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from record.foreign.styles import table
from sickbay.conclude import diagnose
from sickbay.errors import LogError
from sickbay.nouns import Diagnosis
from sickbay.record.foreign import read_logs

RNG = np.random.default_rng(3)


def judged(tmp_path: Path, **columns: object) -> Diagnosis:
    path = tmp_path / "log.csv"
    values = [np.asarray(c, float).tolist() for c in columns.values()]
    path.write_text(table(["epoch", *columns], [[i, *("" if np.isnan(v) else v for v in row)] for i, row in enumerate(zip(*values, strict=True))]))
    return diagnose(read_logs([path])[0])


LOW = [0.30, 0.22, 0.18, 0.15, 0.13, 0.12, 0.11, 0.10]
SHORT = {
    "from the first of a few evaluations on": ([0.06, 0.004, 0.001, 0.0004], [0.71, 0.82, 0.88, 0.93], "overfitting"),
    "the same, closer together": ([0.1, 0.03, 0.002, 0.001], [0.19, 0.21, 0.26, 0.28], "overfitting"),
    "from the first of many on": ([2.5, 1.8, 1.4, 1.1, 0.94, 0.78, 0.66, 0.59], [2.2, 2.27, 2.33, 2.43, 2.54, 2.58, 2.65, 2.7], "overfitting"),
    "after a turn, not far apart": ([1.1, 0.69, 0.51, 0.42, 0.36, 0.34], [0.37, 0.28, 0.33, 0.41, 0.425, 0.418], "overfitting"),
    "a small rise without a break": (
        [0.52, 0.48, 0.44, 0.41, 0.38, 0.36, 0.34, 0.31],
        [0.51, 0.48, 0.465, 0.474, 0.482, 0.489, 0.497, 0.503],
        "overfitting",
    ),
    "a small rise with breaks": ([0.52, 0.48, 0.44, 0.41, 0.38, 0.36, 0.34, 0.31], [0.51, 0.48, 0.465, 0.482, 0.463, 0.489, 0.470, 0.485], "healthy"),
    "a rise that is small beside what is won": (LOW, [0.31, 0.24, 0.19, 0.170, 0.171, 0.172, 0.173, 0.174], "healthy"),
    "far above and all over the place": ([2.3, 1.4, 0.9, 0.5, 0.28, 0.15, 0.08, 0.05], [4.6, 4.5, 2.4, 1.9, 2.7, 2.5, 2.6, 5.0], "overfitting"),
    "far above, up and down by as much as it rises": (
        [1.0, 0.7, 0.7, 0.6, 0.4, 0.35, 0.2, 0.06],
        [0.63, 0.64, 1.13, 0.71, 1.40, 1.00, 1.10, 1.25],
        "overfitting",
    ),
    "as noisy, and back": ([1.0, 0.7, 0.7, 0.6, 0.4, 0.35, 0.2, 0.06], [1.13, 0.63, 1.40, 0.71, 1.00, 0.64, 1.25, 0.60], "healthy"),
    "up and down, never lower than at first, while training falls": (
        np.linspace(2.17, 1.59, 16),
        [2.87, 2.89, 3.03, 2.88, 3.07, 3.18, 2.85, 2.85, 2.73, 3.35, 2.92, 3.23, 2.88, 3.66, 2.89, 2.99],
        "overfitting",
    ),
    "the same, as training hardly falls": (
        np.linspace(1.75, 1.59, 16),
        [2.87, 2.89, 3.03, 2.88, 3.07, 3.18, 2.85, 2.85, 2.73, 3.35, 2.92, 3.23, 2.88, 3.66, 2.89, 2.99],
        "healthy",
    ),
    "validation to its last digit": ([0.14, 0.10, 0.18, 0.09], [0.3732, 0.3732, 0.3732, 0.3732], "flat-not-learning"),
    "as fast as ever": ([1.37, 1.32, 1.21, 0.98, 0.66], [1.34, 1.27, 1.13, 0.80, 0.48], "underfitting-short-training"),
    "a straight line": (np.linspace(129, 121, 10), np.linspace(131, 123, 10), "underfitting-short-training"),
    "a line that bends": ([2.42, 2.21, 2.05, 1.92, 1.83, 1.76, 1.71, 1.67], [2.5, 2.3, 2.1, 2.0, 1.9, 1.86, 1.82, 1.80], "healthy"),
    "up and down from epoch to epoch": ([0.9, 0.3, 0.8, 0.25, 0.95, 0.3, 0.7, 0.2, 0.85, 0.3], np.linspace(0.9, 0.7, 10), "oscillating"),
    "up and down by little": (0.5 + 0.5 * np.exp(-np.arange(10) / 2) + 0.02 * (-1.0) ** np.arange(10), np.linspace(0.9, 0.6, 10), "healthy"),
    "five that stand from the second on": ([1.096, 1.051, 1.048, 1.046, 1.045], [np.nan] * 5, "plateau"),
    "five that stand while validation falls": ([1.096, 1.051, 1.048, 1.046, 1.045], [1.1, 1.0, 0.9, 0.8, 0.7], "healthy"),
    "six of which all but two stand, as validation does": ([82.5, 37.9, 34.70, 34.71, 34.92, 34.70], [36.8, 35.7, 36.4, 36.2, 36.2, 35.9], "plateau"),
    "six of which all but two stand, while validation has fallen": (
        [82.5, 37.9, 34.70, 34.71, 34.92, 34.70],
        [52.1, 40.3, 36.4, 36.2, 36.2, 35.9],
        "healthy",
    ),
    "three that have hardly moved": ([10.26, 10.23, 10.21], [np.nan] * 3, "too-short"),
    "five that end higher": ([1.0, 1.1, 1.2, 1.15, 1.25], [np.nan] * 5, "too-short"),
    "a few that wander while validation falls": ([0.51, 0.52, 0.54, 0.56, 0.47, 0.53], [0.543, 0.536, 0.529, 0.519, 0.512, 0.506], "healthy"),
    "validation alone, in a straight line": ([np.nan] * 10, np.linspace(0.3735, 0.3526, 10), "underfitting-short-training"),
    "validation alone": ([np.nan] * 4, [0.76, 0.69, 0.67, 0.66], "healthy"),
    "validation alone, that stands": ([np.nan] * 12, 6.46 + 0.004 * np.sin(5.0 * np.arange(12)), "flat-not-learning"),
    "validation alone, that fell at once and stands": ([np.nan] * 14, [1.1, *np.linspace(0.9, 0.895, 13)], "plateau"),
    "four that lose half of what they won": ([3.2, 1.7, 2.1, 2.5], [np.nan] * 4, "too-short"),
    "four that keep most of what they won": ([3.2, 1.7, 1.9, 2.1], [np.nan] * 4, "healthy"),
    "validation to its last digit while training falls": (np.linspace(0.3, 0.2, 7), [0.25] * 7, "train-val-mismatch"),
    "many that stand from the second on": ([1.148, *np.linspace(0.981, 0.967, 14)], np.linspace(0.974, 0.966, 15), "plateau"),
    "many that stand from the third on": ([1.0, 0.84, *(0.805 + 0.004 * np.sin(5.0 * np.arange(12)))], [np.nan] * 14, "plateau"),
    "many that stand from the second on while validation falls": ([1.148, *np.linspace(0.981, 0.967, 14)], np.linspace(0.974, 0.7, 15), "healthy"),
    "many of which the rest creeps on": ([1.148, *np.linspace(0.98, 0.9, 14)], np.linspace(0.974, 0.9, 15), "healthy"),
}


@pytest.mark.parametrize("name", SHORT)
def test_short_logs(name: str, tmp_path: Path) -> None:
    train, val, shape = SHORT[name]
    diagnosis = judged(tmp_path, train_loss=train, val_loss=val)
    assert diagnosis.shapes[0] == shape, diagnosis.reason


@pytest.mark.parametrize(("floor", "shape"), [(2.8, "overfitting"), (3.1, "plateau")])
def test_a_loss_with_a_penalty_falls_by_less_while_validation_rises(floor: float, shape: str, tmp_path: Path) -> None:
    """Validation rises by a tenth, with breaks; training falls on by 9 %, or by less than a twentieth."""
    wobble = 0.06 * np.array([0, 2, -1.5, 1, 0.5, -0.5, 0, 0.5, -0.5, 1, 0, -0.5])
    train, val = [5.9, 4.4, 4.1, 3.8, 3.6, 3.4, 3.3, 3.2, *np.linspace(3.15, floor, 12)], [4.7, 4.4, 4.2, 4.1, 4.05, 4.0, 3.95, 3.9]
    diagnosis = judged(tmp_path, train_loss=train, val_loss=[*val, *(np.linspace(3.85, 4.25, 12) + wobble)])
    assert diagnosis.shapes[0] == shape, diagnosis.reason


@pytest.mark.parametrize(("level", "shape"), [(0.05, "overfitting"), (0.15, "plateau")])
def test_a_training_loss_that_has_little_left_to_fall_by(level: float, shape: str, tmp_path: Path) -> None:
    """Validation turns at 0.2 and rises by half, while training stands: far below it, or close by."""
    train = level + 0.8 * np.exp(-np.arange(20) / 0.6)
    diagnosis = judged(tmp_path, train_loss=np.round(train, 3), val_loss=[0.6, 0.4, 0.3, 0.25, 0.22, *np.linspace(0.2, 0.3, 15)])
    assert diagnosis.shapes[0] == shape, diagnosis.reason


def test_a_few_noisy_values_show_no_standing_still(tmp_path: Path) -> None:
    noisy = [1.83, 1.24, 0.80, 0.74, 0.55, 1.17, 0.54, 0.88, 1.07, 0.74, 0.79, 1.26, 0.67, 0.65, 0.74, 0.57, 0.79, 0.57, 0.55, 0.74]
    assert "flat-not-learning" not in judged(tmp_path, train_loss=noisy).shapes


@pytest.mark.parametrize(("fall", "shape"), [(0.0, "plateau"), (0.3, "healthy")])
def test_noisy_values_without_descent_are_not_called_healthy(fall: float, shape: str, tmp_path: Path) -> None:
    """Too noisy to be called flat: but nothing of it is lower at the end than at the beginning."""
    noisy = np.array([0.147, 0.155, 0.186, 0.182, 0.156, 0.157, 0.147, 0.156, 0.173, 0.150])
    assert judged(tmp_path, train_loss=noisy * (1 - fall * np.linspace(0, 1, 10))).shapes[0] == shape


def test_no_samples_are_named_that_a_log_does_not_know(tmp_path: Path) -> None:
    losses = 0.2 + np.exp(-np.arange(120) / 9) + 0.004 * np.sin(7.0 * np.arange(120))
    losses[[60, 95]] = 30.0
    fixes = [c.fix for c in judged(tmp_path, train_loss=losses).causes if c.cause == "corrupt-samples"]
    assert fixes and not any("samples  " in f.text or "bad = {}" in f.diff for f in fixes)


@pytest.mark.parametrize(("last", "shape"), [(0.8, "healthy"), (0.5, "plateau")])
def test_noisy_values_whose_accuracy_rises_are_learning(last: float, shape: str, tmp_path: Path) -> None:
    """What validation says counts more than that training knows its samples."""
    noisy = [0.147, 0.155, 0.186, 0.182, 0.156, 0.157, 0.147, 0.156, 0.173, 0.150]
    rising = np.linspace(0.6, 0.8, 10)
    assert judged(tmp_path, train_loss=noisy, train_accuracy=rising, val_accuracy=np.linspace(0.6, last, 10)).shapes[0] == shape


@pytest.mark.parametrize(("val", "shape"), [(None, "diverged-nan"), (0.2, "healthy")])
def test_a_loss_that_rises_without_a_break_is_not_healthy(val: float | None, shape: str, tmp_path: Path) -> None:
    """It has won far more than it loses again; where validation gets better all the while, training became harder."""
    train = [*(0.15 + 1.85 * np.exp(-np.arange(30) / 4)), *np.linspace(0.151, 0.29, 45)]
    beside = {"val_loss": np.linspace(1.0, val, 75)} if val is not None else {}
    assert judged(tmp_path, train_loss=np.round(train, 4), **beside).shapes[0] == shape


def test_fine_tuning_that_swings_as_it_falls_does_not_oscillate(tmp_path: Path) -> None:
    """Means over a hundred batches that are high and low by turns, a fifth of their level apart, around a line that falls by half."""
    t = np.arange(66)
    swinging = np.linspace(0.12, 0.07, 66) * (1 + 0.11 * (-1.0) ** t * (0.6 + 0.4 * np.sin(t)))
    assert "oscillating" not in judged(tmp_path, train_loss=swinging).shapes


@pytest.mark.parametrize(("right", "shape"), [(0.96, "overfitting"), (0.2, "train-val-mismatch")])
def test_a_log_that_begins_late_hides_what_validation_had_learned(right: float, shape: str, tmp_path: Path) -> None:
    """Its first training loss is no untrained model's: with so many answers right, validation data are no others."""
    path = tmp_path / "log.txt"
    rows = [(12, 0.14, 0.138)] + [(e, 0.02, 0.132) for e in range(95, 101)]
    path.write_text("".join(f"Epoch {e}/100\n2s - loss: {a} - acc: 0.99 - val_loss: {v} - val_acc: {right}\n" for e, a, v in rows))
    assert diagnose(read_logs([path])[0]).shapes[0] == shape


@pytest.mark.parametrize(("last", "shape"), [(2.6, "oscillating"), (1.2, "healthy")])
def test_a_loss_that_begins_every_epoch_high(last: float, shape: str, tmp_path: Path) -> None:
    """Samples that come in an order; where each epoch begins lower than the one before, it is learned all the same."""
    path, firsts = tmp_path / "train.log", np.linspace(1.8, last, 4)
    rows = [(7 * e + i, e + 1, float(x)) for e, first in enumerate(firsts) for i, x in enumerate(np.linspace(first, first / (2 + e / 4), 7))]
    path.write_text("".join(f'{{"global_step": {s}, "loss": {x}, "epoch": {e}}}\n' for s, e, x in rows))
    assert diagnose(read_logs([path])[0]).shapes[0] == shape


def test_validation_of_zero_was_measured_where_every_answer_is_right(tmp_path: Path) -> None:
    zeros = [0.9, 0.3, 0.0, 0.01, 0.0, 0.0, 0.002, 0.0]
    right = [0.7, 0.9, 1.0, 0.99, 1.0, 1.0, 0.99, 1.0]
    path = tmp_path / "log.csv"
    path.write_text(
        table(["epoch", "loss", "val_loss", "val_acc"], [[i, 1 / (1 + i), v, a] for i, (v, a) in enumerate(zip(zeros, right, strict=True))])
    )
    assert len(read_logs([path])[0].series("loss/eval")) == len(zeros)


@pytest.mark.parametrize(("val", "shape"), [(0.3, "healthy"), (4.0, "diverged-nan")])
def test_training_that_became_harder_is_no_divergence(val: float, shape: str, tmp_path: Path) -> None:
    train = [0.63, 0.45, 0.2, 0.11, 0.085, *(0.25 + 0.01 * RNG.standard_normal(25))]
    diagnosis = judged(tmp_path, train_loss=train, val_loss=[0.9, 2.5, 2.2, 2.8, 3.1, *np.full(25, val)])
    assert diagnosis.shapes[0] == shape, diagnosis.reason


def test_a_loss_of_which_a_third_is_hard_has_no_spikes(tmp_path: Path) -> None:
    base = 0.15 + 10 * np.exp(-np.arange(500) / 5)
    hard = np.where(RNG.random(500) < 0.35, RNG.exponential(1.3, 500), 0.03 * np.abs(RNG.standard_normal(500)))
    assert "spikes" not in judged(tmp_path, train_loss=base + hard).shapes


@pytest.mark.parametrize("names", [("train_cos", "val_cos"), ("train_f1", "val_f1"), ("train/dice", "valid/dice")])
def test_scores_stand_for_a_loss(names: tuple[str, str], tmp_path: Path) -> None:
    rising = 0.9 - 0.4 * np.exp(-np.arange(30) / 8)
    assert judged(tmp_path, **{names[0]: rising, names[1]: rising - 0.02}).verdict == "healthy"


def test_an_accuracy_that_stands_is_not_called_flat(tmp_path: Path) -> None:
    """Its error is no loss: a good model stands too."""
    assert "flat-not-learning" not in judged(tmp_path, val_accuracy=0.93 + 0.002 * np.sin(5.0 * np.arange(12))).shapes


@pytest.mark.parametrize(("factor", "easier"), [(0.6, True), (1e-9, False)])
def test_validation_on_another_scale_is_not_easier(factor: float, easier: bool, tmp_path: Path) -> None:
    curve = 1 + 2 * np.exp(-np.arange(12) / 3)
    assert ("validation-easier-than-training" in judged(tmp_path, train_loss=curve, val_loss=factor * curve).shapes) is easier


def test_a_training_loss_of_two_values_is_no_curve(tmp_path: Path) -> None:
    train = np.full(60, np.nan)
    train[[20, 50]] = 3.0, 2.0
    diagnosis = judged(tmp_path, **{"Train loss": train, "Valid MSE": 5 * np.exp(-np.arange(60) / 10) + 1})
    assert diagnosis.shapes[0] == "healthy", diagnosis.reason


def test_a_schedule_that_has_ended_was_not_cut_short(tmp_path: Path) -> None:
    falling = np.linspace(3.0, 2.0, 20)
    assert judged(tmp_path, train_loss=falling, lr=np.full(20, 1e-3)).shapes[0] == "underfitting-short-training"
    assert judged(tmp_path, train_loss=falling, lr=np.linspace(1e-3, 1e-5, 20)).shapes[0] == "healthy"


def test_a_loss_that_ends_above_its_start_is_not_healthy(tmp_path: Path) -> None:
    first, second = 1.0 + 1.2 * np.exp(-np.arange(40) / 5), np.full(60, 5.8) + 0.02 * RNG.standard_normal(60)
    two_phases = judged(tmp_path, train_loss=[*first, *second])
    assert two_phases.verdict != "healthy" and two_phases.shapes[0] == "diverged-nan"
    rising = judged(tmp_path, train_loss=np.linspace(1.0, 1.8, 30) + 0.01 * RNG.standard_normal(30))
    assert rising.verdict != "healthy" and "raised-loss" in {s.name for s in rising.signs}


def test_a_loss_that_ends_above_its_start_while_validation_falls_became_harder(tmp_path: Path) -> None:
    train = [*np.full(4, 2.13), *np.linspace(2.49, 2.30, 60)]
    assert judged(tmp_path, train_loss=train, val_loss=np.linspace(2.4, 2.2, 64)).verdict == "healthy"
    assert judged(tmp_path, train_loss=train, val_loss=np.full(64, 2.4) + 0.01 * RNG.standard_normal(64)).verdict != "healthy"


def test_a_loss_that_was_not_measured_at_first_is_not_divergence(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    falling = 0.1 + np.exp(-np.arange(40) / 8)
    path.write_text("".join(f"Episode {i} Step 9: Training Loss {v}\n" for i, v in enumerate([*["nan"] * 12, *falling])))
    assert diagnose(read_logs([path])[0]).verdict == "healthy"
    path.write_text("".join(f"Episode {i} Step 9: Training Loss {v}\n" for i, v in enumerate([*["nan"] * 12, *falling, "nan", "nan"])))
    assert diagnose(read_logs([path])[0]).shapes[0] == "diverged-nan"


def test_a_loss_and_an_accuracy_of_guessing(tmp_path: Path) -> None:
    creeping = np.linspace(2.317, 2.21, 40) + 0.01 * RNG.standard_normal(40)
    assert judged(tmp_path, train_loss=creeping, val_acc=np.full(40, 0.11)).shapes[0] == "flat-not-learning"
    assert judged(tmp_path, train_loss=creeping, val_acc=np.linspace(0.1, 0.25, 40)).shapes[0] != "flat-not-learning"


def test_a_gap_between_losses_near_zero_is_confidence(tmp_path: Path) -> None:
    train, val = np.geomspace(0.04, 1e-5, 14), np.concatenate([[0.0059], np.full(13, 0.0048)])
    assert judged(tmp_path, train_loss=train, val_loss=val, val_acc=np.full(14, 0.9995)).shapes[0] == "healthy"
    assert judged(tmp_path, train_loss=train, val_loss=val, val_acc=np.full(14, 0.9)).shapes[0] == "overfitting"


def test_the_same_answer_to_everything(tmp_path: Path) -> None:
    falls = np.linspace(2.02, 1.76, 12)
    assert judged(tmp_path, train_loss=falls, train_acc=np.full(12, 0.21), val_acc=np.full(12, 0.2)).shapes[0] == "flat-not-learning"
    assert judged(tmp_path, train_loss=falls, train_acc=np.linspace(0.2, 0.6, 12), val_acc=np.full(12, 0.2)).shapes[0] != "flat-not-learning"
    assert judged(tmp_path, train_loss=falls, val_acc=np.full(12, 0.23)).shapes[0] != "flat-not-learning"


def test_validation_far_above_its_best_is_no_health_where_training_stands(tmp_path: Path) -> None:
    train = np.concatenate(
        [[0.8, 0.5, 0.17, 0.12, 0.15], np.linspace(0.17, 0.31, 12), np.full(10, 0.3), np.full(14, 0.17)]
    ) + 0.005 * RNG.standard_normal(41)
    val = np.concatenate([[1.0, 0.5, 0.25, 0.22, 0.22], np.linspace(0.23, 0.42, 12), np.full(24, 0.42)]) + 0.005 * RNG.standard_normal(41)
    assert judged(tmp_path, train_loss=train, val_loss=val).shapes[0] == "overfitting"


def test_values_that_come_farther_and_farther_apart_were_not_cut_short(tmp_path: Path) -> None:
    at = np.unique(np.geomspace(1, 500, 60).astype(int))
    path = tmp_path / "log.csv"
    path.write_text(table(["Epochs(/10)", "Loss"], [[int(e), 4.0 - 0.45 * float(np.log(e))] for e in at]))
    found = diagnose(read_logs([path])[0])
    assert found.shapes[0] == "healthy" and list(read_logs([path])[0].series("loss/train").steps) == list(at)


def test_a_table_of_two_networks(tmp_path: Path) -> None:
    path = tmp_path / "loss.csv"
    path.write_text(table(["", "G", "D"], [[i, 5 * RNG.standard_normal(), -7 + RNG.standard_normal()] for i in range(60)]))
    (record,) = read_logs([path])
    assert record.facts.log is not None and record.facts.log.contested
    assert [len(s) for s in record.series_like("loss/train")] == [60, 60]


def test_a_table_of_something_else_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "history.csv"
    path.write_text(table(["id", "home_id", "date", "value"], [[i, 0, 1552431789501 - i, 186980 - i] for i in range(20)]))
    with pytest.raises(LogError, match="none of its columns"):
        read_logs([path])


@pytest.mark.parametrize(("accuracy", "shape"), [(1.0, "healthy"), (0.5, "diverged-nan")])
def test_a_loss_of_zero_is_solved_where_every_answer_is_right(accuracy: float, shape: str, tmp_path: Path) -> None:
    train = [0.69, 0.66, 0.62, *np.zeros(12)]
    assert judged(tmp_path, train_loss=train, train_acc=[0.5, 0.55, 0.6, *np.full(12, accuracy)]).shapes[0] == shape


LEVELS = {
    "data that take turns": (np.where(np.arange(200) // 25 % 2, 2.0, 1.0), "oscillating"),
    "data that take turns, ending low": (np.where(np.arange(200) // 25 % 2, 1.0, 2.0), "oscillating"),
    "one jump that lasts": (np.where(np.arange(200) < 140, 3 + 6 * np.exp(-np.arange(200) / 20), 7.2), "diverged-nan"),
    "one task after the other": (np.tile(0.3 + 2 * np.exp(-np.arange(40) / 8), 5), "healthy"),
}


@pytest.mark.parametrize("name", LEVELS)
def test_a_loss_that_jumps_down_as_well_as_up_has_not_diverged(name: str, tmp_path: Path) -> None:
    values, shape = LEVELS[name]
    diagnosis = judged(tmp_path, train_loss=values * (1 + 0.02 * RNG.standard_normal(200)))
    assert diagnosis.shapes[0] == shape, diagnosis.reason
    assert (diagnosis.verdict == "sick") == (shape == "diverged-nan")


def test_an_accuracy_that_was_never_a_number_says_nothing(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(table(["epoch", "loss", "val_acc"], [[i, 0.0 if i > 8 else 1.0 - i / 20, "nan"] for i in range(14)]))
    assert diagnose(read_logs([path])[0]).shapes[0] == "diverged-nan"


@pytest.mark.parametrize(("end", "shape"), [(2.457, "overfitting"), (2.64, "plateau")])
def test_validation_that_rises_far_beside_a_loss_with_a_floor(end: float, shape: str, tmp_path: Path) -> None:
    """Training wins 7 % after the turn, nearly all of it at once; or nothing."""
    train = [6.16, 2.81, 2.65, end + 0.05, end + 0.02, *np.full(45, end)]
    diagnosis = judged(tmp_path, train_loss=train, val_loss=[2.63, 2.53, 2.48, *(np.linspace(2.5, 3.6, 47) + 0.02 * RNG.standard_normal(47))])
    assert diagnosis.shapes[0] == shape, diagnosis.reason


@pytest.mark.parametrize(("accuracy", "shape"), [(0.4, "overfitting"), (0.55, "healthy")])
def test_a_few_evaluations_of_which_loss_and_accuracy_get_worse(accuracy: float, shape: str, tmp_path: Path) -> None:
    train, val = [1.44, 1.16, 0.80, 0.63, 0.57, 0.47, 0.38], [1.54, 0.81, 0.707, 0.697, 0.750, 0.730, 0.769]
    diagnosis = judged(tmp_path, loss=train, val_loss=val, val_accuracy=[0.5, 0.5, 0.5, 0.55, 0.55, accuracy, accuracy])
    assert diagnosis.shapes[0] == shape, diagnosis.reason


def test_a_loss_that_won_most_at_the_very_beginning_was_not_cut_short(tmp_path: Path) -> None:
    wobble = 0.008 * RNG.standard_normal(90)
    line = np.linspace(0.55, 0.43, 90) + wobble
    assert judged(tmp_path, train_loss=line).shapes[0] == "underfitting-short-training"
    line[:2] = 1.3, 0.62
    assert judged(tmp_path, train_loss=line).shapes[0] != "underfitting-short-training"


def test_a_loss_that_runs_away_below_zero_is_not_healthy(tmp_path: Path) -> None:
    away = -3e4 * (1 + np.arange(40.0)) ** 2
    diagnosis = judged(tmp_path, loss=away, val_loss=2 * away)
    assert diagnosis.shapes[0] == "diverged-nan" and diagnosis.verdict != "healthy" and "runs away" in diagnosis.reason
    assert judged(tmp_path, loss=-900 + 895 * np.exp(-np.arange(40) / 8)).shapes[0] != "diverged-nan"  # a likelihood


@pytest.mark.parametrize(("every", "spikes"), [(lambda e: 8 * e, True), (lambda e: 8 * e + 3 * (e % 2), False)])
def test_jumps_at_the_same_place_of_every_epoch(every: object, spikes: bool, tmp_path: Path) -> None:
    loss = 0.001 + 0.7 * np.exp(-np.arange(80) / 1.5) + 1e-4 * RNG.standard_normal(80) ** 2
    for e in range(1, 10):
        loss[every(e)] = 3.0 / e  # type: ignore[operator]
    assert ("spikes" in judged(tmp_path, train_loss=loss).shapes) is spikes


def test_tests_of_one_state_are_no_curve(tmp_path: Path) -> None:
    path = tmp_path / "metrics.csv"
    path.write_text("epoch,step,test_acc,test_loss\n0,0,0.63,8.1\n0,0,0.69,1.5\n0,0,0.44,3.1\n0,0,0.45,0.9\n")
    assert diagnose(read_logs([path])[0]).shapes[0] == "too-short"


def test_many_noisy_values_without_any_descent(tmp_path: Path) -> None:
    """A third of the level is noise, so that a descent of 15 % could hide in it: in 120 values the eye would see it."""
    noisy = 3.9 + 1.3 * np.random.default_rng(7).permutation(np.linspace(-1.7, 1.7, 120))
    assert judged(tmp_path, train_loss=noisy).shapes[0] == "flat-not-learning"
    assert judged(tmp_path, train_loss=noisy * np.linspace(1.3, 0.7, 120)).shapes[0] != "flat-not-learning"
    assert judged(tmp_path, train_loss=noisy[:30]).shapes[0] != "flat-not-learning"


@pytest.mark.parametrize(("hard", "shape"), [(1.5, "spikes"), (0.001, "overfitting")])
def test_a_bad_batch_in_each_epoch_counts_in_the_mean(hard: float, shape: str, tmp_path: Path) -> None:
    """Seven of eight batches are far below validation; with the eighth the mean over an epoch is not."""
    loss = 0.001 + 0.3 * np.exp(-np.arange(64) / 4) + 1e-5 * RNG.standard_normal(64)
    loss[8::8] = hard
    path = tmp_path / "metrics.csv"
    rows = "".join(f"{i // 8},{i},{v},\n" + (f"{i // 8},{i},,{0.0467 + 1e-4 * (i // 8)}\n" if i % 8 == 7 else "") for i, v in enumerate(loss))
    path.write_text("epoch,step,train_loss,val_loss\n" + rows)
    assert diagnose(read_logs([path])[0]).shapes[0] == shape


@pytest.mark.parametrize(("last", "shape"), [(4.9, "overfitting"), (2.7, "unclear")])
def test_a_handful_of_evaluations_ends_high_only_where_its_last_value_is(last: float, shape: str, tmp_path: Path) -> None:
    diagnosis = judged(tmp_path, train_loss=[np.nan] * 4, val_loss=[2.4, 3.6, 4.8, last])
    assert diagnosis.shapes[0] == shape, diagnosis.reason


@pytest.mark.parametrize(("first", "shape"), [(9000, "plateau"), (50, "flat-not-learning")])
def test_a_log_that_begins_after_thousands_of_steps_shows_only_standing_still(first: int, shape: str, tmp_path: Path) -> None:
    """The first at step 9000 of 10950; the other where every log of a value in fifty steps begins."""
    path = tmp_path / "log.csv"
    path.write_text(table(["step", "train_loss"], [[first + 50 * i, 4.2 + 0.02 * RNG.standard_normal()] for i in range(40)]))
    assert diagnose(read_logs([path])[0]).shapes[0] == shape


TURNED = 0.5 + 0.35 * (1 - np.exp(-np.arange(40) / 3)) - 0.3 * np.clip((np.arange(40) - 12) / 27, 0, None) + 0.004 * RNG.standard_normal(40)
KEPT = np.where(np.arange(40) < 12, TURNED, np.maximum(TURNED, 0.80 + 0.004 * RNG.standard_normal(40)))
LEARNED = 0.02 + 2 * np.exp(-np.arange(40) / 7)


@pytest.mark.parametrize("name", ["val_accuracy", "val_dice", "test error", "val_wer"])
@pytest.mark.parametrize("turned", [True, False])
def test_a_measure_of_validation_beside_a_training_loss(name: str, turned: bool, tmp_path: Path) -> None:
    score = TURNED if turned else KEPT
    measured = 1 - score if name in ("test error", "val_wer") else score
    diagnosis = judged(tmp_path, **{"train_loss": LEARNED, name: measured})
    assert diagnosis.shapes[0] == ("overfitting" if turned else "healthy"), diagnosis.reason
    assert diagnosis.verdict == ("undecided" if turned else "healthy") and (("back to" in diagnosis.reason) is turned)
    stopped = judged(tmp_path, **{"train_loss": np.maximum(LEARNED, LEARNED[12]), name: measured})
    assert "overfitting" not in stopped.shapes  # training stands, too: it is something else


def test_precision_that_falls_as_recall_rises_has_not_turned(tmp_path: Path) -> None:
    assert judged(tmp_path, train_loss=LEARNED, val_precision=TURNED, val_recall=KEPT).shapes[0] == "healthy"


def test_a_measure_is_not_asked_where_validation_has_a_loss(tmp_path: Path) -> None:
    assert judged(tmp_path, train_loss=LEARNED, val_loss=LEARNED + 0.1, val_wer=1 - TURNED).shapes[0] == "healthy"


def test_a_column_that_is_called_val_may_be_an_accuracy(tmp_path: Path) -> None:
    assert judged(tmp_path, train_loss=LEARNED, val=1 - 0.9 * np.exp(-np.arange(40) / 9)).shapes[0] == "healthy"
