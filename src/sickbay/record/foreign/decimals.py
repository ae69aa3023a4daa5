"""Many plain decimal numbers at once: what makes large logs quick to read.

Numbers of the same width, with the point in the same place and at most 15 digits, are an exact whole number divided by an exact power of
ten, so that the quotient is the very number that `float` would give. Everything else (exponents, "nan", longer numbers) is left to `float`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Floats = NDArray[np.float64]
MOST_DIGITS = 15
POINT, MINUS, ZERO, NEWLINE = b".-0\n"
POWERS = 10.0 ** np.arange(MOST_DIGITS + 1)


def same_width(cells: Bytes) -> Floats | None:
    """The numbers in the rows of a matrix of characters; None if they are not all of one plain kind."""
    negative = bool(cells[0, 0] == MINUS)
    if negative:
        if not np.all(cells[:, 0] == MINUS):
            return None
        cells = cells[:, 1:]
    points, behind = np.flatnonzero(cells[:1] == POINT), 0
    if len(points) == 1:
        at = int(points[0])
        if not np.all(cells[:, at] == POINT):
            return None
        behind = cells.shape[1] - 1 - at
        cells = np.concatenate((cells[:, :at], cells[:, at + 1 :]), axis=1)
    count = cells.shape[1]
    digits = cells - np.uint8(ZERO)  # what is no digit is above 9 then
    if not 0 < count <= MOST_DIGITS or len(points) > 1 or int(digits.max()) > 9:
        return None
    found: Floats = (digits.astype(np.float64) @ POWERS[:count][::-1]) / POWERS[behind]
    return -found if negative else found


def in_lines(lines: list[str], a: int, b: int) -> Floats | None:
    """The numbers that stand between two places of all these lines; None if they are not of one plain kind."""
    try:
        text = "".join([line[a:b] for line in lines]).encode("ascii")
    except UnicodeEncodeError:
        return None
    if b <= a or len(text) != len(lines) * (b - a):
        return None
    return same_width(np.frombuffer(text, np.uint8).reshape(len(lines), b - a))


def in_table(block: bytes, separator: bytes, width: int) -> Floats | None:
    """All cells of a block of whole lines, a row for each line; None if some line has another number of cells or some cell is no plain number."""
    text = np.frombuffer(block, np.uint8)
    size = block.find(b"\n") + 1
    if size and len(text) % size == 0 and (found := _of_one_layout(text.reshape(-1, size), separator[0], width)) is not None:
        return found
    ends = np.flatnonzero((text == separator[0]) | (text == NEWLINE))
    if len(ends) == 0 or len(ends) % width or not np.all(text[ends[width - 1 :: width]] == NEWLINE) or block.count(b"\n") * width != len(ends):
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    found = np.empty((len(ends) // width, width))
    for j in range(width):
        begin, length = starts[j::width], (ends - starts)[j::width]
        for long in np.flatnonzero(np.bincount(length)):
            chosen = length == long
            numbers = same_width(text[begin[chosen][:, None] + np.arange(long)]) if long else None
            if numbers is None:
                return None
            found[chosen, j] = numbers
    return found


def _of_one_layout(rows: Bytes, separator: int, width: int) -> Floats | None:
    """The cells of lines that are all laid out like the first."""
    between = np.flatnonzero(rows[0] == separator)
    if len(between) != width - 1 or not np.all(rows[:, -1] == NEWLINE) or not np.all(rows[:, between] == separator):
        return None
    found = np.empty((len(rows), width))
    for j, (a, b) in enumerate(zip([0, *(between + 1)], [*between, rows.shape[1] - 1], strict=True)):
        numbers = same_width(rows[:, a:b]) if b > a else None
        if numbers is None:
            return None
        found[:, j] = numbers
    return found
