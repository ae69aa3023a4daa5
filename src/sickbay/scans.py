"""`sickbay.scan(train_loader, val_loader)`: look at the data before training. (Wiring: the examination, the judgement and the report.)"""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sickbay.facts.scan import Finding, Scan

Progress = Callable[[str, int, int | None], None]
SECONDS = 0.1
"""Between two drawings of the progress bar."""


@dataclass(frozen=True)
class ScanResult:
    """What a scan found. Shows itself: `print(result)`, or as the last line of a notebook cell. Truthy if nothing is wrong."""

    findings: tuple[Finding, ...]
    """Everything, the surest first; remarks last."""
    seen: Scan
    """What the loaders hold, in numbers."""
    samples: bool = False
    """Whether values of samples may be shown (what an exception said)."""

    @property
    def wrong(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.wrong)

    @property
    def remarks(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if not f.wrong)

    def __bool__(self) -> bool:
        return not self.wrong

    def document(self) -> dict[str, Any]:
        """The JSON document (`sickbay/scan/1`)."""
        from sickbay.report.scan_document import build

        return build(self.seen, self.findings, samples=self.samples)

    def html(self) -> str:
        """The report as one HTML page."""
        from sickbay.report.scan_html import render

        return render(self.seen, self.findings, samples=self.samples)

    def __str__(self) -> str:
        from rich.console import Console

        from sickbay.report.scan_page import render

        out = io.StringIO()
        render(self.seen, self.findings, Console(file=out, width=80, highlight=False, soft_wrap=False, force_terminal=False), samples=self.samples)
        return out.getvalue()

    def __repr__(self) -> str:
        return f"ScanResult({len(self.wrong)} wrong, {len(self.remarks)} remarks)"

    def _repr_html_(self) -> str:
        from sickbay.report.scan_html import fragment

        return fragment(self.seen, self.findings, samples=self.samples)


def scan(
    train_loader: Any,
    val_loader: Any = None,
    *,
    workers: int | None = None,
    samples: bool = False,
    state: str | Path | None = None,
    go_on: bool = True,
    progress: Progress | None = None,
) -> ScanResult:
    """Go through the loaders once and say what is wrong with them, before any training.

    Loaders are anything that can be iterated: a `DataLoader`, a list of batches, a generator (which is used up). Random generators are left as they were.

    `workers` replaces the loaders' own number of workers. `samples=True` lets the result show what exceptions said, which may hold values of samples. `state` is a file in which a scan that
    Ctrl-C stopped is kept; the next scan goes on from it, unless `go_on=False`. `progress` is told (name, batches so far, batches in all); without it, a terminal gets a progress bar.
    """
    from sickbay.exams.scan.examine import scan as examine
    from sickbay.scanned import judge

    with bar() if progress is None else nullcontext(progress) as tick:
        seen = examine(train_loader, val_loader, workers=workers, progress=tick, state=Path(state) if state is not None else None, go_on=go_on)
    return ScanResult(judge(seen), seen, samples)


@contextmanager
def bar() -> Iterator[Progress | None]:
    """A progress bar on standard error; nothing where that is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress as Bars

    with Bars(console=Console(stderr=True), transient=True) as bars:
        shown: dict[str, Any] = {}
        drawn = [0.0]

        def tick(name: str, done: int, total: int | None) -> None:
            if name not in shown:
                shown[name] = bars.add_task(f"scanning {name}", total=total)
            elif (now := time.monotonic()) - drawn[0] > SECONDS or done == total:
                drawn[0] = now
                bars.update(shown[name], completed=done)

        yield tick
