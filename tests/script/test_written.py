"""Where a number stands that a run was seen to use."""

from __future__ import annotations

import re

import pytest

from sickbay.script.written import named_like
from sickbay.testing import make_record

VAL = re.compile(r"\bval\b")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("n_val = 12\n", 1),
        ("class Config:\n    val_rows: int = 12\n", 2),
        ('p.add_argument("--val-size", type=int, default=12)\n', 1),
        ('cfg = {"val": 12}\n', 1),
        ("def split(x, n_val=12): ...\n", 1),
        ("def split(x, n_val=12): ...\nsplit(x, n_val=12)\n", 2),
        ("n_train = 12\n", None),
        ("n_val = 24\n", None),
        ("n_val = 12\nval_steps = 12\n", None),
    ],
)
def test_a_number_by_its_name(text: str, line: int | None) -> None:
    place = named_like(make_record(sources={"train.py": text}), 12, VAL)
    assert (place.line if place is not None else None) == line


def test_a_number_that_fits() -> None:
    record = make_record(sources={"train.py": 'p.add_argument("--val-share", default=0.1)\nn_val = 12\n'})
    place = named_like(record, lambda v: 0 < v < 1, VAL)
    assert place is not None and place.line == 1
