"""JSON values as rows of numbers: what the formats that are written in JSON share."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

DEEPEST = 3
LONGEST_LIST = 16
WRAPPED = re.compile(r"(?:tensor|array|np\.float\d\d|float\d\d)?[(\[]\s*([-+.\w]+)\s*[,)\]]")
"""`tensor(0.51, device='cuda:0')`, `[0.5]`: a table that was filled with what was never taken out of its tensor."""
DECODER = json.JSONDecoder(parse_int=float)
REMARK = re.compile(r"([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*\([A-Za-z ]{1,20}\)$")
"""`510895.58 (tracked)`."""
NUMBER_WORDS = {"nan": math.nan, "inf": math.inf, "infinity": math.inf, "+inf": math.inf, "-inf": -math.inf, "-infinity": -math.inf}


def number(value: Any) -> float | None:
    """A number, also one that is written as a string (some tools write "NaN" and "1.5e-05"); None for everything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    if isinstance(value, str) and len(value) < 40:
        return parse(value)
    return None


def parse(text: str) -> float | None:
    """A number in text; "NA", "" and words are none."""
    text = text.strip().removesuffix("%")
    if not text or "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        wrapped = WRAPPED.match(text) or REMARK.match(text)
        return parse(wrapped[1]) if wrapped else NUMBER_WORDS.get(text.lower())


def flat(item: Mapping[str, Any], prefix: str = "", depth: int = 0) -> Iterator[tuple[str, float]]:
    """Names and numbers of an object; inner objects are joined by "/", short lists numbered."""
    for key, value in item.items():
        name = f"{prefix}{key}"
        if (found := number(value)) is not None:
            yield name, found
        elif isinstance(value, dict) and depth < DEEPEST:
            yield from flat(value, f"{name}/", depth + 1)
        elif isinstance(value, list) and 0 < len(value) <= LONGEST_LIST and depth < DEEPEST:
            for i, element in enumerate(value):
                if (found := number(element)) is not None:
                    yield f"{name}/{i}", found


def loads(text: str) -> Any:
    """The value of a JSON text with bare NaN and Infinity, all numbers as floats; None if it is none (the text may be cut off, or hostile)."""
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def objects(text: str, start: int) -> Iterator[dict[str, Any]]:
    """The objects of a list that begins at `start`, one by one, as far as the text goes: a half-written file gives what is whole."""
    decoder = json.JSONDecoder()
    at = start
    while True:
        while at < len(text) and text[at] in " \t\r\n,[":
            at += 1
        if at >= len(text) or text[at] != "{":
            return
        try:
            item, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        if isinstance(item, dict):
            yield item
