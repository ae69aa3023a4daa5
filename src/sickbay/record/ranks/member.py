"""One process of a distributed run at a glance: a few facts of its record, and which others it belongs to."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from sickbay.facts import Crash, Incident, Loader, Rank, Run
from sickbay.nouns import Family
from sickbay.record.reader import family_of, open_file

KINDS: dict[str, Any] = {"rank": Rank, "run": Run, "crash": Crash, "incident": Incident, "loaders": tuple[Loader, ...]}
Table = tuple[tuple[str, ...], int, "np.ndarray[Any, Any]", "np.ndarray[Any, Any]"]


@dataclass(frozen=True)
class Member:
    """What is known of one rank without reading its series."""

    path: Path
    rank: Rank
    run: Run = field(default_factory=Run)
    crash: Crash | None = None
    incident: Incident | None = None
    loaders: tuple[Loader, ...] = ()
    nonfinite: int | None = None
    """First step whose loss was not finite."""

    @property
    def elsewhere(self) -> bool:
        """Some of its fellows run on other machines."""
        return 0 < self.rank.local < self.rank.world_size

    @property
    def loader(self) -> Loader | None:
        """The one that training uses."""
        return next((x for x in self.loaders if x.index == self.rank.loader), None)


def member(path: Path) -> Member | None:
    """None if it is no rank of anything, or cannot be read."""
    with suppress(sqlite3.Error, OSError, ValueError, TypeError, msgspec.ValidationError), closing(open_file(path)) as db:
        marks = ",".join("?" * len(KINDS))
        rows = dict(db.execute(f"SELECT name, value FROM facts WHERE name IN ({marks})", tuple(KINDS)))
        if "rank" not in rows:
            return None
        known = {name: msgspec.convert(json.loads(text), KINDS[name], strict=False) for name, text in rows.items()}
        first = db.execute("SELECT min(step) FROM events WHERE kind = 'nonfinite-loss'").fetchone()[0]
        return Member(path, nonfinite=first, **known)
    return None


def together(paths: Iterable[Path]) -> list[Member]:
    """The ranks of the launch that went furthest, in order; empty if none of these processes is a rank of anything. Of several attempts of one launch the last
    counts, of several launches one after the other (a script that runs a few) the one with most steps."""
    waves: dict[tuple[str, int, int, int], list[Member]] = {}
    for m in sorted((m for p in paths if (m := member(p)) is not None and m.run.backwards), key=lambda m: (not m.rank.joined, m.run.started)):
        wave = 0
        while any(other.rank.rank == m.rank.rank for other in waves.get((m.rank.launch, m.rank.world_size, m.rank.attempt, wave), ())):
            wave += 1
        waves.setdefault((m.rank.launch, m.rank.world_size, m.rank.attempt, wave), []).append(m)
    newest = {launch: max(k[2] for k in waves if k[0] == launch) for launch, *_ in waves}
    current = [ms for (launch, _, attempt, _), ms in waves.items() if attempt == newest[launch]]
    best = max(current, key=lambda ms: (len(ms) > 1, max(m.run.steps for m in ms), ms[0].run.started), default=[])
    return sorted(best, key=lambda m: m.rank.rank)


def family(path: Path, name: str) -> Family | None:
    """One family of a record, without reading the rest of it."""
    tables = list(tables_of(path, "l.family = ?", (name,)))
    return family_of(name, tables) if tables else None


def tables_of(path: Path, where: str, given: tuple[Any, ...]) -> Iterator[Table]:
    """Those chunks of a record whose layout fits; what is damaged is left out."""
    query = f"SELECT l.names, l.width, c.count, c.steps, c.data FROM chunks c JOIN layouts l ON l.id = c.layout WHERE {where} ORDER BY c.id"
    with suppress(sqlite3.Error, OSError, ValueError, TypeError), closing(open_file(path)) as db:
        for names, width, count, steps, data in db.execute(query, given):
            labels = tuple(map(str, json.loads(names)))
            if len(steps) == 8 * count and len(data) == 4 * count * len(labels) * width:
                yield labels, width, np.frombuffer(steps, "<i8"), np.frombuffer(data, "<f4").reshape(count, len(labels), width)
