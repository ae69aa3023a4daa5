"""Draws a view as plain, quiet text: readable at 80 columns, without colour, and in a log file.

No boxes, no background colours; code and diffs are never wrapped, so that they can be copied.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from typing import Protocol

from rich.console import Console
from rich.text import Text

from sickbay.nouns import LEVELS
from sickbay.report import words
from sickbay.report.excerpts import DiffLine, Excerpt
from sickbay.report.markdown import PlainMarkdown
from sickbay.report.trials import BARS, TrialView
from sickbay.report.view import CauseView, EvidenceView, View

CAUSES = 3
EVIDENCE = 3
CONSEQUENCES = 3
NOT_CHECKED = 5
WIDEST = 96
"""Longer lines of prose are hard to read, however wide the terminal."""
GUTTER = 9
REMARK = re.compile(r" \([^()]*\)$")
"""A remark in brackets at the end of a sentence; the brackets of a call, `Dropout(p=0.5)`, are none."""

TONE = {"sick": "bold red", "healthy": "bold green", "undecided": "bold yellow", "untrained": "bold yellow"}
CERTAINTY = {"proven": "red", "likely": "yellow", "possible": "dim"}
ASCII = str.maketrans({"→": "->", "…": "...", "·": "-", "•": "*", "─": "-", "×": "x", "–": "-", "’": "'"} | dict(zip(BARS, "_.:-=+*#", strict=True)))
"""What stands for our signs where a console cannot write them."""


class Explainable(Protocol):
    """What `sickbay explain` and `sickbay causes` need of a cause."""

    @property
    def name(self) -> str: ...
    @property
    def code(self) -> str: ...
    @property
    def level(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def cure(self) -> object: ...
    @property
    def explains(self) -> Iterable[str]: ...


class Page:
    """Lines on a console: prose is wrapped, code is not, and nothing is ever taken for markup."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.width = max(40, min(console.width, WIDEST))

    def line(self, *parts: str | tuple[str, str], indent: int = 0) -> None:
        text = Text(" " * indent)
        for part in parts:
            content, style = (part, "") if isinstance(part, str) else part
            text.append(self._speakable(content), style)
        self.print(text)

    def print(self, text: Text) -> None:
        text.rstrip()
        if (plain := self._speakable(text.plain)) != text.plain:
            text = Text(plain)
        self.console.print(text, soft_wrap=True, highlight=False)

    def prose(self, text: str, *, indent: int = 0, hang: int | None = None, label: str = "", style: str = "", mark: str = "dim") -> None:
        """A wrapped paragraph; `label` stands in the margin of its first line, in the style `mark`."""
        hang = indent if hang is None else hang
        lines = textwrap.wrap(self._speakable(text), self.width - max(indent, hang), break_long_words=False, break_on_hyphens=False) or [""]
        margin = label.ljust(indent) if label else " " * indent
        self.line((margin, mark), (lines[0], style))
        for line in lines[1:]:
            self.line((line, style), indent=hang)

    def _speakable(self, text: str) -> str:
        """What the console's encoding cannot write is replaced, so that a report never ends in an encoding error."""
        encoding = self.console.encoding or "utf-8"
        if encoding.lower().replace("-", "") in ("utf8", "utf16"):
            return text
        return text.translate(ASCII).encode(encoding, "replace").decode(encoding)


def render(view: View, console: Console) -> None:
    """Print the report."""
    page = Page(console)
    _header(page, view)
    _causes(page, view)
    for trial in view.trials:
        page.line()
        _tried(page, trial)
    page.line()
    _not_checked(page, view)
    _footer(page, view)


def render_findings(view: View, console: Console) -> None:
    """Only what was found, for a place that has a frame of its own (the report of a failed test)."""
    page = Page(console)
    _verdict(page, view)
    _causes(page, view)


def _causes(page: Page, view: View) -> None:
    for cause in view.causes[:CAUSES]:
        page.line()
        _cause(page, cause, alone=len(view.causes) == 1)
    _more_causes(page, view.causes[CAUSES:])


def _verdict(page: Page, view: View) -> None:
    title = "not trained" if view.verdict == "untrained" else view.verdict
    page.prose(view.reason, indent=len(title) + 2, label=title.upper(), mark=TONE[view.verdict])


def _header(page: Page, view: View) -> None:
    page.line(("── sickbay " + "─" * (page.width - 11), "dim"))
    _verdict(page, view)
    facts = [view.run.script, view.run.steps, view.run.duration, view.run.ended]
    page.prose(" · ".join(f for f in facts if f), style="dim")
    if view.ranks:
        page.prose(f"ranks: {view.ranks}", style="dim", hang=7)
    if view.run.treated:
        page.prose(f"{view.run.treated} (not the script as it is)", indent=9, label="TREATED", mark="bold yellow")
    if view.run.loss:
        page.prose(f"loss: {view.run.loss}", style="dim")


def _cause(page: Page, cause: CauseView, *, alone: bool) -> None:
    number = "" if alone else f"{cause.rank}. "
    page.prose(f"{number}{cause.title}", style="bold", hang=len(number))
    page.line((cause.certainty, CERTAINTY[cause.certainty]), (f" · {cause.cause} {cause.code} · {cause.level}", "dim"))
    page.line()
    _seen(page, cause)
    page.prose(cause.why, indent=GUTTER, label="Why")
    _where(page, cause)
    _fix(page, cause)
    if cause.trial is not None:
        _tried(page, cause.trial)
    for i, told in enumerate(cause.consequences[:CONSEQUENCES]):
        page.prose(told, indent=GUTTER, label="" if i else "Explains", hang=GUTTER + 2)
    if len(cause.consequences) > CONSEQUENCES:
        page.prose(f"and {len(cause.consequences) - CONSEQUENCES} more", indent=GUTTER, style="dim")
    page.prose(cause.sure, indent=GUTTER, label="Sure")


def _seen(page: Page, cause: CauseView) -> None:
    for i, evidence in enumerate(cause.seen[:EVIDENCE]):
        page.prose(_sentence(evidence), indent=GUTTER, label="" if i else "Seen")
    if len(cause.seen) > EVIDENCE:
        page.prose(f"and {len(cause.seen) - EVIDENCE} more of the kind", indent=GUTTER, style="dim")


def _sentence(evidence: EvidenceView) -> str:
    extra = ", ".join(x for x in (evidence.where, evidence.steps) if x)
    text = evidence.text.rstrip(".")
    if not extra:
        return evidence.text
    return f"{text[:-1]}; {extra})." if REMARK.search(text) else f"{text} ({extra})."


def _where(page: Page, cause: CauseView) -> None:
    if not cause.where and not cause.excerpts:
        return
    page.prose(cause.where or cause.excerpts[0].where, indent=GUTTER, label="Where")
    for shown in cause.excerpts[:1]:
        code(page, shown, GUTTER)


def code(page: Page, shown: Excerpt, indent: int) -> None:
    """Source around a place; the guilty line is never cut."""
    digits = len(str(shown.lines[-1].number))
    room = page.width - indent - digits - 5
    for line in shown.lines:
        text = line.text if line.guilty or len(line.text) <= room else line.text[: room - 1] + "…"
        gutter = f"{'>' if line.guilty else ' '} {line.number:>{digits}} | "
        gutter = gutter if text else gutter.rstrip()
        page.line((gutter, "bold red" if line.guilty else "dim"), (text, "bold" if line.guilty else "dim"), indent=indent)


def _fix(page: Page, cause: CauseView) -> None:
    page.prose(cause.fix, indent=GUTTER, label="Fix")
    for line in cause.diff:
        page.line(_diff(line), indent=GUTTER)


def _tried(page: Page, trial: TrialView) -> None:
    page.prose(f"{trial.label}: {trial.effect} ({trial.length})", indent=GUTTER, label="Tried")
    for name, bars in trial.rows:
        page.line((f"{name:<10} ", "dim"), bars, indent=GUTTER)
    page.prose(trial.text, indent=GUTTER)


def _diff(line: DiffLine) -> tuple[str, str]:
    if line.kind == "head":
        return line.text, "dim"
    sign, style = {"add": ("+", "green"), "remove": ("-", "red"), "same": (" ", "")}[line.kind]
    return f"{sign} {line.text}".rstrip(), style


def _more_causes(page: Page, causes: tuple[CauseView, ...]) -> None:
    if causes:
        page.line()
        page.prose("Less likely: " + ", ".join(f"{c.cause} ({c.certainty}, {c.confidence})" for c in causes))


def _not_checked(page: Page, view: View) -> None:
    shown = view.not_checked[:NOT_CHECKED]
    for i, (what, why) in enumerate(shown):
        page.prose(f"{what}: {why}" if why else what, indent=13, label="" if i else "Not checked", style="dim", hang=15)
    if more := len(view.not_checked) - len(shown):
        page.prose(f"and {more} more, listed in the HTML and JSON reports", indent=13, style="dim")


def _footer(page: Page, view: View) -> None:
    for label, text in view.log:
        page.prose(text, indent=13, label=label, style="dim", hang=15)
    if view.run.overhead:
        page.prose(view.run.overhead, indent=13, label="Overhead", style="dim")
    if view.run.folder:
        page.line(("Record".ljust(13), "dim"), (view.run.folder, "dim"))
    if view.incident:
        page.prose(view.incident, indent=13, label="Incident", style="dim")
        page.line((view.incident_command, "dim"), indent=13)
    if view.run.report:
        page.line(("Report".ljust(13), "dim"), view.run.report)
    for command, _ in view.next[:1]:
        page.line(("Next".ljust(13), "dim"), (command, "bold"))


def render_explanation(cause: Explainable, console: Console) -> None:
    """Print what a cause's own file says about it."""
    page = Page(console)
    page.line((f"{cause.name} {cause.code}", "bold"), (f" · {cause.level}", "dim"))
    page.line()
    _markdown(page, cause.doc)
    page.line()
    if cause.explains:
        page.prose("Can bring about: " + ", ".join(sorted(cause.explains)), style="dim", hang=2)
    if cause.cure:
        page.prose(f"Cure that a trial can try: {_cure(cause.cure)}", style="dim", hang=2)


def _markdown(page: Page, text: str) -> None:
    """Rendered, then printed line by line: without padding to the right, and with one blank line where there are more."""
    blank = True
    options = page.console.options.update(width=page.width)
    for segments in page.console.render_lines(PlainMarkdown(text, hyperlinks=False), options, pad=False):
        line = Text.assemble(*((segment.text, segment.style or "") for segment in segments))
        line.rstrip()
        if line.plain or not blank:
            page.print(line)
        blank = not line.plain


def _cure(cure: object) -> str:
    name = cure if isinstance(cure, str) else getattr(cure, "name", None) or getattr(cure, "__name__", None) or str(cure)
    return str(name).replace("_", " ")


def render_catalogue(causes: Iterable[Explainable], console: Console) -> None:
    """Print every cause, one line each, by level."""
    page = Page(console)
    everything = sorted(causes, key=lambda c: c.code)
    widest = max((len(c.name) for c in everything), default=0)
    for level in (*LEVELS, *sorted({c.level for c in everything} - set(LEVELS))):
        members = [c for c in everything if c.level == level]
        if not members:
            continue
        page.line((str(level), "bold"))
        for cause in members:
            indent = 2 + 6 + widest + 2
            page.prose(words.headline(cause.title), indent=indent, label=f"  {cause.code:<6}{cause.name}", mark="")
        page.line()
    page.line((f"{len(everything)} causes. `sickbay explain NAME` prints what one is, how it is known and how it is fixed.", "dim"))
