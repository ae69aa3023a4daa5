"""Intervals and tests against scipy's, and against their own promises."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sickbay.exams.intervals import bootstrap, holm, means_differ, shares_differ, wilson

stats = pytest.importorskip("scipy.stats")


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_is_scipys(pair: tuple[int, int]) -> None:
    right, n = pair
    theirs = stats.binomtest(right, n).proportion_ci(method="wilson")
    assert wilson(right, n) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_wilson_of_nothing_is_everything() -> None:
    assert wilson(0, 0) == (0.0, 1.0)


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_shares_are_compared_as_fisher_does(n: int, m: int, data: st.DataObject) -> None:
    a, b = data.draw(st.integers(0, n)), data.draw(st.integers(0, m))
    theirs = stats.fisher_exact([[a, n - a], [b, m - b]]).pvalue
    assert shares_differ(a, n, b, m) == pytest.approx(theirs, rel=1e-6, abs=1e-9)


def test_many_samples_are_compared_by_the_normal_limit() -> None:
    assert shares_differ(2700, 3000, 2610, 3000) == pytest.approx(stats.fisher_exact([[2700, 300], [2610, 390]]).pvalue, rel=0.2)
    assert shares_differ(0, 4000, 0, 4000) == 1.0


def test_means_are_compared_as_welch_does() -> None:
    rng = np.random.default_rng(1)
    one, other = rng.normal(0, 1, 400), rng.normal(0.2, 3, 300)
    assert means_differ(one, other) == pytest.approx(stats.ttest_ind(one, other, equal_var=False).pvalue, rel=0.05)
    assert means_differ(np.ones(5), np.ones(7)) == 1.0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_chance_and_keeps_their_order(chances: list[float]) -> None:
    adjusted = holm(chances)
    assert all(a >= min(c, 1.0) for a, c in zip(adjusted, chances, strict=True))
    order = np.argsort(chances, kind="stable")
    assert (np.diff(np.array(adjusted)[order]) >= 0).all()
    assert min(adjusted) == pytest.approx(min(1.0, len(chances) * min(chances)))


@pytest.mark.parametrize("n", [60, 800, 5000])
def test_a_bootstrap_of_a_mean_is_as_wide_as_the_mean_is_unsure(n: int) -> None:
    values = np.random.default_rng(0).exponential(size=n)
    low, high = bootstrap(np.stack([values, np.ones(n)], 1), lambda s: s[:, 0] / s[:, 1])
    expected = 1.96 * values.std(ddof=1) / math.sqrt(n)
    assert low < values.mean() < high
    assert (high - low) / 2 == pytest.approx(expected, rel=0.15)


def test_a_bootstrap_of_one_sample_knows_nothing() -> None:
    assert all(math.isnan(v) for v in bootstrap(np.ones((1, 2)), lambda s: s[:, 0] / s[:, 1]))
