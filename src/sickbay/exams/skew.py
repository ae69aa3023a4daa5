"""`sickbay.skew(train, serve, samples)`: are the same raw samples the same tensors in training and in serving; if not, where first, and what maps one to the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sickbay.errors import UsageError
from sickbay.exams.skew_pairs import Pair
from sickbay.exams.skew_sides import Side, given, made, random_in, some
from sickbay.facts.skewed import Sameness, Skewed
from sickbay.observe.maps.explained import explained
from sickbay.observe.maps.numbers import Array, Map

MOST_FEATURES = 200
CLOSE = 0.9
"""Correlation from which two images show the same thing: what is left is how they were read or resized."""
RANDOM = "{} makes different tensors of the same sample from call to call: compare it without its random parts (augmentation)"


@dataclass(frozen=True, slots=True)
class Skew:
    """What was found. Truthy if training and serving differ."""

    found: Skewed

    def __bool__(self) -> bool:
        return self.found.sameness in ("differs", "random")

    def __str__(self) -> str:
        from sickbay.report.skew_page import text

        return text(self.found)

    def __repr__(self) -> str:
        from sickbay.report.skew_page import statement

        return f"<sickbay skew: {statement(self.found)}>"

    def to_dict(self) -> dict[str, Any]:
        """The document that `sickbay skew --json` writes."""
        from sickbay.report.skew_page import document

        return document(self.found)


def skew(train: Any, serve: Any, samples: Iterable[Any] | None = None, *, values: bool = False) -> Skew:
    """Give two functions, each of which prepares one raw sample, and the samples; or two arrays (tensors, dicts of them) with one row per sample.

    Only statistics are kept of what they hold, unless `values` asks for the first pair of numbers that differ.
    """
    if samples is None:
        if callable(train) or callable(serve):
            raise UsageError("two functions need samples to prepare: skew(train_preprocess, serve_preprocess, samples)")
        return Skew(compare(given(train), given(serve), values=values))
    raw = some(samples)
    sides = made(train, raw), made(serve, raw)
    notes = [RANDOM.format(name) for name, f, side in zip(("training", "serving"), (train, serve), sides, strict=True) if random_in(f, raw, side)]
    return Skew(compare(*sides, values=values, notes=notes))


def compare(train: Side, serve: Side, *, values: bool = False, ordered: bool = False, notes: Iterable[str] = ()) -> Skewed:
    """Two sides, by name. `ordered`: names are columns of a table, whose order a model goes by."""
    random = list(notes)
    names = [name for name in train if name in serve]
    if not names and len(train) == len(serve) == 1:
        serve, names = {next(iter(train)): next(iter(serve.values()))}, list(train)
    if not names:
        raise UsageError(f"training has {_listed(train)}, serving has {_listed(serve)}: nothing has the same name")
    rows = {len(side[name]) for side in (train, serve) for name in names}
    if len(rows) > 1:
        raise UsageError(
            f"training has {len(train[names[0]]):,} samples and serving {len(serve[names[0]]):,}: the same raw samples are expected on both sides"
        )
    told = [*random, *_missing(train, serve)]
    if ordered and [n for n in serve if n in train] != names:
        told.append("serving has the columns in another order: a model that goes by position takes one for another")
    pairs = [Pair(name, train[name], serve[name]) for name in names]
    different = np.zeros(rows.pop(), bool)
    for pair in pairs:
        different |= pair.rows
    wrong = bool(different.any()) or len(told) > len(random) or any(p.kind_differs for p in pairs)
    sameness: Sameness = "random" if random else "differs" if wrong else "rounding" if any(p.rounded for p in pairs) else "same"
    first = next((p for p in pairs if different.any() and p.rows[int(different.argmax())]), None)
    found = _whole(pairs) if wrong and not random else None
    return Skewed(
        sameness=sameness,
        samples=len(different),
        differ=int(different.sum()),
        shapes=(_shapes(p.a for p in pairs), _shapes(p.b for p in pairs)),
        dtypes=(_dtypes(p.a for p in pairs), _dtypes(p.b for p in pairs)),
        first=first.where(int(different.argmax())) if first is not None else "",
        values=first.values(int(different.argmax())) if first is not None and values else None,
        explained=found.text if found is not None else "",
        cure=found.code if found is not None else "",
        features=tuple(sorted((f for p in pairs for f in p.features()), key=lambda f: -f.differ)[:MOST_FEATURES]),
        notes=(*told, *_dtype_notes(pairs), *_close(pairs, found)),
    )


def _whole(pairs: list[Pair]) -> Map | None:
    """One map for everything that differs."""
    if (found := _reordered(pairs)) is not None:
        return found
    wrong = [p for p in _as_table(pairs) if p.rows.any()]
    maps = [(p.name, explained(p.a, p.b) if object not in (p.a.dtype, p.b.dtype) else None) for p in wrong]
    known = [(name, m) for name, m in maps if m is not None]
    if not known or len(known) < len(maps):
        return None
    if len({m.text for _, m in known}) == 1:
        return known[0][1]
    more = "; …" if len(known) > 4 else ""
    return Map("; ".join(f"{name}: {m.text}" for name, m in known[:4]) + more, "\n".join(f"# {name}\n{m.code}" for name, m in known[:4]))


def _as_table(pairs: list[Pair]) -> list[Pair]:
    """Columns that are numbers, side by side: what maps a table may move them or scale each by its own statistics."""
    numbers = [p for p in pairs if p.a.ndim == p.b.ndim == 1 and p.a.dtype.kind in "fiub" and p.b.dtype.kind in "fiub"]
    if len(numbers) < 2:
        return pairs
    table = Pair("columns", np.stack([p.a for p in numbers], 1), np.stack([p.b for p in numbers], 1))
    if not table.rows.any() or explained(table.a, table.b) is None:
        return pairs
    return [table, *(p for p in pairs if p not in numbers)]


def _reordered(pairs: list[Pair]) -> Map | None:
    """The same samples in another order: every row of serving is one of training's."""
    if not all(p.fits for p in pairs) or not sum(p.rows.sum() for p in pairs) or len(pairs[0].a) < 3:
        return None
    keys = [_row_keys(sides) for sides in ([p.a for p in pairs], [p.b for p in pairs])]
    if sorted(keys[0]) != sorted(keys[1]) or len(set(keys[0])) < 3:
        return None
    return Map("the same samples are in another order", "# compare and serve the samples in one order")


def _row_keys(arrays: list[Array]) -> list[bytes]:
    return [b"".join(np.ascontiguousarray(a[i]).tobytes() for a in arrays) for i in range(len(arrays[0]))]


def _missing(train: Side, serve: Side) -> list[str]:
    lacks = [n for n in train if n not in serve]
    more = [n for n in serve if n not in train]
    return [
        f"{who} lacks {', '.join(names[:6])}{', …' if len(names) > 6 else ''}" for who, names in (("serving", lacks), ("training", more)) if names
    ]


def _dtype_notes(pairs: list[Pair]) -> list[str]:
    """Where the numbers are the same, but not what kind they are."""
    found = dict.fromkeys((str(p.a.dtype), str(p.b.dtype)) for p in pairs if p.kind_differs and not p.rows.any())
    return [f"the numbers are the same, but training has {a} and serving {b}" for a, b in found]


def _close(pairs: list[Pair], found: Map | None) -> list[str]:
    """What looks like another way of reading or resizing the same images."""
    if found is not None:
        return []
    images = [f for p in pairs if p.fits and p.a.ndim == 4 and p.rows.any() for f in p.features()]
    if images and min(f.correlation for f in images) > CLOSE:
        low = min(f.correlation for f in images)
        return [
            f"the images show the same (correlation {low:.2f} or more), but no simple map makes one of the other: another resize, crop or decoder does this"
        ]
    return []


def _shapes(arrays: Iterable[Array]) -> str:
    return _short(dict.fromkeys("of several shapes" if a.dtype == object else " × ".join(map(str, a.shape[1:])) or "one number" for a in arrays))


def _dtypes(arrays: Iterable[Array]) -> str:
    return _short(dict.fromkeys("mixed" if a.dtype == object else "text" if a.dtype.kind in "US" else str(a.dtype) for a in arrays))


def _short(names: Iterable[str]) -> str:
    found = list(names)
    return ", ".join(found[:3]) + (", …" if len(found) > 3 else "")


def _listed(side: Side) -> str:
    return ", ".join(list(side)[:6]) or "nothing"
