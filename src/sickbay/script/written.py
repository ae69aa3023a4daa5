"""Where a setting that a run was seen to use stands in the user's source: the very number, under one of its usual names."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Collection, Iterator

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, is_number, sources
from sickbay.script.guesses import guess
from sickbay.script.naming import named_numbers

LONGEST = 40
"""Characters of a name."""
Written = tuple[Source, ast.Constant]


def written(record: Record, value: float, names: Collection[str], calls: Collection[str] = ()) -> Written | None:
    """The number `value` where it is given to one of these names, or as the first argument of one of these calls; the first of several."""
    for source in sources(record):
        for constant in _numbers(source, names, calls):
            if isinstance(constant.value, (int, float)) and abs(float(constant.value) - value) <= 1e-6 * abs(value):
                return source, constant
    return None


def _numbers(source: Source, names: Collection[str], calls: Collection[str]) -> Iterator[ast.Constant]:
    for call in source.calls(*calls) if calls else []:
        yield from (a for a in call.args[:1] if is_number(a) and called(call) in calls)
    for name in names:
        yield from named_numbers(source, name)


@guess
def named_like(record: Record, value: float | Callable[[float], bool], pattern: re.Pattern[str]) -> Place | None:
    """The only line that gives this very number (or one that fits) to something whose name fits (`n_val = 12`)."""
    numbers = {
        (source, number)
        for source in sources(record)
        for name in {n for node in ast.walk(source.tree) for n in _mentioned(node) if pattern.search(n.replace("_", " "))}
        for number in named_numbers(source, name)
        if (value(_value(number)) if callable(value) else number.value == value)
    }
    given = {(source, number) for source, number in numbers if not isinstance(source.parents.get(number), ast.arguments)}
    found = {(source, number.lineno) for source, number in given or numbers}  # what a call gives stands before the default of its function
    source, line = found.pop() if len(found) == 1 else (None, 0)
    return source.place(line) if source is not None else None


def _value(number: ast.Constant) -> float:
    return number.value if isinstance(number.value, (int, float)) else math.nan


def _mentioned(node: ast.AST) -> list[str]:
    """The names that a part of the text mentions: of variables, attributes, arguments, keys and options."""
    given = [getattr(node, field, None) for field in ("id", "attr", "arg", "value")]
    return [g.lstrip("-").replace("-", "_") for g in given if isinstance(g, str) and len(g) < LONGEST]


def place_of(found: Written | None) -> Place | None:
    if found is None:
        return None
    source, constant = found
    return source.place(constant.lineno)


def changed(found: Written | None, new: str) -> str:
    """The diff that puts another number there."""
    return found[0].diff(found[0].replacing(found[1], new)) if found is not None else ""
