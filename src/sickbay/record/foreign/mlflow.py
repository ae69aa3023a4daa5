"""MLflow: the database `mlflow.db`, and the older store of text files (`mlruns/<experiment>/<run>/metrics/<name>`: time, value, step)."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path

from sickbay.errors import LogError
from sickbay.record.foreign.json_rows import parse
from sickbay.record.foreign.sheet import Sheet
from sickbay.record.foreign.source import Source

FORMAT = "MLflow run"
MOST_RUNS = 50
MAGIC = b"SQLite format 3\0"


def matches(source: Source) -> bool:
    return source.head.startswith(MAGIC)


def read(source: Source) -> list[Sheet]:
    """A sheet for each run of the database, the last started one last."""
    quoted = str(source.path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        with closing(sqlite3.connect(f"file:{quoted}?mode=ro", uri=True)) as db:
            db.text_factory = lambda raw: raw.decode("utf-8", "replace")
            tables = {str(row[0]) for row in db.execute("SELECT name FROM sqlite_master WHERE type='table'")}
            if "layouts" in tables and "chunks" in tables:
                raise LogError(f"{source.path} is a record of sickbay's own: use `sickbay diagnose {source.path}`")
            if "metrics" not in tables:
                raise LogError(f"{source.path} is a database, but not one of MLflow's: it has no table of metrics")
            return _runs(db, source.path)
    except sqlite3.Error as e:
        raise LogError(f"{source.path} is a database that cannot be read ({e}): copy it while nothing writes to it, and try again") from e


def _runs(db: sqlite3.Connection, path: Path) -> list[Sheet]:
    runs = [row[0] for row in db.execute("SELECT run_uuid FROM metrics GROUP BY run_uuid ORDER BY max(timestamp) DESC LIMIT ?", (MOST_RUNS,))]
    if not runs:
        raise LogError(f"{path} holds no metrics: nothing was logged to this MLflow store")
    sheets = []
    for run in reversed(runs):
        sheet = Sheet(FORMAT)
        sheet.note(f"run {run}")
        rows: dict[int, dict[str, float]] = {}
        query = "SELECT key, value, step, is_nan FROM metrics WHERE run_uuid=? ORDER BY timestamp"
        for key, value, step, is_nan in db.execute(query, (run,)):
            if isinstance(key, str) and isinstance(step, int) and isinstance(value, (int, float)):
                rows.setdefault(step, {})[key] = math.nan if is_nan else float(value)
        for step, cells in sorted(rows.items()):
            sheet.row({"step": float(step)} | cells)
        sheets.append(sheet)
    return sheets


def is_run(folder: Path) -> bool:
    return (folder / "meta.yaml").is_file() and (folder / "metrics").is_dir()


def read_run(folder: Path) -> Sheet:
    """One run of the older store."""
    sheet = Sheet(FORMAT)
    sheet.note(f"run {folder.name}")
    rows: dict[int, dict[str, float]] = {}
    for file in sorted(p for p in (folder / "metrics").rglob("*") if p.is_file())[:1000]:
        name = file.relative_to(folder / "metrics").as_posix()
        try:
            with file.open(encoding="utf-8", errors="replace") as f:
                for line in f:
                    parts = line.split()
                    value, step = (parse(parts[1]), parse(parts[2]) if len(parts) > 2 else 0.0) if len(parts) >= 2 else (None, None)
                    if value is not None and step is not None and abs(step) < 2**53:
                        rows.setdefault(int(step), {})[name] = value
        except OSError:
            sheet.note(f"{name} could not be read")
    for step, cells in sorted(rows.items()):
        sheet.row({"step": float(step)} | cells)
    return sheet
