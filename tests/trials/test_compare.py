"""Trials are judged by what was seen, and never by luck."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sickbay.nouns import Series
from sickbay.record.reader import Record
from sickbay.trials.compare import Course, compare, compare_waiting
from sickbay.trials.levels import compare_levels, falling

Floats = NDArray[np.float64]
PAIRS = 16
SHAPES = {
    "flat": lambda t: np.ones_like(t),
    "falling": lambda t: np.exp(-3 * t),
    "with a floor": lambda t: 0.2 + 0.8 * np.exp(-8 * t),
}


def series(values: object, name: str = "loss/train", first: int = 0) -> Series:
    array = np.asarray(values, dtype=np.float64)
    return Series(name, np.arange(first, first + len(array), dtype=np.int64), array)


def course(values: object, *, crash: str = "", accuracy: tuple[float, ...] = (), evaluation: tuple[float, ...] = ()) -> Course:
    loss = series(values)
    return Course(loss, series(evaluation, "loss/eval"), series(accuracy, "accuracy/eval"), 1000 if accuracy else 0, len(loss), crash)


def noise(kind: str, n: int, rng: np.random.Generator) -> Floats:
    if kind == "white":
        return rng.normal(size=n)
    if kind == "heavy-tailed":
        return np.clip(rng.standard_t(2, size=n), -30, 30)
    rho, x, e = float(kind), np.empty(n), rng.normal(size=n)
    x[0] = rng.normal()
    for i in range(1, n):
        x[i] = rho * x[i - 1] + np.sqrt(1 - rho * rho) * e[i]
    return x


@pytest.mark.parametrize("kind", ["white", "heavy-tailed", "0.9", "0.97", "0.99"])
def test_pure_noise_is_hardly_ever_told_apart(kind: str) -> None:
    """What wanders (correlated from step to step) does so over at most a sixth of the run here; slower wandering cannot be told from an effect."""
    rng = np.random.default_rng(7)
    told = total = 0
    for n in (24, 60, 200, 600, 1500):
        if kind.startswith("0.") and 1 / (1 - float(kind)) > n / 6:
            continue
        t = np.arange(n) / n
        for shape in SHAPES.values():
            for size in (0.02, 0.1, 0.3):
                for _ in range(PAIRS):
                    a, b = (2.3 * shape(t) * np.exp(size * noise(kind, n, rng)) for _ in range(2))
                    total += 1
                    told += compare(course(a), course(b), gone=False).effect in ("CURED", "HELPED", "HARMED")
    assert told <= 0.01 * total, f"{told} of {total}"


@pytest.mark.parametrize("kind", ["white", "heavy-tailed", "0.97"])
def test_pure_noise_is_hardly_ever_told_apart_over_several_seeds_either(kind: str) -> None:
    """Seeds are added one after the other until something shows, as a trial does that one pair did not decide: the chances of all these looks together."""
    rng = np.random.default_rng(11)
    told = total = 0
    for n in (60, 200, 600) if not kind.startswith("0.") else (200, 600):
        t = np.arange(n) / n
        for shape in SHAPES.values():
            for size in (0.1, 0.3, 0.6):
                for _ in range(PAIRS // 2):
                    pairs = [tuple(course(2.3 * shape(t) * np.exp(size * noise(kind, n, rng))) for _ in range(2)) for _ in range(5)]
                    total += 1
                    told += (
                        compare(*pairs[0], gone=False).noisy
                        and any(  # type: ignore[arg-type]
                            compare(*pairs[0], gone=False, others=pairs[1:k]).effect in ("CURED", "HELPED", "HARMED")  # type: ignore[arg-type]
                            for k in range(2, 6)
                        )
                    )
    assert told <= 0.01 * total, f"{told} of {total}"


def test_several_seeds_show_what_one_does_not() -> None:
    rng = np.random.default_rng(5)
    t = np.arange(60) / 60
    pairs = [
        (course(2.3 * np.exp(0.6 * rng.normal(size=60))), course(2.3 * np.exp(-1.2 * t) * np.exp(0.6 * rng.normal(size=60)))) for _ in range(200)
    ]
    alone = [compare(*pair, gone=False) for pair in pairs]
    unclear = [i for i, outcome in enumerate(alone) if outcome.noisy]
    assert len(unclear) > 100
    together = [compare(*pairs[i], gone=False, others=[pairs[(i + k) % 200] for k in range(1, 5)]) for i in unclear]
    assert sum(outcome.effect == "HELPED" for outcome in together) > 0.8 * len(unclear)
    assert "over 5 seeds" in together[0].text and "lower on average" in together[0].text


@pytest.mark.parametrize("size", [0.02, 0.1])
def test_real_effects_are_seen(size: float) -> None:
    rng = np.random.default_rng(3)
    t = np.arange(200) / 200
    stuck, learns = 2.3 * np.ones(200), 2.3 * np.exp(-2 * t)
    seen = [compare_levels(stuck * np.exp(size * rng.normal(size=200)), learns * np.exp(size * rng.normal(size=200))).relation for _ in range(50)]
    assert set(seen) == {"lower"}


def test_losses_below_zero_are_compared_too() -> None:
    t = np.arange(100.0)
    assert compare_levels(-t / 100, -t / 20).relation == "lower"


def test_falling_is_the_nearest_curve_that_never_rises() -> None:
    assert falling(np.array([3.0, 1.0, 2.0, 0.0])).tolist() == [3.0, 1.5, 1.5, 0.0]


DOWN, STUCK = 2.3 * np.exp(-np.arange(100) / 20), np.full(100, 2.3)


@pytest.mark.parametrize(
    ("untreated", "treated", "known", "effect"),
    [
        (course(STUCK), course(DOWN), {"gone": True}, "CURED"),
        (course(STUCK), course(DOWN), {"gone": False}, "HELPED"),
        (course(STUCK), course(DOWN), {"gone": None, "well": True}, "CURED"),
        (course(STUCK), course(DOWN), {"gone": None}, "HELPED"),
        (course(STUCK), course(1.001 * STUCK), {"gone": False}, "NO EFFECT"),
        (course(STUCK), course(STUCK), {"gone": False}, "INCONCLUSIVE"),
        (course(STUCK), course(STUCK), {"gone": None}, "NO EFFECT"),
        (course(STUCK), course(STUCK), {"gone": True}, "HELPED"),
        (course(DOWN), course(STUCK), {"gone": False}, "HARMED"),
        (course(DOWN), course(STUCK), {"gone": True}, "HARMED"),
        (course(DOWN), course(10 * DOWN), {"gone": True, "redefined": True}, "HELPED"),
        (course(DOWN), course(STUCK), {"gone": True, "redefined": True}, "INCONCLUSIVE"),
        (course(DOWN, accuracy=(0.9, 0.96)), course(DOWN, accuracy=(0.8, 0.85)), {"gone": True, "redefined": True}, "HELPED"),
        (course(STUCK[:8]), course(DOWN[:8]), {"gone": True}, "INCONCLUSIVE"),
        (course([2.0] * 9 + [np.nan] * 20), course(DOWN), {"gone": True}, "CURED"),
        (course([2.0] * 9 + [np.nan] * 20), course(DOWN), {"gone": False}, "HELPED"),
        (course([2.0] * 9 + [np.nan] * 20), course(DOWN[:8]), {"gone": True}, "INCONCLUSIVE"),
        (course([2.0] * 9 + [np.nan] * 20), course([2.0] * 9 + [np.nan] * 20), {"gone": False}, "INCONCLUSIVE"),
        (course([2.0] * 9 + [np.nan] * 20), course([2.0] * 10 + [np.inf] * 20), {"gone": False}, "NO EFFECT"),
        (course(DOWN), course([2.0] * 9 + [np.nan] * 20), {"gone": True}, "HARMED"),
        (course([], crash="IndexError at step 0"), course(DOWN), {"gone": True}, "CURED"),
        (course([], crash="IndexError at step 0"), course([], crash="IndexError at step 0"), {"gone": False}, "NO EFFECT"),
        (course(DOWN), course(DOWN[:40], crash="RuntimeError at step 40"), {"gone": True}, "INCONCLUSIVE"),
        (course(DOWN, accuracy=(0.5, 0.6)), course(DOWN, accuracy=(0.7, 0.9)), {"gone": True}, "CURED"),
        (course(DOWN, accuracy=(0.5, 0.6)), course(DOWN, accuracy=(0.5, 0.61)), {"gone": False}, "NO EFFECT"),
        (course(DOWN, evaluation=(2.0, 1.9)), course(DOWN, evaluation=(2.0, 0.4)), {"gone": True}, "CURED"),
    ],
)
def test_verdicts(untreated: Course, treated: Course, known: dict[str, bool], effect: str) -> None:
    outcome = compare(untreated, treated, **known)
    assert outcome.effect == effect, outcome.text
    assert outcome.text


def test_what_is_left_out_is_no_longer_in_the_loss() -> None:
    t = np.arange(200) / 200
    untreated, treated = course(1 + np.exp(-5 * t)), course(0.3 + np.exp(-5 * t))
    assert compare(untreated, treated, gone=True).effect == "CURED"
    assert compare(untreated, treated, eased=True, gone=True).effect == "HELPED"
    assert compare(untreated, treated, eased=True, gone=False).effect == "INCONCLUSIVE"
    seen = [course(c.loss.values, accuracy=(0.5, a)) for c, a in ((untreated, 0.6), (treated, 0.8))]
    assert compare(*seen, eased=True, gone=True).effect == "CURED", "validation tells"


def test_evidence_that_is_gone_from_a_run_that_went_wild_is_no_help() -> None:
    rng = np.random.default_rng(0)
    flat, wild = course(np.full(120, 0.81)), course(0.8 * np.exp(1.2 * np.abs(rng.normal(size=120)) + np.linspace(0, 1, 120)))
    assert compare(flat, wild, gone=True).effect in ("INCONCLUSIVE", "HARMED")
    assert compare(flat, course(np.full(120, 0.81) + 0.01 * rng.random(120)), gone=True).effect == "HELPED"


def test_a_validation_loss_tells_what_an_accuracy_is_too_coarse_for() -> None:
    flat = np.full(100, 0.1)
    before, after = course(flat, accuracy=(0.9, 0.94), evaluation=(0.4, 0.4)), course(flat, accuracy=(0.9, 0.95), evaluation=(0.4, 0.2))
    assert compare(before, after, gone=False).effect == "HELPED"
    assert compare(after, before, gone=False).effect == "NO EFFECT", "the accuracy is as good"
    worse = course(flat, accuracy=(0.9, 0.7), evaluation=(0.4, 0.2))
    assert compare(before, worse, gone=False).effect == "HARMED"


def waits(values: object) -> Record:
    return Record(all_series={"time/data": series(values, "time/data")})


def test_workers_that_deliver_together_halve_the_waiting() -> None:
    """Every other step waits for nothing; with one step more or less a median would say all or nothing."""
    alone = waits(np.full(101, 0.1))
    assert compare_waiting(alone, waits(np.tile([0.11, 0.0], 51)[:101]), None).effect == "HELPED"
    assert compare_waiting(alone, waits(np.full(101, 0.09)), None).effect == "INCONCLUSIVE"
    assert compare_waiting(alone, waits(np.full(101, 0.01)), True).effect == "CURED"
    assert compare_waiting(alone, waits(np.full(101, 0.3)), None).effect == "HARMED"
