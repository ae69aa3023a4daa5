"""Reads a record, also one that is still growing or was cut off by a crash. Needs no torch."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import numpy as np

from sickbay import facts as vocabulary
from sickbay.errors import NotARecord, RecordNotFound, RecordVersionError
from sickbay.facts import Facts
from sickbay.nouns import Event, Family, Series
from sickbay.record.printed import heard
from sickbay.record.schema import VERSION

_EMPTY = (np.empty(0, np.int64), np.empty(0, np.float64))


@dataclass(frozen=True)
class Record:
    """Everything that is known of one run (one process of it): series, families, facts, events, sources."""

    facts: Facts = field(default_factory=Facts)
    all_series: Mapping[str, Series] = field(default_factory=dict)
    families: Mapping[str, Family] = field(default_factory=dict)
    all_events: tuple[Event, ...] = ()
    event_counts: Mapping[str, int] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    path: Path | None = None
    damage: tuple[str, ...] = ()
    """What could not be read of a damaged file."""

    def series(self, name: str) -> Series:
        """The series of that name; an empty one if it was never recorded."""
        return self.all_series.get(name) or Series(name, *_EMPTY)

    def series_like(self, stem: str) -> list[Series]:
        """`stem`, `stem@1`, `stem@2`... as far as recorded."""
        return [s for name, s in self.all_series.items() if name == stem or name.startswith(stem + "@")]

    def family(self, name: str) -> Family:
        """The family of that name; an empty one if it was never recorded."""
        empty = Family(name, (), _EMPTY[0], np.empty((0, 0)))
        return self.families.get(name, empty)

    def events(self, kind: str) -> tuple[Event, ...]:
        return tuple(e for e in self.all_events if e.kind == kind)


def read_record(path: Path | str) -> Record:
    """Read one record file. Raises a `RecordError` with a clear sentence if there is nothing to be read."""
    path = Path(path)
    if not path.exists():
        raise RecordNotFound(f"there is no record at {path}; `sickbay runs` lists the runs that are here")
    if path.is_dir():
        raise NotARecord(f"{path} is a folder, not a record: pass one of the files in it")
    try:
        with path.open("rb") as f:
            start = f.read(16)
    except OSError as e:
        raise NotARecord(f"{path} cannot be read ({e.strerror}): make it readable, or copy it to a place where it is") from e
    if not start:
        raise NotARecord(f"{path} is empty: the run was stopped before anything was recorded")
    if start != b"SQLite format 3\0":
        raise NotARecord(f"{path} is not a sickbay record: those are the .sickbay files that `sickbay run` writes; `sickbay runs` lists them")
    with closing(open_file(path)) as db:
        return _read(db, path)


def open_file(path: Path) -> sqlite3.Connection:
    quoted = str(path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = _connect(f"file:{quoted}?mode=ro")
    try:
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        db.execute("BEGIN")  # everything below is read as of one moment, while the record goes on growing
    except sqlite3.DatabaseError:
        # A write-ahead log in a folder we may not write to, a damaged header, or a file cut short: read what is there.
        db.close()
        db = _connect(f"file:{quoted}?immutable=1")
        with suppress(sqlite3.DatabaseError):
            db.execute("PRAGMA writable_schema=ON")  # or SQLite refuses a file that is shorter than its header says
    return db


def _connect(address: str) -> sqlite3.Connection:
    db = sqlite3.connect(address, uri=True, isolation_level=None)
    db.text_factory = lambda raw: raw.decode("utf-8", errors="replace")
    return db


def _read(db: sqlite3.Connection, path: Path) -> Record:
    damage: list[str] = []
    meta = dict(_rows(db, "SELECT key, value FROM meta", damage))
    if "schema" not in meta:
        detail = f" ({damage[0]})" if damage else ""
        raise NotARecord(f"{path} is an SQLite file but not a readable sickbay record{detail}")
    schema = str(meta["schema"])
    version = int(schema) if schema.isdecimal() else -1
    if not 1 <= version <= VERSION:
        raise RecordVersionError(f"{path} has record schema {schema}, this sickbay reads up to {VERSION}: upgrade with `pip install -U sickbay`")
    series, families = _numbers(db, damage)
    return Record(
        facts=_facts(dict(_rows(db, "SELECT name, value FROM facts", damage)), damage),
        all_series=heard(series, families),
        families=families,
        all_events=tuple(_events(db, damage)),
        event_counts={str(k): n for k, n in _rows(db, "SELECT kind, total FROM counts", damage) if isinstance(n, int)},
        sources={str(f): t for f, t in _rows(db, "SELECT file, text FROM sources", damage) if isinstance(t, str)},
        path=path,
        damage=tuple(dict.fromkeys(damage)),
    )


def _rows(db: sqlite3.Connection, query: str, damage: list[str]) -> Iterator[Any]:
    """Rows until the first unreadable one; what is damaged is told, what can be read is kept."""
    try:
        yield from db.execute(query)
    except (sqlite3.Error, MemoryError, OverflowError) as e:
        damage.append(f"{query.split(' FROM ')[-1].split()[0]}: {e}")


def _json(text: str, damage: list[str]) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError) as e:
        damage.append(f"unreadable JSON: {e}")
        return None


def _events(db: sqlite3.Connection, damage: list[str]) -> Iterator[Event]:
    for step, time, kind, data in _rows(db, "SELECT step, time, kind, data FROM events ORDER BY id", damage):
        if isinstance(step, int) and isinstance(time, float) and isinstance(kind, str) and isinstance(parsed := _json(data, damage), dict):
            yield Event(step, time, kind, parsed)
        else:
            damage.append("events: one has the wrong shape")


def _facts(rows: Mapping[str, str], damage: list[str]) -> Facts:
    types = get_type_hints(Facts, vars(vocabulary))
    known: dict[str, Any] = {}
    for f in fields(Facts):
        if f.name in rows and (value := _json(rows[f.name], damage)) is not None:
            try:
                known[f.name] = msgspec.convert(value, types[f.name], strict=False)
            except msgspec.ValidationError as e:
                damage.append(f"fact {f.name}: {e}")
    return Facts(**known)


def _numbers(db: sqlite3.Connection, damage: list[str]) -> tuple[dict[str, Series], dict[str, Family]]:
    layouts: dict[int, tuple[str, tuple[str, ...], int]] = {}
    for i, family, names, width in _rows(db, "SELECT id, family, names, width FROM layouts", damage):
        if isinstance(parsed := _json(names, damage), list) and isinstance(width, int) and width > 0:
            layouts[i] = (str(family), tuple(map(str, parsed)), width)
    frames: dict[str, list[tuple[tuple[str, ...], int, np.ndarray, np.ndarray]]] = {}
    for layout, count, steps, data in _rows(db, "SELECT layout, count, steps, data FROM chunks ORDER BY id", damage):
        if layout not in layouts:
            continue
        family, names, width = layouts[layout]
        whole = isinstance(steps, bytes) and isinstance(data, bytes) and isinstance(count, int)
        if not whole or len(steps) != 8 * count or len(data) != 4 * count * len(names) * width:
            damage.append("chunks: a block has the wrong length")
            continue
        values = np.frombuffer(data, "<f4").reshape(count, len(names), width)
        frames.setdefault(family, []).append((names, width, np.frombuffer(steps, "<i8"), values))
    series = _series(frames.pop("pulse", []))
    return series, {name: family_of(name, chunks) for name, chunks in frames.items()}


def _series(chunks: Iterable[tuple[tuple[str, ...], int, np.ndarray, np.ndarray]]) -> dict[str, Series]:
    parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for names, _, steps, values in chunks:
        for j, name in enumerate(names):
            parts.setdefault(name, []).append((steps, values[:, j, 0]))
    return {name: _join(name, pieces) for name, pieces in parts.items()}


def _join(name: str, pieces: list[tuple[np.ndarray, np.ndarray]]) -> Series:
    steps = np.concatenate([p[0] for p in pieces])
    with np.errstate(invalid="ignore"):  # damage can make signalling NaNs
        values = np.concatenate([p[1] for p in pieces]).astype(np.float64)
    # The last value of a step wins (a step can be told twice when a pass is closed late).
    _, last = np.unique(steps[::-1], return_index=True)
    order = len(steps) - 1 - last
    return Series(name, steps[order].astype(np.int64), values[order])


def family_of(name: str, chunks: list[tuple[tuple[str, ...], int, np.ndarray, np.ndarray]]) -> Family:
    names = tuple(dict.fromkeys(n for c in chunks for n in c[0]))
    column = {n: j for j, n in enumerate(names)}
    width = max(c[1] for c in chunks)
    steps = np.unique(np.concatenate([c[2] for c in chunks]))
    values = np.full((len(steps), len(names), width), np.nan)
    for chunk_names, w, chunk_steps, chunk_values in chunks:
        rows = np.searchsorted(steps, chunk_steps)
        columns = np.array([column[n] for n in chunk_names], dtype=np.intp)
        with np.errstate(invalid="ignore"):
            values[rows[:, None], columns[None, :], :w] = chunk_values
    return Family(name, names, steps.astype(np.int64), values[:, :, 0] if width == 1 else values)


def with_facts(record: Record, **changes: Any) -> Record:
    """A new record with some facts replaced: the supervisor adds how the process ended, tests build cases."""
    return replace(record, facts=replace(record.facts, **changes))
