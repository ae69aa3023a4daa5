"""Lines of one kind, gathered and turned into numbers together: what makes long text logs quick to read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sickbay.record.foreign.decimals import in_lines
from sickbay.record.foreign.json_rows import parse

Span = tuple[int, int]
Part = tuple[NDArray[np.int64], NDArray[np.float64]]
"""Some rows, and the values in them."""
Columns = dict[str, Part]


class Batch:
    """Lines whose numbers stand in the same places, with the numbers of their rows and the epoch that each belongs to."""

    __slots__ = ("epochs", "lines", "rows")

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.lines: list[str] = []
        self.epochs: dict[int, float] = {}
        """Of rows whose lines do not say it themselves, where it is known."""


def columns(batches: list[tuple[Mapping[str, Span], Batch]]) -> Columns:
    """The columns of all batches, each in the order of its rows."""
    parts: dict[str, list[Part]] = {}
    for spans, batch in batches:
        rows = np.array(batch.rows, np.int64)
        for name, (a, b) in spans.items():
            plain = in_lines(batch.lines, a, b)
            if plain is not None:
                parts.setdefault(name, []).append((rows, plain))
                continue
            values, known = _numbers([line[a:b] for line in batch.lines])
            parts.setdefault(name, []).append((rows[known], values[known]))
        if batch.epochs:
            parts.setdefault("epoch", []).append((np.fromiter(batch.epochs, np.int64), np.fromiter(batch.epochs.values(), np.float64)))
    return {name: joined(found) for name, found in parts.items()}


def _numbers(texts: list[str]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The numbers, and which of the texts are numbers at all."""
    try:
        return np.array(list(map(float, texts))), np.ones(len(texts), bool)
    except ValueError:
        found = [parse(t.replace(",", "")) for t in texts]
        return np.array([0.0 if v is None else v for v in found]), np.array([v is not None for v in found])


def joined(found: list[Part]) -> Part:
    """The parts of one column, in the order of the rows."""
    if len(found) == 1:
        return found[0]
    rows, values = (np.concatenate(x) for x in zip(*found, strict=True))
    order = np.argsort(rows, kind="stable")
    return rows[order], values[order]
