"""Which parts of a close look are taken on which step."""

from __future__ import annotations

import pytest

from sickbay.observe.governor import DEAR, PARTS, Governor

STEP = 0.005


@pytest.fixture
def governor() -> Governor:
    """Past its first steps, which are looked at in full."""
    governor = Governor(budget=0.01, detail_steps=4)
    for step in range(4):
        governor.step_took(STEP, 0.0, asleep=False, deaf=False)
        assert governor.parts_due(step, False) == PARTS
        governor.looked(step, PARTS, 2 * DEAR * STEP)
    return governor


def _looks(governor: Governor, steps: range, cost: float) -> list[tuple[int, tuple[str, ...]]]:
    seen = []
    for step in steps:
        if parts := governor.parts_due(step, False):
            seen.append((step, parts))
            governor.looked(step, parts, cost * len(parts) / len(PARTS))
    return seen


def test_a_dear_look_is_spread_over_steps_that_follow_each_other(governor: Governor) -> None:
    governor.frame.next_step = 100
    seen = _looks(governor, range(100, 106), 2 * DEAR * STEP)
    assert seen == [(100, ("calls",)), (101, ("inputs",)), (102, ("forward",)), (103, ("update",))]


def test_a_spread_look_counts_and_costs_as_one(governor: Governor) -> None:
    runs, spent = governor.frame.runs, governor.frame.spent
    governor.frame.next_step = 100
    _looks(governor, range(100, 104), 2 * DEAR * STEP)
    assert governor.frame.runs == runs + 1
    assert governor.frame.spent - spent == pytest.approx(2 * DEAR * STEP)
    assert governor.frame.next_step > 104


def test_a_cheap_look_is_taken_whole(governor: Governor) -> None:
    governor.frame.cost = 0.5 * DEAR * STEP
    governor.frame.next_step = 100
    assert governor.parts_due(100, False) == PARTS


@pytest.mark.parametrize("step", [8, 64, 4096])
def test_landmarks_are_taken_whole(governor: Governor, step: int) -> None:
    assert governor.parts_due(step, False) == PARTS


def test_a_jump_is_looked_at_whole_and_at_once(governor: Governor) -> None:
    governor.frame.next_step = 10_000
    governor.frame.force(101)
    assert not governor.parts_due(100, False)
    assert governor.parts_due(101, False) == PARTS


def test_a_whole_look_ends_one_that_was_under_way(governor: Governor) -> None:
    governor.frame.next_step = 100
    governor.looked(100, governor.parts_due(100, False), DEAR * STEP)
    assert governor.parts_due(101, True) == PARTS  # the loss is not finite, say
    governor.looked(101, PARTS, 2 * DEAR * STEP)
    assert not governor.parts_due(102, False)


def test_none_of_the_steps_after_a_new_beginning_is_slept_through(governor: Governor) -> None:
    governor.fixed_seconds, governor.asleep_seconds = 10 * STEP, 0.01 * STEP
    assert not governor.may_sleep(1000)  # it wakes now and then
    assert governor.may_sleep(1001)
    governor.awake_until = 1010
    assert not any(governor.may_sleep(step) for step in range(1001, 1010))
