"""JSON objects of a block of lines, as columns: what an object means is worked out once for all that have the same keys.

Lines of a log hold the same keys again and again. The values of one key are looked at together, and only where they are not plain numbers
one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from sickbay.record.foreign.batches import Columns, Part, joined
from sickbay.record.foreign.json_rows import flat
from sickbay.record.foreign.names import EVAL, meaning, words

CONFIGURATION = frozenset({"config", "env_info", "cfg", "args", "hparams", "exp_name", "seed", "hyperparameters"})
TOTALS = frozenset({"total_steps", "max_steps", "num_epochs", "total_epochs", "n_parameters", "max_epochs", "total_iters"})
MODES = frozenset({"mode", "split", "phase", "stage", "type", "subset"})
"""Where an object says what it is about."""
PLAIN = frozenset({int, float})
TRIED = 2
"""Blocks in which words were found under a key, and no number: it is not looked at any more."""

Keys = tuple[str, ...]


@dataclass(frozen=True)
class Alike:
    """Objects with the same keys, of the same phase, with the numbers of their rows."""

    keys: Keys
    evaluation: bool
    rows: list[int]
    values: list[tuple[Any, ...]]


class Gatherer:
    """Turns the objects of one block after the other into columns."""

    def __init__(self) -> None:
        self.silent: dict[str, int] = {}

    def columns(self, items: Sequence[Mapping[str, Any]]) -> Columns:
        parts: dict[str, list[Part]] = {}
        for group in _alike(items):
            rows = np.array(group.rows, np.int64)
            for key, cells in zip(group.keys, zip(*group.values, strict=True), strict=True):
                for name, part in self._numbers(key, rows, cells):
                    called = _in_evaluation(name) if group.evaluation else name
                    if called is not None and name not in TOTALS:
                        parts.setdefault(called, []).append(part)
        return {name: joined(found) for name, found in parts.items()}

    def _numbers(self, key: str, rows: np.ndarray, cells: Sequence[Any]) -> Iterator[tuple[str, Part]]:
        kinds = set(map(type, cells))
        if kinds <= PLAIN:
            try:
                yield key, (rows, np.array(cells, np.float64))
                return
            except OverflowError:  # a whole number of hundreds of digits
                pass
        if kinds == {str} and self.silent.get(key, 0) >= TRIED:
            return
        found: dict[str, tuple[list[int], list[float]]] = {}
        for row, cell in zip(rows.tolist(), cells, strict=True):
            for name, value in flat({key: cell}):
                places, values = found.setdefault(name, ([], []))
                places.append(row)
                values.append(value)
        if not found and kinds == {str}:
            self.silent[key] = self.silent.get(key, 0) + 1
        for name, (places, values) in found.items():
            yield name, (np.array(places, np.int64), np.array(values))


def _alike(items: Sequence[Mapping[str, Any]]) -> Iterator[Alike]:
    keys = list(map(tuple, items))
    groups: dict[Keys, list[int]] = {}
    if len(set(keys)) == 1:  # as most blocks are
        groups[keys[0]] = [*range(len(items))]
    else:
        for row, found in enumerate(keys):
            groups.setdefault(found, []).append(row)
    for found, rows in groups.items():
        if not _configures(found):
            yield from _by_phase(found, rows, items)


def _by_phase(keys: Keys, rows: list[int], items: Sequence[Mapping[str, Any]]) -> Iterator[Alike]:
    """Those of validation by themselves."""
    values = [tuple(items[row].values()) for row in rows]
    said = {at: {v[at] for v in values if isinstance(v[at], str)} for at, key in enumerate(keys) if key in MODES}
    of_evaluation = {at: {word for word in found if EVAL & set(words(word))} for at, found in said.items()}
    if not any(of_evaluation.values()):
        yield Alike(keys, False, rows, values)
        return
    for evaluation in (False, True):
        chosen = [
            i for i, v in enumerate(values) if any(isinstance(v[at], str) and v[at] in found for at, found in of_evaluation.items()) == evaluation
        ]
        if chosen:
            yield Alike(keys, evaluation, [rows[i] for i in chosen], [values[i] for i in chosen])


@lru_cache(maxsize=4096)
def _configures(keys: Keys) -> bool:
    return not CONFIGURATION.isdisjoint(keys) and not any(meaning(k).kind == "loss" for k in keys)


@lru_cache(maxsize=4096)
def _in_evaluation(name: str) -> str | None:
    """A name that does not say that it belongs to validation gets it said; its own iteration counter is one of validation batches, and left out."""
    what = meaning(name)
    if what.kind in ("step", "lr"):
        return None
    return name if what.phase == "eval" or what.kind == "epoch" else f"val/{name}"
