"""Methods that are named but not called, because the parentheses were forgotten."""

from __future__ import annotations

from causes.scripts import added
from sickbay.script.uncalled import call_it, uncalled_at
from sickbay.testing import make_record, place_in

SOURCE = """\
for x, y in loader:
    self.opt.zero_grad
    loss = criterion(model(x), y)
    loss.backward()
    self.opt.step()
    model.eval()
"""
RECORD = make_record(sources={"train.py": SOURCE})
NEAR = place_in(SOURCE, "loss.backward()")


def test_the_line_that_only_names_it() -> None:
    place = uncalled_at(RECORD, NEAR, "zero_grad")
    assert place is not None and (place.line, place.text) == (2, "self.opt.zero_grad")


def test_the_fix_adds_the_parentheses() -> None:
    mended = call_it(RECORD, NEAR, "zero_grad")
    assert mended is not None and added(mended.diff) == ["    self.opt.zero_grad()"]


def test_calls_are_left_alone() -> None:
    for method in ("eval", "backward", "step", "train"):
        assert uncalled_at(RECORD, NEAR, method) is None and call_it(RECORD, NEAR, method) is None


def test_no_source_no_claim() -> None:
    assert uncalled_at(make_record(), NEAR, "zero_grad") is None
    assert call_it(RECORD, None, "zero_grad") is None
