"""What maps one array to another of the same samples: tried one after the other, and believed only where the result is the other array, number for number."""

from __future__ import annotations

import numpy as np

from sickbay.observe.maps.numbers import Array, Map, same
from sickbay.observe.maps.places import arrangements
from sickbay.observe.maps.values import valued


def explained(a: Array, b: Array) -> Map | None:
    """What makes training's `a` serving's `b`: both with one row per sample; None where nothing simple does."""
    if a.dtype.kind == b.dtype.kind == "U":
        return _texts(a, b)
    ways = list(arrangements(a, b))
    for way in ways:
        if way.text and same(way.values, b):
            return Map(way.text, way.code)
    for way in ways:
        if way.values.shape == b.shape and (found := valued(way.values, b)) is not None:
            return Map(", ".join(filter(None, (way.text, found.text))), "\n".join(filter(None, (found.code, way.code))))
    return _shape(a, b)


def _texts(a: Array, b: Array) -> Map | None:
    for name, function in (("white space around", np.char.strip), ("capital letters", np.char.lower)):
        if a.shape == b.shape and bool((function(a) == function(b)).all()):
            return Map(f"the words differ by {name} only", "# strip and lower-case them in one shared function")
    return None


def _shape(a: Array, b: Array) -> Map | None:
    """Serving's rows are a part of training's, or the reverse."""
    if a.ndim != b.ndim or a.shape[2:] != b.shape[2:] or a.ndim < 2 or a.shape[1] == b.shape[1]:
        return None
    short = min(a.shape[1], b.shape[1])
    for part, where in ((slice(None, short), "end"), (slice(-short, None), "start")):
        one, other = (v[:, part] if v.shape[1] > short else v for v in (a, b))
        if same(one, other):
            who = "serving" if b.shape[1] < a.shape[1] else "training"
            return Map(
                f"{who} lacks {abs(a.shape[1] - b.shape[1])} of {max(a.shape[1], b.shape[1])} positions at the {where}", "# the same length in both"
            )
    return None
