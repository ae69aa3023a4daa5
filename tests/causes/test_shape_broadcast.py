from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from causes.scripts import added
from sickbay.facts import Broadcast, Loss
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, make_record, place_in

COLUMN = {"op": "mse_loss", "left": (64, 1), "right": (64,), "result": (64, 64), "prediction": "left"}


def broadcast(source: str = "", **changes: Any) -> Record:
    given = COLUMN | {"in_loss_function": True} | changes
    if source:
        given |= {"place": place_in(source, source.splitlines()[0])}
    return make_record(steps=50, losses=[Loss(index=0, broadcasts=(Broadcast(**given),))], sources={"train.py": source})


def by_hand(**changes: Any) -> Record:
    return broadcast(**{"op": "sub", "in_loss_function": False, "left_text": "pred", "right_text": "y"} | changes)


class TestShapeBroadcast(CauseTestCase):
    cause = "shape-broadcast"

    def sick(self) -> Iterable[Record]:
        yield broadcast()
        yield by_hand()
        yield by_hand(left=(64,), right=(64, 1), prediction="left")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "all pairs on purpose", by_hand(left=(64, 1), right=(1, 64))
        yield "both sides are predictions", by_hand(prediction="")
        yield "a row of weights", by_hand(left=(64, 10), right=(10,), result=(64, 10))
        yield "samples against quantiles", by_hand(left=(64, 1), right=(9,), result=(64, 9))


def test_a_column_made_on_the_line_itself_is_likely_only() -> None:
    assert_suspects(by_hand(left_text="pred[:, None]"), "shape-broadcast", "likely")


def test_a_dimension_added_to_indices_is_none_added_to_the_prediction() -> None:
    assert_suspects(by_hand(left_text="q(s).gather(1, action.unsqueeze(1))"), "shape-broadcast", "proven")


@pytest.mark.parametrize(
    ("line", "operands", "fixed"),
    [
        ("loss = crit(net(x), y)", ("net(x)", "y"), "loss = crit(net(x).squeeze(-1), y)"),
        ("loss = ((out - y) ** 2).mean()", ("out", "y"), "loss = ((out.squeeze(-1) - y) ** 2).mean()"),
        ("loss = crit(a + b, y)", ("a + b", "y"), "loss = crit((a + b).squeeze(-1), y)"),
    ],
)
def test_the_fix_squeezes_the_column(line: str, operands: tuple[str, str], fixed: str) -> None:
    record = broadcast(line + "\n", left_text=operands[0], right_text=operands[1])
    assert added(assert_suspects(record, "shape-broadcast").fix.diff) == [fixed]


def test_a_target_column_is_squeezed_too() -> None:
    record = broadcast("loss = crit(out, y)\n", left=(64,), right=(64, 1), left_text="out", right_text="y")
    assert added(assert_suspects(record, "shape-broadcast").fix.diff) == ["loss = crit(out, y.squeeze(-1))"]


def test_two_on_one_line_are_told_once_and_mended_at_their_common_name() -> None:
    line = "loss = (y * f(-z) + (1 - y) * f(z)).mean()"
    one = Broadcast(**COLUMN | {"op": "mul", "place": place_in(line, line), "left": (64,), "right": (64, 1), "prediction": "right"})
    pair = (replace(one, left_text="y", right_text="f(-z)"), replace(one, left_text="1 - y", right_text="f(z)"))
    record = make_record(steps=50, losses=[Loss(index=0, broadcasts=pair)], sources={"train.py": line + "\n"})
    suspicion = assert_suspects(record, "shape-broadcast")
    assert len(suspicion.evidence) == 1
    assert added(suspicion.fix.diff) == ["z = z.squeeze(-1)"]
