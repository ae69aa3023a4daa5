"""The terminal report, reviewed as text: `SICKBAY_SNAPSHOTS=write pytest tests/report` writes it anew; read the diff."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from rich.console import Console

from report import fakes
from report.conftest import Made
from sickbay.nouns import Diagnosis
from sickbay.record.reader import Record
from sickbay.report import terminal, view

SNAPSHOTS = Path(__file__).parent / "snapshots"


def drawn(made_view: view.View, width: int = 80, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    terminal.render(made_view, Console(file=file, width=width, no_color=True, force_terminal=False, legacy_windows=False))
    return raw.getvalue().decode(encoding)


def check(name: str, text: str) -> None:
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("SICKBAY_SNAPSHOTS") == "write":
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["softmax", "healthy", "exploding", "large", "untrained"])
def test_snapshot(name: str, made: Made) -> None:
    check(name, drawn(made(name)))


@pytest.mark.parametrize("name", list(fakes.CASES))
def test_fits_80_columns_but_for_code(name: str, made: Made) -> None:
    long = [line for line in drawn(made(name)).splitlines() if len(line) > 80]
    code = ("> ", "+ ", "- ", "  ")
    if name != "hostile":  # its names are longer than a line
        assert all(line.lstrip().startswith(code) for line in long), long
    assert not [line for line in drawn(made(name)).splitlines() if line != line.rstrip()], "trailing blanks"


def test_verdict_comes_first(made: Made) -> None:
    for name, word in (("softmax", "SICK"), ("healthy", "HEALTHY"), ("hostile", "UNDECIDED"), ("untrained", "NOT TRAINED")):
        assert drawn(made(name)).splitlines()[1].startswith(word)


def test_a_healthy_run_is_told_in_a_few_lines(made: Made) -> None:
    lines = drawn(made("healthy")).splitlines()
    assert 3 <= len(lines) <= 13


def test_nothing_from_the_record_reaches_the_terminal_raw(made: Made) -> None:
    text = drawn(made("hostile"))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\\x1b[31m" in text


def test_a_console_that_cannot_write_our_signs(made: Made) -> None:
    text = drawn(made("softmax"), encoding="ascii")
    assert "2.307 -> 1.869" in text
    assert "train.py - 120 steps" in text


def test_narrow_and_wide_consoles(made: Made) -> None:
    told = [line for line in drawn(made("healthy"), width=50).splitlines() if not line.startswith(("Record", "Next"))]
    assert max(map(len, told)) <= 50  # paths and commands are never broken: they are copied
    assert max(map(len, drawn(made("healthy"), width=200).splitlines())) <= terminal.WIDEST


def test_the_report_beside_the_record_is_named(tmp_path: Path) -> None:
    diagnosis, record = fakes.healthy()
    (tmp_path / "report.html").write_text("")
    there = replace(diagnosis, run=replace(diagnosis.run, folder=str(tmp_path)))
    assert f"Report       {tmp_path}/report.html" in drawn(view.build(there, record)).replace("\n", "")


def test_at_most_three_causes_are_told_in_full() -> None:
    diagnosis, record = fakes.exploding()
    many = replace(diagnosis, causes=diagnosis.causes * 3)
    text = drawn(view.build(many, record))
    assert text.count("\nSeen") == 3
    assert "Less likely: unscaled-input (possible, 31 %), lr-too-high (likely, 86 %)" in text


def test_an_empty_record_is_told() -> None:
    diagnosis = Diagnosis("undecided", "nothing was recorded", (), (), (), fakes.untrained()[0].run)
    assert "UNDECIDED  Nothing was recorded." in drawn(view.build(diagnosis, Record()))


@dataclass(frozen=True)
class Known:
    name: str = "unshuffled-data"
    code: str = "D105"
    level: str = "data"
    title: str = "Training data come in the order of their labels."
    doc: str = (
        "Training data come in the order of their labels.\n\n## What happens\nThe model *forgets* the **first** classes.\n\n## Fix\n"
        "```python\nDataLoader(data, shuffle=True)\n```\n\n- one\n- two\n"
    )
    cure: object = "shuffle_batches"
    explains: frozenset[str] = frozenset({"oscillating-loss", "chance-level"})


def test_explanation_snapshot() -> None:
    file = io.StringIO()
    terminal.render_explanation(Known(), Console(file=file, width=80, no_color=True))
    check("explanation", file.getvalue())


def test_explanation_on_a_console_that_cannot_write_our_signs() -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding="ascii", write_through=True)
    terminal.render_explanation(Known(), Console(file=file, width=80, no_color=True))
    assert " * one" in raw.getvalue().decode("ascii")


def test_catalogue_snapshot() -> None:
    file = io.StringIO()
    known = [
        Known(),
        Known("lr-too-high", "H401", "hyperparameters", "The learning rate is too high, so that each step overshoots the minimum and lands higher"),
    ]
    terminal.render_catalogue(known, Console(file=file, width=80, no_color=True))
    check("catalogue", file.getvalue())


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Off: Dropout(p=0.5)", "Off: Dropout(p=0.5) (steps 0 to 9)."),
        ("They are the same (and 3 more pairs).", "They are the same (and 3 more pairs; steps 0 to 9)."),
        ("The loss stands.", "The loss stands (steps 0 to 9)."),
    ],
)
def test_steps_are_told_in_the_brackets_of_a_remark_not_in_those_of_a_call(text: str, shown: str) -> None:
    assert terminal._sentence(view.EvidenceView("proof", text, "steps 0 to 9", "", ())) == shown
