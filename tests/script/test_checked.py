"""The `if` that asks whether a value is finite."""

from __future__ import annotations

import pytest

from sickbay.script.checked import decided_at, guard
from sickbay.testing import make_record, place_in

USABLE = """\
def usable(model):
    return all(torch.isfinite(p.grad).all() for p in model.parameters())

for x, y in loader:
    if step == 3:
        print(step)
    loss.backward()
    if not usable(model):
        continue
"""


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("loss = f(x)\nif torch.isnan(loss):\n    pass\n", 2),
        ("loss = f(x)\nif loss != loss:\n    pass\n", 2),
        ("loss = f(x)\nif loss != 3:\n    pass\n", None),
        ("loss = f(x)\nok = torch.isfinite(loss)\nif not ok:\n    pass\n", 3),
        ("loss = f(x)\nok = loss < 3\nif not ok:\n    pass\n", None),
        ("loss = f(x)\n" + USABLE, 9),
    ],
)
def test_the_branch_that_asks(source: str, line: int | None) -> None:
    branch = guard(make_record(sources={"train.py": source}), place_in(source, "loss"))
    assert (branch.lineno if branch is not None else None) == line


def test_a_check_in_a_function_is_decided_where_it_is_called() -> None:
    place = decided_at(make_record(sources={"train.py": USABLE}), place_in(USABLE, "isfinite"))
    assert place is not None and (place.line, place.text) == (8, "if not usable(model):")


def test_a_check_that_gives_no_answer_is_decided_where_it_stands() -> None:
    source = "def clean(model):\n    for p in model.parameters():\n        p.grad[~torch.isfinite(p.grad)] = 0\n\nif clean(model):\n    pass\n"
    assert decided_at(make_record(sources={"train.py": source}), place_in(source, "isfinite")) is None
