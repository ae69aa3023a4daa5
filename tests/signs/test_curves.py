"""Curve statistics against slow and obvious twins, and their invariances."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sickbay.nouns import Series
from sickbay.signs.curves import HUGE, Curve, blocks, curve, drift, end, fall, fell, lag_one, noise, running_median, smooth, start, trend_share

finite = st.floats(-1e6, 1e6)
values = arrays(np.float64, st.integers(3, 80), elements=finite)


def of(data: np.ndarray) -> Curve:
    return curve(Series("loss/train", np.arange(len(data)), np.asarray(data, float)))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_noise_is_the_standard_deviation_of_independent_noise() -> None:
    assert noise(rng().normal(5, 0.3, 5000)) == pytest.approx(0.3, rel=0.05)


def test_a_trend_and_rare_jumps_are_not_noise() -> None:
    data = np.linspace(10, 0, 5000) + rng().normal(0, 0.3, 5000)
    data[::100] += 50
    assert noise(data) == pytest.approx(0.3, rel=0.1)


@given(values, st.floats(0.01, 100), finite)
def test_noise_scales_and_does_not_shift(data: np.ndarray, factor: float, shift: float) -> None:
    expected = factor * noise(data)
    assert noise(factor * data + shift) == pytest.approx(expected, rel=1e-3, abs=1e-6 * (1 + abs(shift) + factor * np.max(np.abs(data))))


@given(values, st.integers(1, 30))
def test_smooth_is_a_centred_mean(data: np.ndarray, width: int) -> None:
    width = min(width, len(data))
    slow = [np.mean(data[max(0, i - width // 2) : i + width // 2 + 1]) for i in range(len(data))]
    assert smooth(data, width) == pytest.approx(np.array(slow), abs=1e-6)


@given(values, st.integers(1, 30))
def test_running_median_looks_only_back(data: np.ndarray, width: int) -> None:
    slow = [data[0]] + [np.median(data[max(0, i - width) : i]) for i in range(1, len(data))]
    assert running_median(data, width) == pytest.approx(np.array(slow))


@given(arrays(np.float64, st.integers(0, 40), elements=st.floats(allow_nan=True, allow_infinity=True)))
def test_a_curve_keeps_the_finite_values_and_remembers_the_first_other_one(data: np.ndarray) -> None:
    c = of(data)
    assert len(c) + c.nonfinite == len(data)
    bad = np.flatnonzero(~(np.abs(data) <= HUGE))
    assert c.first_nonfinite == (bad[0] if len(bad) else None)


def test_blocks_are_medians_in_order() -> None:
    assert blocks(np.array([1.0, 2, 9, 4, 5, 6]), 2).tolist() == [2.0, 5.0]


def test_start_and_end() -> None:
    c = of(np.concatenate([np.full(50, 2.0), np.full(50, 1.0)]))
    assert start(c).value == 2.0
    assert end(c).value == 1.0


def test_a_fall_within_the_first_hundredth_of_a_long_run_is_seen() -> None:
    data = np.concatenate([np.linspace(2.3, 0.5, 50), np.full(9950, 0.5)]) + rng().normal(0, 0.05, 10000)
    assert fell(of(data))


@pytest.mark.parametrize("scale", [0.01, 0.3])
def test_noise_alone_falls_in_hardly_any_of_many_runs(scale: float) -> None:
    found = sum(fell(of(2.3 + rng(seed).normal(0, scale, 400))) for seed in range(200))
    assert found <= 1


def test_fall_is_positive_only_downwards() -> None:
    assert fall(of(np.linspace(2, 1, 100)))[0] > 0.8
    assert fall(of(np.linspace(1, 2, 100)))[0] < 0.05


def test_trend_share_tells_a_line_from_a_curve_that_is_done() -> None:
    assert trend_share(of(np.linspace(2, 1.8, 400))) == pytest.approx(0.5, abs=0.1)
    assert trend_share(of(1 + np.exp(-np.linspace(0, 20, 400)))) < 0.02


def test_lag_one_tells_swings_from_noise_from_drift() -> None:
    assert lag_one(np.tile([1.0, 2.0], 50)) < -0.9
    assert abs(lag_one(rng().normal(0, 1, 500))) < 0.2
    assert lag_one(np.sin(np.linspace(0, 60, 500))) > 0.5


def test_nothing_has_no_stretches_and_no_drift() -> None:
    assert len(blocks(np.empty(0), 20)) == 0
    assert drift(np.empty(0), 1.0) == (0.0, math.inf)


def test_a_curve_without_a_finite_value_did_not_fall() -> None:
    assert fall(of(np.empty(0))) == (0.0, math.inf) and not fell(of(np.empty(0)))
