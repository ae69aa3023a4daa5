"""The user's own source around a place, and fixes as diff lines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sickbay.nouns import Place
from sickbay.report import words

CONTEXT = 2
"""Lines shown before and after the guilty one: enough to recognise the spot, small enough for a terminal."""
LONGEST = 240
"""Characters kept of one source line (a data literal can be a megabyte)."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    number: int
    text: str
    guilty: bool


@dataclass(frozen=True, slots=True)
class Excerpt:
    where: str
    """ "train.py:31, layer head"."""
    lines: tuple[SourceLine, ...]


@dataclass(frozen=True, slots=True)
class DiffLine:
    kind: Literal["add", "remove", "same", "head"]
    text: str
    """Without the leading + or -."""


def excerpt(place: Place, sources: Mapping[str, str], folder: str) -> Excerpt | None:
    """The guilty line with its neighbours, indentation shared by all removed. None when the place names no line."""
    if place.line is None or place.file is None:
        return None
    where = words.place(place, folder)
    text = _source(place.file, sources, folder)
    lines = text.splitlines() if text else []
    if not 1 <= place.line <= len(lines):
        return Excerpt(where, (SourceLine(place.line, _clip(place.text), True),)) if place.text else None
    first, last = max(1, place.line - CONTEXT), min(len(lines), place.line + CONTEXT)
    while first < place.line and not lines[first - 1].strip():
        first += 1
    while last > place.line and not lines[last - 1].strip():
        last -= 1
    picked = [line.expandtabs(4).rstrip() for line in lines[first - 1 : last]]
    margin = min((len(line) - len(line.lstrip()) for line in picked if line.strip()), default=0)
    return Excerpt(where, tuple(SourceLine(n, _clip(t[margin:]), n == place.line) for n, t in enumerate(picked, first)))


def _source(file: str, sources: Mapping[str, str], folder: str) -> str | None:
    if file in sources:
        return sources[file]
    wanted = words.relative(file, folder)
    return next((text for name, text in sources.items() if words.relative(name, folder) == wanted), None)


def _clip(text: str | None) -> str:
    text = words.clean(text or "").replace("\n", " ")
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def diff_lines(diff: str, shown_file: str = "") -> tuple[DiffLine, ...]:
    """A unified diff line by line, without indentation that all lines share; a plain snippet stays as it is.

    Headers are shortened to the file's name, and left out when that's the file that the reader already looks at.
    """
    lines = [words.clean(line).expandtabs(4).rstrip() for line in diff.strip("\n").splitlines()]
    if any(line.startswith(("+", "-")) for line in lines):
        parsed = [made for line in lines if (made := _diff_line(line, shown_file))]
    else:
        parsed = [DiffLine("same", line) for line in lines]
    return tuple(_dedented(_trimmed(parsed)))


def _diff_line(line: str, shown_file: str) -> DiffLine | None:
    if line.startswith("+++ "):
        file = line[4:].split("\t")[0].strip().removeprefix("b/")
        return None if file == shown_file else DiffLine("head", file)
    if line.startswith(("--- ", "@@")):
        return None
    if line.startswith("+"):
        return DiffLine("add", line[1:])
    if line.startswith("-"):
        return DiffLine("remove", line[1:])
    return DiffLine("same", line[1:] if line.startswith(" ") else line)


def _trimmed(lines: list[DiffLine]) -> list[DiffLine]:
    """Without blank context at either end."""
    while lines and lines[-1].kind == "same" and not lines[-1].text.strip():
        lines = lines[:-1]
    while lines and lines[0].kind == "same" and not lines[0].text.strip():
        lines = lines[1:]
    return lines


def changed_only(lines: tuple[DiffLine, ...]) -> tuple[DiffLine, ...]:
    """From the first to the last changed line, for where an excerpt shows what is around them. A plain snippet stays whole."""
    at = [i for i, line in enumerate(lines) if line.kind != "same"]
    return lines[at[0] : at[-1] + 1] if at else lines


def _dedented(lines: list[DiffLine]) -> list[DiffLine]:
    margin = min((len(x.text) - len(x.text.lstrip()) for x in lines if x.kind != "head" and x.text.strip()), default=0)
    return [x if x.kind == "head" else DiffLine(x.kind, x.text[margin:]) for x in lines]


def replacement(diff: str) -> str:
    """What the copy button copies: the new lines with their own indentation; all of a plain snippet."""
    lines = words.clean(diff.strip("\n")).splitlines()
    added = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++ ")]
    return "\n".join(added if any(line.startswith(("+", "-")) for line in lines) else lines)
