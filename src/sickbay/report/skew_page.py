"""The page and the document of `sickbay skew`."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from rich.console import Console

from sickbay.facts.skewed import Skewed
from sickbay.report import words
from sickbay.report.evaluation_document import plain
from sickbay.report.rows import as_text, short, table
from sickbay.report.terminal import Page

SCHEMA = "sickbay/skew/1"
TITLES = {"same": "THE SAME", "rounding": "THE SAME BUT FOR ROUNDING", "differs": "DIFFERENT", "random": "CANNOT BE TOLD"}
TONES = {"same": "bold green", "rounding": "bold green", "differs": "bold red", "random": "bold yellow"}
MARGIN = 13
FEATURES = 12


def statement(s: Skewed) -> str:
    if s.sameness in ("same", "rounding"):
        return f"training and serving make {'the same' if s.sameness == 'same' else 'practically the same'} tensors of {words.count(s.samples, 'sample')}"
    start = f"{s.differ:,} of {words.count(s.samples, 'sample')} differ between training and serving"
    if s.sameness == "random":
        return f"{start}; one of the two is random"
    if s.explained:
        return f"{start}: {words.clean(s.explained)}"
    wrong = sum(f.differ > 0 for f in s.features)
    if not s.differ:
        return "training and serving do not give the same things"
    return f"{start}, in {wrong} of {len(s.features)} features" if 0 < wrong < len(s.features) else f"{start}; nothing simple maps one to the other"


def render(s: Skewed, console: Console) -> None:
    page = Page(console)
    page.line(("── skew " + "─" * (page.width - 8), "dim"))
    page.line((TITLES[s.sameness], TONES[s.sameness]))
    page.prose(words.sentence(statement(s)))
    page.line()
    if s.first:
        values = f": {words.number(s.values[0])} in training, {words.number(s.values[1])} in serving" if s.values is not None else ""
        page.prose(f"{words.clean(s.first)}{values}", indent=MARGIN, label="First")
    page.prose(f"{s.shapes[0]} in training, {s.shapes[1]} in serving", indent=MARGIN, label="Shape")
    page.prose(f"{s.dtypes[0]} in training, {s.dtypes[1]} in serving", indent=MARGIN, label="Numbers")
    for i, note in enumerate(s.notes):
        page.prose(words.sentence(note), indent=MARGIN, label="" if i else "Note", hang=MARGIN + 2)
    for i, line in enumerate(s.cure.splitlines()):
        page.line(("" if i else "To mend").ljust(MARGIN), words.clean(line))
    _features(page, s)


def _features(page: Page, s: Skewed) -> None:
    wrong = [f for f in s.features if f.differ]
    if not wrong:
        return
    page.line()
    page.line((f"By feature: {len(wrong)} of {len(s.features)} differ", "bold"))
    rows = [
        (short(f.name, 18), words.percent(f.differ), _pair(f.mean), _pair(f.spread), f"{f.correlation:.2f}" if math.isfinite(f.correlation) else "")
        for f in wrong[:FEATURES]
    ]
    table(page, ("feature", "differ", "mean", "spread", "corr."), rows)
    if not s.explained:
        for f in wrong[:FEATURES]:
            page.prose(
                words.clean(f.explained or "nothing simple maps one to the other"), indent=MARGIN, label=f"  {short(f.name, MARGIN - 3)}", mark=""
            )
    if len(wrong) > FEATURES:
        page.line((f"and {len(wrong) - FEATURES} more, in the JSON document", "dim"), indent=2)


def _pair(pair: tuple[float, float]) -> str:
    return " → ".join(f"{v:.3g}" for v in pair)


def text(s: Skewed) -> str:
    """The same page as plain text, for `print`."""
    return as_text(lambda console: render(s, console))


def document(s: Skewed) -> dict[str, Any]:
    """As JSON; what is not a number is null."""
    found: dict[str, Any] = plain(asdict(s))
    return {"schema": SCHEMA, "statement": words.sentence(statement(s)), **found}
