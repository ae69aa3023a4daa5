"""Rows with a bar and a verdict; the table for the terminal and the document for machines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results.json"
FEWEST_BLOCKS = 6
"""With fewer blocks, an interval means nothing."""
_SCALES = {"%": 100.0, "ms": 1000.0}


@dataclass(frozen=True)
class Row:
    """One measured number. Shares are of 1 and times in seconds; `unit` only says how they are shown."""

    what: str
    workload: str
    value: float | None
    low: float | None = None
    high: float | None = None
    bar: float | None = None
    """The largest value allowed; None if the number is for information."""
    blocks: int | None = None
    """How many blocks (or steps) the interval rests on."""
    unit: str = "%"
    note: str = ""

    @property
    def verdict(self) -> str:
        """PASS or FAIL by the value itself; with a question mark if the bar lies inside the interval or blocks are few."""
        if self.bar is None or self.value is None:
            return ""
        unsure = self.low is not None and self.high is not None and self.low <= self.bar < self.high
        unsure |= self.blocks is not None and self.blocks < FEWEST_BLOCKS
        return ("PASS" if self.value <= self.bar else "FAIL") + ("?" if unsure else "")

    def shown(self, value: float | None) -> str:
        if value is None:
            return "–"
        digits = 1 if self.unit == "ms" or abs(value) >= 0.0995 else 2
        return f"{value * _SCALES[self.unit]:.{digits}f} {self.unit}"

    def cells(self) -> tuple[str, ...]:
        interval = f"{self.shown(self.low)} … {self.shown(self.high)}" if self.low is not None else ""
        bar = f"≤ {self.shown(self.bar)}" if self.bar is not None else ""
        return (self.what, self.workload, self.shown(self.value), interval, bar, self.verdict, self.note)


def print_table(rows: Sequence[Row]) -> None:
    heads = ("what", "workload", "measured", "95 % interval", "bar", "verdict", "note")
    lines = [heads, *(row.cells() for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(heads))]
    for i, line in enumerate(lines):
        padded = [cell.rjust(width) if 2 <= j <= 4 else cell.ljust(width) for j, (cell, width) in enumerate(zip(line, widths, strict=True))]
        print("  ".join(padded).rstrip())
        if i == 0:
            print("  ".join("-" * width for width in widths))
    judged = [row.verdict for row in rows if row.verdict]
    failed = sum(v.startswith("FAIL") for v in judged)
    unsure = sum(v.endswith("?") for v in judged)
    print(f"\n{len(judged) - failed} of {len(judged)} bars held, {failed} not; {unsure} too close to call with this noise (marked ?).")


def write_results(rows: Sequence[Row], machine: dict[str, Any], path: Path = RESULTS) -> None:
    document = {"machine": machine, "rows": [asdict(row) | {"verdict": row.verdict} for row in rows]}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
