"""Signs of training-loss curves: what they see, and how seldom they are wrong on noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sickbay.facts import FirstInvalid, Head, LabelOrder, Loss, Run
from sickbay.record.reader import Record
from sickbay.signs import read_signs
from sickbay.testing import falling, make_record

ALARMING = {"nonfinite-loss", "diverging-loss", "flat-loss", "slow-descent", "oscillating-loss", "early-plateau", "raised-loss"}


def names(record: Record) -> set[str]:
    return {s.name for s in read_signs(record)}


def loss(values: object, **facts: object) -> Record:
    return make_record(series={"loss/train": values}, **facts)  # type: ignore[arg-type]


def noisy(level: float, scale: float, steps: int = 300, seed: int = 0) -> np.ndarray:
    return level + np.random.default_rng(seed).normal(0, scale, steps)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("scale", [0.02, 0.1, 0.3])
def test_healthy_descents_show_nothing(seed: int, scale: float) -> None:
    assert not names(loss(np.abs(falling(2.3, 0.1, noise=scale, seed=seed)))) & ALARMING


@given(arrays(np.float64, st.integers(0, 60), elements=st.floats(allow_nan=True, allow_infinity=True, width=32)))
def test_any_curve_can_be_read(values: np.ndarray) -> None:
    for sign in read_signs(loss(values)):
        assert 0 <= sign.strength <= 1
        assert sign.steps[0] <= sign.steps[1]
        assert sign.text


def test_a_loss_that_turns_nan() -> None:
    (sign,) = read_signs(loss([*falling(2, 1, 50), *[math.nan] * 10])).named("nonfinite-loss")
    assert sign.steps == (50, 59)
    assert "after 50 finite values" in sign.text


def test_flat_from_noise_alone() -> None:
    found = sum("flat-loss" in names(loss(noisy(2.3, 0.1, seed=seed))) for seed in range(100))
    assert found >= 97


def test_flat_says_what_guessing_gives() -> None:
    record = loss(noisy(2.3, 0.02), losses=[Loss(index=0, heads=(Head(function="cross_entropy", classes=10),))])
    (sign,) = read_signs(record).named("flat-loss")
    assert "10 classes gives 2.3" in sign.text
    assert read_signs(record).has("chance-level")


@pytest.mark.parametrize(("raw", "chance"), [(False, True), (True, False)])
def test_chance_level_of_log_probabilities(raw: bool, chance: bool) -> None:
    """Of raw scores the negative log-likelihood is no entropy."""
    head = Head(function="nll_loss", classes=5, input_shape=(32, 5, 18), target_shape=(32, 18), target_dtype="int64", raw=raw)
    record = loss(noisy(1.605, 0.01), losses=[Loss(index=0, heads=(head,))])
    assert ("chance-level" in names(record)) == chance


def test_chance_level_of_probabilities() -> None:
    head = Head(function="binary_cross_entropy", input_shape=(64, 1), target_shape=(64, 1))
    facts = {"losses": [Loss(index=0, heads=(head,))], "labels": LabelOrder(classes=2, histogram=(400, 420))}
    assert "chance-level" in names(loss(noisy(0.69, 0.01), **facts))
    assert "chance-level" not in names(loss(falling(0.7, 0.4), **facts))


def test_chance_level_knows_unequal_classes() -> None:
    facts = {"losses": [Loss(index=0, heads=(Head(function="cross_entropy", classes=2),))], "labels": LabelOrder(classes=2, histogram=(900, 100))}
    assert "chance-level" in names(loss(noisy(0.325, 0.01), **facts))
    assert "chance-level" not in names(loss(falling(0.7, 0.1), **facts))


def test_chance_level_counts_classes_by_their_weights() -> None:
    labels = LabelOrder(classes=2, histogram=(800, 200))
    yes_or_no = Head(function="binary_cross_entropy_with_logits", input_shape=(64,), target_shape=(64,), weights=(1.0, 4.0))
    one_of_two = Head(function="cross_entropy", classes=2, weights=(0.2, 0.8))
    for head, guess in ((yes_or_no, 1.6 * math.log(2)), (one_of_two, math.log(2))):
        facts = {"losses": [Loss(index=0, heads=(head,))], "labels": labels}
        assert "chance-level" not in names(loss(falling(1.2, 0.62), **facts))  # above the entropy of the labels, 0.5
        assert "chance-level" in names(loss(noisy(guess, 0.01), **facts))


def test_slow_descent_is_a_straight_line_that_has_not_come_far() -> None:
    line = np.linspace(2.3, 2.1, 500) + noisy(0, 0.02, 500)
    assert "slow-descent" in names(loss(line))
    assert "slow-descent" not in names(loss(np.linspace(2.3, 0.5, 500)))


def test_a_plateau_at_the_noise_floor_is_neither_flat_nor_slow() -> None:
    assert not names(loss(falling(1.3, 0.25, noise=0.15))) & {"flat-loss", "slow-descent", "diverging-loss"}


def test_divergence() -> None:
    assert "diverging-loss" in names(loss(np.concatenate([noisy(1, 0.05, 50), noisy(8, 0.5, 200)])))


def test_a_second_phase_far_above_the_first() -> None:
    phases = loss([*falling(2.2, 0.1, 100), *noisy(5.8, 0.05, 200)])
    (raised,) = read_signs(phases).named("raised-loss")
    assert raised.numbers["since"] == pytest.approx(100, abs=1) and "jumps up at step" in raised.text


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_does_not_raise_a_loss(seed: int) -> None:
    heavy = np.random.default_rng(seed).exponential(1.0, 400)
    assert "raised-loss" not in names(loss(noisy(1.0, 0.3, 400, seed))) | names(loss(heavy))


def test_a_harder_second_phase_in_which_validation_falls_is_not_raised() -> None:
    harder = [*falling(1.0, 0.6, 100), *falling(1.9, 1.5, 100)]
    assert "raised-loss" in names(make_record(series={"loss/train": harder}))
    assert "raised-loss" not in names(make_record(series={"loss/train": harder, "loss/eval": (np.arange(10) * 20, np.linspace(2.0, 0.8, 10))}))


def test_explosion_in_a_handful_of_steps() -> None:
    (sign,) = read_signs(loss([2.3, 14.0, 900.0, 7e6, math.inf])).named("diverging-loss")
    assert sign.numbers["exploding"] == 1


def test_a_loss_that_starts_at_zero_and_is_noisy_does_not_diverge() -> None:
    assert "diverging-loss" not in names(loss(np.abs(noisy(0, 0.1, 300))))


def test_a_spike_is_not_divergence() -> None:
    values = falling(2.3, 0.2, 400)
    values[200:203] = 9.0
    found = names(loss(values))
    assert "loss-spikes" in found and "diverging-loss" not in found


def test_a_spike_tells_the_gradients_around_it() -> None:
    values, norms = falling(2.3, 0.2, 400), np.full(400, 0.5)
    values[200], norms[200] = 9.0, 40.0
    (sign,) = read_signs(make_record(series={"loss/train": values, "grad_norm": norms})).named("loss-spikes")
    assert sign.text.endswith("gradient norm 0.5 before, 40 there, 0.5 after") and sign.numbers["gradient norm there"] == 40
    clipped = make_record(series={"loss/train": values, "grad_norm": np.minimum(norms, 1.0), "clip_norm": norms})
    assert "40 there" in read_signs(clipped).named("loss-spikes")[0].text


def test_overshooting_steps_oscillate() -> None:
    assert "oscillating-loss" in names(loss(1 + 0.5 * (-1.0) ** np.arange(100)))


def test_two_alternating_batches_do_not() -> None:
    record = loss(1 + 0.5 * (-1.0) ** np.arange(100), run=Run(steps=100, steps_per_epoch=2.0))
    assert "oscillating-loss" not in names(record)


@pytest.mark.parametrize("seed", range(20))
def test_batch_noise_does_not_oscillate(seed: int) -> None:
    assert "oscillating-loss" not in names(loss(np.abs(noisy(1, 0.3, seed=seed))))


def test_negative_losses_are_not_judged() -> None:
    assert not names(loss(noisy(-1, 0.5))) & ALARMING


def test_losses_that_work_against_each_other_are_not_judged() -> None:
    record = make_record(
        series={"loss/train": noisy(0.7, 0.1), "loss/train@1": np.linspace(0.7, 6, 300)},
        losses=[Loss(index=0, optimizers=(0,)), Loss(index=1, optimizers=(1,))],
    )
    assert not names(record) & ALARMING


def test_losses_one_after_the_other_are_judged_each_alone() -> None:
    record = make_record(
        series={"loss/train": falling(2, 0.1, 100), "loss/train@1": (np.arange(100, 200), noisy(2, 0.02, 100))},
        losses=[Loss(index=0, optimizers=(0,)), Loss(index=1, optimizers=(1,))],
    )
    assert [s.where for s in read_signs(record).named("flat-loss")] == ["loss/train@1"]


def test_gradient_spike() -> None:
    norms = np.exp(noisy(0, 0.3))
    norms[150] = 500.0
    (sign,) = read_signs(make_record(series={"grad_norm": norms})).named("gradient-spike")
    assert sign.numbers["step"] == 150
    assert "gradient-spike" not in names(make_record(series={"grad_norm": np.exp(noisy(0, 1.0))}))


def test_skipped_steps_of_a_gradient_scaler_are_not_a_sign() -> None:
    norms = np.ones(400)
    norms[[0, 1, 200]] = math.inf
    assert "nonfinite-gradient" not in names(make_record(series={"grad_norm": norms}))
    assert "nonfinite-gradient" in names(make_record(series={"grad_norm": np.where(np.arange(400) > 300, math.nan, 1.0)}))


def test_gradients_and_weights_that_are_not_finite() -> None:
    gradient = FirstInvalid(step=41, backward=True, before_update=True, parameters=("0.bias",), times=3, last=60)
    (sign,) = read_signs(make_record(losses=[Loss(index=0, invalid=(gradient,))])).named("nonfinite-gradient")
    assert (sign.steps, sign.where, sign.numbers["count"]) == ((41, 60), "0.bias", 3)
    weight = FirstInvalid(step=42, origin="parameter", name="0.weight", parameters_finite=False, updated_at=41)
    (sign,) = read_signs(make_record(losses=[Loss(index=0, invalid=(weight,))])).named("nonfinite-weight")
    assert sign.steps == (41, 42) and "since the update of step 41" in sign.text
    fine = FirstInvalid(step=42, origin="operation", op="log", parameters_finite=True)
    assert not {"nonfinite-gradient", "nonfinite-weight"} & names(make_record(losses=[Loss(index=0, invalid=(fine,))]))
