"""The numbers of an evaluation against scikit-learn's, on whatever hypothesis thinks of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sickbay.exams.evaluate_classes import ClassTally, SeenClasses
from sickbay.exams.evaluate_labels import Labels
from sickbay.exams.evaluate_numbers import Numbers, patterns
from sickbay.exams.evaluate_reliability import BINS, Sureness
from sickbay.exams.evaluate_slices import parts, slice_scores

metrics = pytest.importorskip("sklearn.metrics")

pairs = st.integers(2, 6).flatmap(
    lambda c: st.tuples(st.just(c), st.lists(st.tuples(st.integers(0, c - 1), st.integers(0, c - 1)), min_size=2, max_size=60))
)


def tally(target: np.ndarray, predicted: np.ndarray, classes: int, sure: np.ndarray | None = None, *, yes_or_no: bool = False) -> ClassTally:
    made = ClassTally(classes, yes_or_no=yes_or_no)
    sure = np.full(len(target), 0.9) if sure is None else sure
    for at in range(0, len(target), 7):  # in batches, as a loader gives them
        part = slice(at, at + 7)
        columns = [v[part, None] for v in (predicted, target, sure, np.full(len(target), 0.5))]
        made.add(SeenClasses(*columns))
    return made


@given(pairs)
def test_classes_are_scored_as_sklearn_does(drawn: tuple[int, list[tuple[int, int]]]) -> None:
    classes, values = drawn
    target, predicted = np.array(values).T
    made = tally(target, predicted, classes)
    assert made.accuracy().value == pytest.approx(metrics.accuracy_score(target, predicted))
    assert np.array_equal(np.array(made.confusion()), metrics.confusion_matrix(target, predicted, labels=range(classes)))
    p, r, f, s = metrics.precision_recall_fscore_support(target, predicted, labels=range(classes), zero_division=0)
    table = made.table([str(c) for c in range(classes)])
    assert np.allclose([[c.precision, c.recall, c.f1, c.support] for c in table], np.stack([p, r, f, s], 1))
    more = {m.name: m for m in made.more()}
    present = sorted(set(target))
    assert more["mean recall of the classes"].value == pytest.approx(np.mean(r[present]))
    assert more["mean F1 of the classes"].value == pytest.approx(metrics.f1_score(target, predicted, average="macro", zero_division=0))
    majority = np.full(len(target), np.bincount(target).argmax())
    assert made.accuracy().constant == pytest.approx(metrics.accuracy_score(target, majority))
    low, value, high = made.accuracy().low, made.accuracy().value, made.accuracy().high
    assert 0 <= low <= value <= high <= 1


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 10)), min_size=4, max_size=80))
def test_the_area_is_sklearns(values: list[tuple[bool, int]]) -> None:
    target, sure = np.array([v[0] for v in values]).astype(int), np.array([v[1] for v in values]) / 10
    area = next((m for m in tally(target, (sure > 0.5).astype(int), 2, sure, yes_or_no=True).more() if m.name.startswith("area")), None)
    if len(set(target)) < 2:
        assert area is None
    else:
        assert area is not None and area.value == pytest.approx(metrics.roc_auc_score(target, sure), abs=1e-6)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=100))
def test_calibration_error_is_the_sum_over_bins(values: list[tuple[float, bool]]) -> None:
    sure, right = np.array([v[0] for v in values]), np.array([v[1] for v in values])
    made = Sureness("predicted class")
    made.add(sure[:3], right[:3], 0)
    made.add(sure[3:], right[3:], 0)
    slow = 0.0
    for b in range(BINS):
        inside = (np.minimum((sure * BINS).astype(int), BINS - 1)) == b
        if inside.any():
            slow += inside.mean() * abs(sure[inside].mean() - right[inside].mean())
    told = made.told(independent=True)
    assert told is not None and told.error == pytest.approx(slow, abs=1e-9)
    assert sum(b.count for b in told.bins) == len(values)


def test_a_calibrated_model_is_within_chance() -> None:
    rng = np.random.default_rng(0)
    within = 0
    for _ in range(100):
        sure = rng.uniform(0.3, 1, 500)
        made = Sureness("predicted class")
        made.add(sure, rng.random(500) < sure, 0)
        told = made.told(independent=True)
        assert told is not None
        within += told.error <= told.by_chance
    assert 88 <= within <= 100  # 95 are promised


def test_the_surely_frequent_confusion_leads() -> None:
    target = np.array([0] * 45 + [1] * 2 + [2] * 50)
    predicted = target.copy()
    predicted[:14] = 2  # 31 % of 45
    predicted[45] = 0  # half, of two
    first = tally(target, predicted, 3).confused(["a", "b", "c"])[0]
    assert (first.given, first.taken_for, first.count, first.support) == ("a", "c", 14, 45)


def test_targets_that_are_no_class_are_left_out_and_answers_that_are_nan_are_wrong() -> None:
    target, predicted = np.array([0, 1, -100, 255, 1]), np.array([0, 1, 0, 0, 1])
    sure = np.array([0.9, 0.9, 0.9, 0.9, np.nan])
    made = tally(target, predicted, 2, sure)
    assert (made.total, made.left_out, made.nonfinite) == (3, 2, 1)
    assert made.accuracy().value == pytest.approx(2 / 3)


def test_a_model_that_says_one_class_is_no_better_than_a_constant() -> None:
    target = np.random.default_rng(0).integers(0, 2, 400)
    assert tally(target, np.full(400, np.bincount(target).argmax()), 2).standing() == "unclear"
    assert tally(target, target, 2).standing() == "beyond"
    assert tally(target, 1 - target, 2).standing() == "below"


@given(st.integers(2, 5).flatmap(lambda k: st.lists(st.tuples(*[st.tuples(st.floats(0, 1), st.booleans())] * k), min_size=2, max_size=40)))
def test_labels_are_scored_as_sklearn_does(rows: list[tuple[tuple[float, bool], ...]]) -> None:
    likely = np.array([[v[0] for v in row] for row in rows])
    given_ = np.array([[v[1] for v in row] for row in rows]).astype(int)
    made = Labels(likely, given_)
    said = (likely > 0.5).astype(int)
    assert made.score().value == pytest.approx(metrics.f1_score(given_, said, average="micro", zero_division=0))
    more = {m.name: m.value for m in made.more()}
    assert more["samples with all labels right"] == pytest.approx(metrics.accuracy_score(given_, said))
    assert more["labels that are right"] == pytest.approx(1 - metrics.hamming_loss(given_, said))
    best = max(
        metrics.f1_score(given_, np.tile(one, (len(given_), 1)), average="micro", zero_division=0)
        for one in np.array(np.meshgrid(*[[0, 1]] * likely.shape[1])).reshape(likely.shape[1], -1).T
    )
    assert made.score().constant == pytest.approx(best)


numbers = st.lists(st.tuples(st.floats(-100, 100), st.floats(-100, 100)), min_size=5, max_size=60)


@given(numbers)
def test_numbers_are_scored_as_sklearn_does(values: list[tuple[float, float]]) -> None:
    predicted, target = np.array(values)[:, :1], np.array(values)[:, 1:]
    if target.std() < 1e-3:
        return
    made = Numbers(predicted, target)
    assert made.score().value == pytest.approx(metrics.r2_score(target, predicted), rel=1e-6, abs=1e-6)
    mae, rmse = made.more()
    assert mae.value == pytest.approx(metrics.mean_absolute_error(target, predicted))
    assert mae.constant == pytest.approx(metrics.mean_absolute_error(target, np.full_like(target, np.median(target))))
    assert rmse.value**2 == pytest.approx(metrics.mean_squared_error(target, predicted))
    assert rmse.constant**2 == pytest.approx(target.var())


def test_several_outputs_are_a_mean() -> None:
    rng = np.random.default_rng(0)
    target = rng.normal(size=(200, 3)) * [1, 10, 100]
    predicted = target + rng.normal(size=(200, 3)) * [0.1, 5, 90]
    made = Numbers(predicted, target)
    assert made.score().value == pytest.approx(metrics.r2_score(target, predicted))
    assert [o.r2 for o in made.table("abc")] == pytest.approx(metrics.r2_score(target, predicted, multioutput="raw_values"))


@pytest.mark.parametrize("seed", range(20))
def test_plain_noise_has_no_pattern(seed: int) -> None:
    rng = np.random.default_rng(seed)
    predicted = rng.normal(size=(600, 1))
    residuals = Numbers(predicted, predicted + rng.normal(size=(600, 1))).residuals()
    assert residuals is not None and patterns(residuals, 600) == []


def test_patterns_in_the_errors_are_told() -> None:
    rng = np.random.default_rng(0)
    predicted = rng.uniform(0, 10, size=(1000, 1))
    noise = rng.normal(size=(1000, 1))

    def told(target: np.ndarray) -> str:
        residuals = Numbers(predicted, target).residuals()
        assert residuals is not None
        return "; ".join(patterns(residuals, 1000))

    assert "errors grow with the prediction" in told(predicted + 0.3 * predicted * noise)
    assert "too low on average" in told(predicted + 2 + noise)
    assert "depend on the prediction" in told(0.5 * predicted + 2.5 + 0.5 * noise)


def test_the_slice_that_is_worse_comes_first_and_the_others_are_not_accused() -> None:
    rng = np.random.default_rng(0)
    n = 2000
    where, camera = rng.integers(0, 4, n), rng.choice(["a", "b", "c"], n)
    right = (rng.random(n) < np.where(where == 2, 0.7, 0.92)).astype(float)
    told = slice_scores({"site": where, "camera": camera}, right, larger_is_better=True, shares=True)
    assert [(s.by, s.value) for s in told if s.worse] == [("site", "2")]
    assert told[0].worse and told[0].chance < 0.001 and told[0].low < told[0].score < told[0].high


def test_slices_of_pure_chance_are_hardly_ever_accused() -> None:
    rng = np.random.default_rng(3)
    accused = 0
    for _ in range(100):
        columns = {f"c{i}": rng.integers(0, 5, 400) for i in range(6)}
        accused += any(s.worse for s in slice_scores(columns, (rng.random(400) < 0.8).astype(float), larger_is_better=True, shares=True))
    assert accused <= 8  # five in a hundred are promised, in both directions


def test_columns_of_many_numbers_are_cut_into_quarters() -> None:
    values = [float(v) for v in range(99)] + [float("nan")]
    found = parts(values)
    assert [name for name, _ in found] == ["below 24.5", "24.5 to 49", "49 to 73.5", "from 73.5", "not a number"]
    assert sum(inside.sum() for _, inside in found) == 100
    assert [name for name, _ in parts(["b", "a", "b"])] == ["a", "b"]
    assert len(parts([str(i) for i in range(50)])) == 20
