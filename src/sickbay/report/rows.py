"""What the pages of examinations share: small tables (a name, then numbers), and the same page as plain text."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from rich.console import Console

from sickbay.report import words
from sickbay.report.terminal import Page

NAME = 22


def table(page: Page, columns: Sequence[str], rows: Sequence[Sequence[str]], *, marked: Sequence[bool] = ()) -> None:
    """A name, then numbers, right-aligned; marked rows stand out."""
    widths = [max(len(str(r[i])) for r in (columns, *rows)) for i in range(len(columns))]
    for row, style in ((columns, "dim"), *((r, "bold" if i < len(marked) and marked[i] else "") for i, r in enumerate(rows))):
        cells = [row[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True))]
        page.line(("  ".join(cells), style), indent=2)


def short(name: str, room: int = NAME) -> str:
    name = words.clean(name)
    return name if len(name) <= room else name[: room - 1] + "…"


def as_text(draw: Callable[[Console], None], width: int = 80) -> str:
    """What is drawn on a console, as plain text."""
    stream = io.StringIO()
    draw(Console(file=stream, width=width, highlight=False, color_system=None))
    return stream.getvalue().rstrip("\n")
