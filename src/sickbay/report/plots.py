"""A curve as text: rows of dots, for terminals and log files."""

from __future__ import annotations

import math
from collections.abc import Sequence

WIDTH, HEIGHT = 60, 12
DOT, MARK = "•", "│"


def plot(
    xs: Sequence[float], ys: Sequence[float], *, log_x: bool = False, mark: float | None = None, width: int = WIDTH, height: int = HEIGHT
) -> list[str]:
    """Lines of text, the highest values first, with the range of the values in the margin and of `xs` below; a column is marked."""
    points = [(math.log10(x) if log_x else x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(y) and (x > 0 or not log_x)]
    if len(points) < 2:
        return []
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    grid = [[" "] * width for _ in range(height)]
    if mark is not None:
        column = _cell(math.log10(mark) if log_x else mark, left, right, width)
        for row in grid:
            row[column] = MARK
    for x, y in points:
        grid[height - 1 - _cell(y, low, high, height)][_cell(x, left, right, width)] = DOT
    labels = [f"{high:.3g}", *[""] * (height - 2), f"{low:.3g}"]
    margin = max(map(len, labels))
    ends = [f"{10**x:.0e}" if log_x else f"{x:g}" for x in (left, right)]
    lines = [f"{label:>{margin}} {''.join(row)}".rstrip() for label, row in zip(labels, grid, strict=True)]
    return [*lines, " " * (margin + 1) + ends[0] + ends[1].rjust(width - len(ends[0]))]


def _cell(value: float, low: float, high: float, cells: int) -> int:
    return min(cells - 1, max(0, int((value - low) / ((high - low) or 1) * cells)))
