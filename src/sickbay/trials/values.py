"""How the value of a treatment is read: `lr=x0.1`, `warmup=10%`, `drop-samples=3,17`."""

from __future__ import annotations

import math

from sickbay.errors import UsageError


def positive(text: str) -> float:
    """A number above zero."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not number > 0 or math.isinf(number):
        raise UsageError(f"{text!r} is not a number above 0; write for example 1.0")
    return number


def count(text: str) -> int:
    """A whole number from 0."""
    if not text.strip().isdecimal():
        raise UsageError(f"{text!r} is not a whole number from 0; write for example 2")
    return int(text)


def rate(text: str) -> tuple[bool, float]:
    """`x0.1` (times what the script asks for) or `0.001` (in its place): whether it is a factor, and the number."""
    factor = text[:1] in ("x", "×", "*")
    try:
        return factor, positive(text[1:] if factor else text)
    except UsageError:
        raise UsageError(f"{text!r} is neither a factor nor a rate above 0; write for example lr=x0.1 or lr=0.001") from None


def share_or_count(text: str) -> float | int:
    """`10%` of the steps, or so many."""
    if text.endswith("%"):
        share = positive(text[:-1]) / 100
        if share > 1:
            raise UsageError(f"{text!r} is more than all steps; write for example 10%")
        return share
    return count(text)


def indices(text: str) -> frozenset[int]:
    """Places in the data set: `3,17`."""
    return frozenset(count(part) for part in text.split(",") if part)


def names(text: str) -> tuple[str, ...]:
    """Layers by their path in the model: `encoder.0,encoder.2`; nothing for all that fit."""
    return tuple(part.strip() for part in text.split(",") if part.strip())
