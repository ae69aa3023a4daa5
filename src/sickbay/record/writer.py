"""Writes a record: buffered, crash-safe, bounded. Used inside the user's process, so standard library and numpy only."""

from __future__ import annotations

import dataclasses
import json
import os
import sqlite3
import time
from array import array
from pathlib import Path
from typing import Any

import numpy as np

from sickbay.record.schema import TABLES, VERSION

EVENTS_PER_KIND = 64
FLUSH_SECONDS = 0.25
SOURCE_LIMIT = 512 * 1024
KEEP_WHOLE = 1 / 16
"""This part of the budget is for the start of a run, and as much for its end: neither is thinned. The first steps decide
most diagnoses, the last ones tell how it ended."""
PULSE_WORTH = 8
"""Plain series (the loss!) may take this many times the room of any other layout before they are thinned."""
THIN_ABOVE, THIN_TO = 0.6, 0.45
"""Parts of the budget. The write-ahead log takes room too: while thinning, about half as much as is kept."""


class _Buffer:
    """Frames of one layout that wait to be written."""

    __slots__ = ("count", "data", "layout", "steps")

    def __init__(self, layout: int) -> None:
        self.layout = layout
        self.steps = array("q")
        self.data = bytearray()
        self.count = 0


class RecordWriter:
    """Appends to one record file. Nothing is written before the first flush; every flush is one transaction."""

    def __init__(self, path: Path, *, budget_bytes: int = 64 * 2**20, meta: dict[str, str] | None = None) -> None:
        self.path = path
        self.budget_bytes = budget_bytes
        self._layouts: dict[tuple[str, tuple[str, ...], int], _Buffer] = {}
        self._facts: dict[str, str] = {}
        self._written_facts: dict[str, str] = {}
        self._events: list[tuple[int, float, str, str]] = []
        self._counts: dict[str, int] = {}
        self._sources: dict[str, str | None] = {}
        self._thin_above = THIN_ABOVE * budget_bytes
        self._flushed_at = time.monotonic()
        self._frames = 0
        self._next_flush = 1
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute(f"PRAGMA wal_autocheckpoint={min(1000, max(16, budget_bytes // 16 // 4096))}")
        self._db.execute("PRAGMA synchronous=OFF")  # a crash of the process loses nothing; only a power cut may
        self._db.execute("PRAGMA cache_size=-256")  # kB: nothing is read back before thinning, and the memory is the user's
        self._db.execute("BEGIN")
        for statement in TABLES.split(";"):
            self._db.execute(statement)
        everything = {"schema": str(VERSION), "created": repr(time.time()), "pid": str(os.getpid())} | (meta or {})
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", everything.items())
        self._db.execute("COMMIT")

    def frame(self, family: str, step: int, names: tuple[str, ...], values: Any, width: int = 1) -> None:
        """Add one frame: `values` (len(names) x width numbers) at `step`."""
        buffer = self._buffer(family, names, width)
        buffer.steps.append(step)
        buffer.data += array("f", values).tobytes() if isinstance(values, list) else np.ascontiguousarray(values, dtype="<f4").tobytes()
        buffer.count += 1
        self._frames += family == "pulse"

    def frames(self, family: str, steps: list[int], names: tuple[str, ...], values: Any, width: int = 1) -> None:
        """Add several frames of one family at once."""
        buffer = self._buffer(family, names, width)
        buffer.steps.extend(steps)
        buffer.data += np.ascontiguousarray(values, dtype="<f4").tobytes()
        buffer.count += len(steps)

    def _buffer(self, family: str, names: tuple[str, ...], width: int) -> _Buffer:
        key = (family, names, width)
        buffer = self._layouts.get(key)
        if buffer is None:
            buffer = self._layouts[key] = _Buffer(self._new_layout(key))
        return buffer

    def fact(self, name: str, value: Any) -> None:
        """Set a field of `facts.Facts`; the latest value wins."""
        self._facts[name] = json.dumps(value, default=_plain)

    def event(self, step: int, kind: str, data: dict[str, Any]) -> None:
        total = self._counts[kind] = self._counts.get(kind, 0) + 1
        if total <= EVENTS_PER_KIND:
            self._events.append((step, time.time(), kind, json.dumps(data, default=_plain)))

    def source(self, file: str) -> None:
        """Keep the text of a user's source file that a place points into."""
        if file in self._sources:
            return
        try:
            text = Path(file).read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError):
            text = None
        self._sources[file] = text[:SOURCE_LIMIT] if text else None

    def due(self) -> bool:
        """Flush at 1, 2, 4, 8... frames and then every quarter second, so that even a run killed early is told of."""
        return self._frames >= self._next_flush or time.monotonic() - self._flushed_at > FLUSH_SECONDS

    def flush(self) -> None:
        """Write all that waits, in one transaction."""
        self._next_flush = max(self._next_flush, min(2 * self._frames, 2**60))
        self._flushed_at = time.monotonic()
        db = self._db
        db.execute("BEGIN")
        try:
            for buffer in self._layouts.values():
                if buffer.count:
                    db.execute(
                        "INSERT INTO chunks (layout, first, last, count, steps, data) VALUES (?, ?, ?, ?, ?, ?)",
                        (buffer.layout, buffer.steps[0], buffer.steps[-1], buffer.count, buffer.steps.tobytes(), bytes(buffer.data)),
                    )
                    buffer.steps, buffer.data, buffer.count = array("q"), bytearray(), 0
            changed = {k: v for k, v in self._facts.items() if self._written_facts.get(k) != v}
            db.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", changed.items())
            self._written_facts.update(changed)
            self._facts.clear()
            db.executemany("INSERT INTO events (step, time, kind, data) VALUES (?, ?, ?, ?)", self._events)
            self._events.clear()
            db.executemany("INSERT OR REPLACE INTO counts VALUES (?, ?)", self._counts.items())
            new_sources = [(f, t) for f, t in self._sources.items() if t is not None]
            db.executemany("INSERT OR REPLACE INTO sources VALUES (?, ?)", new_sources)
            for file, _ in new_sources:
                self._sources[file] = None
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        if self._used() > self._thin_above:
            self._thin()

    def close(self) -> None:
        """Flush, fold the write-ahead log into the one file, and close."""
        self.flush()
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.execute("PRAGMA journal_mode=DELETE")
        self._db.close()

    def abandon(self) -> None:
        """Let go without writing: for a forked child, whose parent owns the file."""
        self._layouts.clear()

    def _new_layout(self, key: tuple[str, tuple[str, ...], int]) -> int:
        family, names, width = key
        cursor = self._db.execute("INSERT INTO layouts (family, names, width) VALUES (?, ?, ?)", (family, json.dumps(names), width))
        return int(cursor.lastrowid or 0)

    def _used(self) -> int:
        """Bytes in use: everything counts, facts and sources too."""
        pages, free, size = (self._db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size"))
        return int((pages - free) * size)

    def _thin(self) -> None:
        """Halve the resolution between the start and the end of the run, where it is finest, until there is room again."""
        rows = self._db.execute("SELECT id, names, width, family FROM layouts").fetchall()
        widths = {i: len(json.loads(n)) * w for i, n, w, _ in rows}
        worth = {i: PULSE_WORTH if family == "pulse" else 1 for i, _, _, family in rows}
        kept = KEEP_WHOLE * self.budget_bytes / sum(worth.values())
        sizes = dict(self._db.execute("SELECT layout, sum(length(data) + length(steps)) FROM chunks GROUP BY layout"))
        while sizes and self._used() > THIN_TO * self.budget_bytes:
            largest = max(sizes, key=lambda i: sizes[i] / worth[i])
            saved = self._halve(largest, widths[largest], kept * worth[largest])
            sizes[largest] -= saved
            if not saved:
                del sizes[largest]
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        # What is left may be facts and sources, which nothing thins: do not try again at every flush.
        self._thin_above = max(THIN_ABOVE * self.budget_bytes, 1.25 * self._used())

    def _halve(self, layout: int, width: int, kept: float) -> int:
        """Keep every other frame of those chunks of one layout in which frames stand closest; gives the bytes saved."""
        db = self._db
        query = "SELECT id, length(data) + length(steps), first, count FROM chunks WHERE layout=? ORDER BY first, id"
        ids, sizes, first, count = np.array(db.execute(query, (layout,)).fetchall(), np.int64).reshape(-1, 4).T
        gaps = np.diff(first, append=first[-1:] + 1) / count  # steps from one frame to the next
        until = np.cumsum(sizes)
        middle = (until - sizes >= kept) & (until[-1:] - until >= kept)
        runs: list[list[int]] = []
        for limit in 2 * np.unique(gaps[middle]):
            close = middle & (gaps < limit)
            edges = np.flatnonzero(np.diff(close, prepend=False, append=False)).reshape(-1, 2)
            if runs := [[int(i) for i in ids[a:b]] for a, b in edges if count[a:b].sum() > 1]:
                break
        db.execute("BEGIN")
        try:
            # Only neighbours are put together, so that a chunk never reaches over another.
            saved = sum(self._merge(layout, width, run) for run in runs)
            db.execute("COMMIT")
        except BaseException:
            db.execute("ROLLBACK")
            raise
        return saved

    def _merge(self, layout: int, width: int, ids: list[int]) -> int:
        chunks = [self._db.execute("SELECT count, steps, data FROM chunks WHERE id=?", (i,)).fetchone() for i in ids]
        all_steps = np.concatenate([np.frombuffer(c[1], "<i8") for c in chunks])
        steps = all_steps[::2]
        data = np.concatenate([np.frombuffer(c[2], "<f4").reshape(c[0], width) for c in chunks])[::2]
        self._db.executemany("DELETE FROM chunks WHERE id=?", [(i,) for i in ids])
        # Blocks so small that the next thinning can again halve only a part of the run.
        block = max(1, min(65536, self.budget_bytes // 512) // max(width, 1))
        for i in range(0, len(steps), block):
            s, d = steps[i : i + block], data[i : i + block]
            self._db.execute(
                "INSERT INTO chunks (layout, first, last, count, steps, data) VALUES (?, ?, ?, ?, ?, ?)",
                (layout, int(s[0]), int(s[-1]), len(s), s.tobytes(), d.tobytes()),
            )
        return (len(all_steps) - len(steps)) * (8 + 4 * width)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        # Defaults are left out: a fact that was not observed is absent, and records stay small.
        return {
            f.name: v
            for f in dataclasses.fields(value)
            if (v := getattr(value, f.name)) is not None and (f.default is dataclasses.MISSING or v != f.default)
        }
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, np.generic):
        return value.item()
    return str(value)
