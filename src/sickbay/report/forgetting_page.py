"""The page and the document of `sickbay forgetting`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console

from sickbay.facts.forgotten import Forgotten, Remembered
from sickbay.report import words
from sickbay.report.evaluation_document import plain
from sickbay.report.evaluation_words import value
from sickbay.report.rows import as_text, short
from sickbay.report.terminal import Page
from sickbay.report.trials import bars

SCHEMA = "sickbay/forgetting/1"
CLASSES = 8


def statement(f: Forgotten) -> str:
    worse = [t for t in f.tasks if t.worse]
    if not worse:
        return f"nothing got worse beyond chance ({words.count(len(f.tasks), 'task')})"
    first = worse[0]
    since = f" since step {first.since:,}" if first.since is not None else ""
    more = f", and {words.count(len(worse) - 1, 'other task')}" if len(worse) > 1 else ""
    return f"{words.clean(first.name)} is forgotten{since}: {first.measure} {value(first.before)} before, {value(first.now)} now{more}"


def render(f: Forgotten, console: Console) -> None:
    page = Page(console)
    worse = any(t.worse for t in f.tasks)
    page.line(("── forgetting " + "─" * (page.width - 14), "dim"))
    page.line(("FORGOTTEN", "bold red") if worse else ("REMEMBERED", "bold green"))
    page.prose(words.sentence(statement(f)))
    for task in f.tasks:
        page.line()
        _task(page, task)
    for i, note in enumerate(f.notes):
        page.prose(words.sentence(note), indent=6, label="" if i else "Note")


def _task(page: Page, t: Remembered) -> None:
    page.line((short(t.name, 60), "bold"), (" · worse" if t.worse else "", "red"))
    page.prose(f"{t.measure} {value(t.before)} at {words.clean(t.before_at)}, {value(t.now)} at {words.clean(t.now_at)}{_sure(t)}", indent=2)
    if t.since is not None:
        page.prose(f"worse from step {t.since:,} on", indent=2)
    if t.lost or t.gained:
        page.prose(f"{words.count(t.lost, 'sample')} were right and are wrong, {t.gained:,} the reverse", indent=2)
    for c in t.classes[:CLASSES]:
        page.prose(f"class {words.clean(c.name)}: {words.percent(c.before)} of {c.support:,} were right, {words.percent(c.now)} are", indent=2)
    if t.note:
        page.prose(t.note, indent=2, style="dim")
    values = [v for _, v in t.course if v == v]
    if len(values) > 2:
        page.line(bars(values, (min(values), max(values), False)), indent=2)


def _sure(t: Remembered) -> str:
    return "" if t.chance is None or t.chance >= 1 else f" (by chance: {'less than 1 in 1,000' if t.chance < 0.001 else words.percent(t.chance)})"


def text(f: Forgotten) -> str:
    """The same page as plain text, for `print`."""
    return as_text(lambda console: render(f, console))


def document(f: Forgotten) -> dict[str, Any]:
    """As JSON; what is not a number is null."""
    found: dict[str, Any] = plain(asdict(f))
    return {"schema": SCHEMA, "statement": words.sentence(statement(f)), **found}
