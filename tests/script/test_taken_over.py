"""Where a script takes over data that hold broken samples."""

from __future__ import annotations

import pytest

from script.followed import source_of
from sickbay.facts import Timeline
from sickbay.record.reader import Record
from sickbay.script.taken_over import taken_over
from sickbay.testing import make_record, place_in

SCRIPT = """
    def station(days):
        table = weather(days)
        {}
        return table, table.sum(1)

    def prepare():
        table, water = station(600)
        x = (table - 3) / 4
        return x, water

    x, y = prepare()
    for idx in torch.randperm(len(x)).split(9):
        loss = loss_fn(net(x[idx]), y[idx])
"""


def record_of(text: str) -> Record:
    text = source_of(text).text
    return make_record(
        series={"loss/train": [1.0] * 9}, sources={"train.py": text}, timeline=Timeline(places={"forward": place_in(text, "net(x[idx])")})
    )


@pytest.mark.parametrize("change", ["table[missing] = -999", "table[rows, 3] = rng.normal(0, 150, 4)", "table[rng.random(days) < 0.01] *= 100"])
def test_a_function_that_changes_some_rows(change: str) -> None:
    place = taken_over(record_of(SCRIPT.format(change)))
    assert place is not None and place.text == "table, water = station(600)" and place.guess


@pytest.mark.parametrize("change", ["table[:, 0] = 3", "table['wind'] = 0", "table[:, 1] *= 2", "out = np.zeros(9)\n        out[rows] = 1"])
def test_columns_and_what_is_filled_are_not_meant(change: str) -> None:
    assert taken_over(record_of(SCRIPT.format(change))) is None


def test_a_script_without_functions() -> None:
    assert taken_over(record_of("x, y = load()\nx[3] = -999\nloss = loss_fn(net(x[idx]), y[idx])\n")) is None


CHECKED = SCRIPT.replace(
    "x = (table - 3) / 4\n",
    """known = np.isfinite(table).all(1)
        table, water = table[known], water[known]
        pack = lambda rows: (table[rows] - 3) / 4
        x = pack(torch.randperm(len(table)))
""",
)


def test_a_check_that_lets_them_pass() -> None:
    change = "table[missing] = -999"
    place = taken_over(record_of(CHECKED.format(change)))
    assert place is not None and place.text == "known = np.isfinite(table).all(1)" and place.guess
    other = CHECKED.replace("np.isfinite(table).all(1)", "torch.randperm(len(table))")
    place = taken_over(record_of(other.format(change)))
    assert place is not None and place.text == "table, water = station(600)", "another order leaves nothing out"
