"""Run folders: made, listed, found, opened, cleaned away.

.sickbay/runs/train-20260131-174501/
    run.json               what was started, when, how it ended (the supervisor writes it at the start and at the end)
    rank-00000.sickbay     one record per process: rank-N where the launcher says which it is, else process-<pid>; what belongs together is in their facts
    diagnosis.json         the last diagnosis, as a document
    report.html            the same to look at
    bootstrap-errors.txt   only if a process could not be watched
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sickbay.errors import RecordNotFound, UsageError
from sickbay.record.schema import SUFFIX

if TYPE_CHECKING:
    from sickbay.facts import Ranks
    from sickbay.nouns import RunSummary
    from sickbay.record.reader import Record

ENVIRONMENT_VARIABLE = "SICKBAY_RUNS"
RUN_FILE = "run.json"
DIAGNOSIS_FILE = "diagnosis.json"
REPORT_FILE = "report.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What the supervisor knows of a run: the content of `run.json`."""

    command: tuple[str, ...] = ()
    cwd: str = ""
    python: str = ""
    sickbay: str = ""
    supervisor: int = 0
    """Process id of the supervisor."""
    started: float = 0.0
    """Seconds since 1970."""
    ended: float | None = None
    seconds: float | None = None
    exit: int | str | None = None
    """Exit code, name of the signal, or None while it runs."""
    reached: str = ""
    """How far we got in, told at the end: "" no Python process, "python", or "torch"."""

    def save(self, folder: Path) -> None:
        """All or nothing: a reader never sees half a file."""
        write_atomically(folder / RUN_FILE, json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, folder: Path) -> RunInfo:
        """What can be read; a run folder without a readable `run.json` is still a run."""
        with suppress(OSError, ValueError, TypeError, AttributeError):
            data = json.loads((folder / RUN_FILE).read_text(encoding="utf-8"))
            known = {k: v for k, v in data.items() if k in cls.__dataclass_fields__}
            return cls(**known | {"command": tuple(known.get("command", ()))})
        return cls()


@dataclass(frozen=True, slots=True)
class ListedRun:
    folder: Path
    info: RunInfo
    size: int
    verdict: str
    """Of the last diagnosis; empty if there was none."""
    running: bool

    @property
    def name(self) -> str:
        return self.folder.name


def runs_root(given: Path | str | None = None) -> Path:
    """Where runs are kept: what was given, else $SICKBAY_RUNS, else `.sickbay/runs` here."""
    return Path(given or os.environ.get(ENVIRONMENT_VARIABLE) or Path(".sickbay", "runs"))


def new_run(root: Path, stem: str, name: str | None = None) -> Path:
    """Make a new, empty run folder with a readable name, and keep it out of version control."""
    if name is not None and (name in ("", ".", "..", "last") or Path(name).name != name):
        raise UsageError(f"{name!r} cannot be the name of a run: expected a plain folder name; write for example --name baseline")
    base = name or re.sub(r"[^\w.-]+", "-", stem).strip("-.") + time.strftime("-%Y%m%d-%H%M%S")
    try:
        root.mkdir(parents=True, exist_ok=True)
        if root.parent.name == ".sickbay" and not (ignore := root.parent / ".gitignore").exists():
            ignore.write_text("*\n", encoding="utf-8")
        for i in range(1, 10_000):
            with suppress(FileExistsError):
                (folder := root / (base if i == 1 else f"{base}-{i}")).mkdir()
                return folder.resolve()
    except OSError as e:
        raise UsageError(f"cannot make a run folder in {root}: {e.strerror or e}; choose another with --runs DIR") from None
    raise UsageError(f"{root} holds 10,000 runs named {base!r}; clean up with `sickbay runs --prune`")


def is_run(folder: Path) -> bool:
    return folder.is_dir() and ((folder / RUN_FILE).is_file() or any(folder.glob("*" + SUFFIX)))


def list_runs(root: Path) -> list[ListedRun]:
    """Newest first."""
    folders = [p for p in root.iterdir() if is_run(p)] if root.is_dir() else []
    return sorted(map(_listed, folders), key=lambda r: (r.info.started, r.name), reverse=True)


def _listed(folder: Path) -> ListedRun:
    info = RunInfo.load(folder)
    verdict = _verdict(folder)
    if not info.started:
        info = replace(info, started=folder.stat().st_mtime)
    size = sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink())
    return ListedRun(folder, info, size, verdict, _is_running(info))


def _verdict(folder: Path) -> str:
    with suppress(OSError, ValueError, AttributeError):
        document = json.loads((folder / DIAGNOSIS_FILE).read_text(encoding="utf-8"))
        # The document knows three verdicts; a run without a record did not train.
        return str(document.get("verdict", "")) if any(folder.glob("*" + SUFFIX)) else "untrained"
    return ""


def _is_running(info: RunInfo) -> bool:
    """Its supervisor is alive (and is not a newer process that got the same number)."""
    if info.ended is not None or not info.supervisor:
        return False
    import psutil

    with suppress(psutil.Error):
        return bool(psutil.Process(info.supervisor).create_time() <= info.started + 1)
    return False


def find_run(text: str, root: Path) -> Path:
    """A run by name, by the beginning of its name, by path (folder or record file), or the `last` one."""
    here = [p for p in root.iterdir() if is_run(p)] if root.is_dir() else []
    if text == "last":
        if not here:
            raise RecordNotFound(f"there are no runs in {root} yet; make one with `sickbay run train.py`")
        return list_runs(root)[0].folder
    matches = [p for p in here if p.name == text] or [p for p in here if p.name.startswith(text)]
    if len(matches) == 1:
        return matches[0]
    path = Path(text)
    if path.is_file() or is_run(path):
        return path
    if matches:
        raise UsageError(f"{text!r} fits {len(matches)} runs: {', '.join(sorted(p.name for p in matches)[-5:])}; write more of the name, or `last`")
    if path.is_dir():
        raise RecordNotFound(f"the folder {path} holds no run: expected {RUN_FILE} or a *{SUFFIX} file in it")
    raise RecordNotFound(f"there is no run {text!r} in {root}; `sickbay runs` lists the runs that are here")


@dataclass(frozen=True, slots=True)
class Shard:
    """The record of one process, at a glance."""

    path: Path
    rank: int | None
    steps: int = 0
    backwards: int = 0

    @property
    def trained(self) -> bool:
        return bool(self.steps or self.backwards)

    @property
    def weight(self) -> tuple[bool, bool, int, int, int]:
        """The heaviest is the one to read: it trained, it is rank 0, it made most steps."""
        return self.trained, self.rank == 0, self.steps, self.backwards, self.path.stat().st_size


def shards(folder: Path) -> list[Shard]:
    """All records of a run, the main one first."""
    return sorted(map(_shard, folder.glob("*" + SUFFIX)), key=lambda s: s.weight, reverse=True)


def _shard(path: Path) -> Shard:
    rank = int(m[1]) if (m := re.fullmatch(r"rank-(\d+)(-\d+)?", path.stem)) else None
    with (
        suppress(sqlite3.Error, ValueError, TypeError, AttributeError),
        closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db,
    ):
        run = json.loads(db.execute("SELECT value FROM facts WHERE name = 'run'").fetchone()[0])
        if known := db.execute("SELECT value FROM facts WHERE name = 'rank'").fetchone():
            rank = int(json.loads(known[0]).get("rank", 0))
        return Shard(path, rank, int(run.get("steps", 0)), int(run.get("backwards", 0)))
    return Shard(path, rank)


def open_run(path: Path | str) -> Record:
    """The record of a run (its main process; of a distributed run with what all ranks show), with how the run ended; of a folder, a record file, or a name that `find_run` knows."""
    from sickbay.record.ranks import read_ranks, together
    from sickbay.record.reader import read_record

    place = Path(path) if Path(path).exists() else find_run(str(path), runs_root())
    folder = place if place.is_dir() else place.parent
    info = RunInfo.load(folder)
    if not _is_running(info):
        for shard in folder.glob("*" + SUFFIX):
            _settle(shard)
    if place.is_file():
        return _completed(read_record(place), info, ())
    found = shards(folder)
    if not found:
        if not is_run(folder):
            raise RecordNotFound(f"the folder {folder} holds no run: expected {RUN_FILE} or a *{SUFFIX} file in it")
        return _unseen(folder, info)
    main, ranks = found[0].path, None
    if members := together(s.path for s in found if s.trained):
        main, ranks = read_ranks(members)
    apart = [s for s in found if s.trained and s.path != main and s.path not in {m.path for m in members}]
    limits = [("the other processes of this run", _others(main, apart))] if apart else []
    limits += [("a process of this run", f"sickbay could not get in: {line}") for line in bootstrap_errors(folder)[:3]]
    return _completed(read_record(main), info, limits, ranks)


def _settle(path: Path) -> None:
    """Fold the write-ahead log that a killed process left behind into its record. If somebody still writes, nothing happens."""
    if path.with_name(path.name + "-wal").exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(path, timeout=0.2)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            db.execute("PRAGMA journal_mode=DELETE")


def _others(main: Path, apart: Sequence[Shard]) -> str:
    names = [s.path.stem for s in apart]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"{main.stem} was read; {shown} trained too: look at one with `sickbay diagnose {apart[0].path}`"


def _completed(record: Record, info: RunInfo, limits: Sequence[tuple[str, str]], ranks: Ranks | None = None) -> Record:
    """The record with what only the supervisor knows, and what the other ranks' records show."""
    from sickbay.facts import Limit
    from sickbay.record.reader import with_facts

    run = record.facts.run
    if not run.finished:  # killed: the facts are some seconds old, the series only a moment
        newest = max((int(s.steps[-1]) + 1 for s in record.all_series.values() if len(s)), default=0)
        run = replace(run, steps=max(run.steps, newest))
    known: dict[str, Any] = {"exit": info.exit if info.exit is not None else run.exit, "seconds": info.seconds or run.seconds}
    more = tuple(Limit(what=what, why=why) for what, why in limits)
    return with_facts(record, run=replace(run, **known), limits=record.facts.limits + more, ranks=ranks)


def _unseen(folder: Path, info: RunInfo) -> Record:
    """A run of which no process recorded anything."""
    from sickbay.facts import Facts, Run
    from sickbay.record.reader import Record

    run = Run(script=_script(info), argv=info.command, cwd=info.cwd, started=info.started, seconds=info.seconds or 0.0, exit=info.exit)
    return Record(facts=Facts(run=run), path=folder)


def _script(info: RunInfo) -> str:
    """What to call the thing that was run: the script, the module, or the program."""
    words = info.command
    if "-c" in words[:4]:
        return f"{Path(words[0]).name} -c"
    if module := next((after for word, after in pairwise(words) if word == "-m"), None):
        return module
    return next((w for w in words if w.endswith(".py")), Path(words[0]).name if words else "")


def bootstrap_errors(folder: Path) -> list[str]:
    with suppress(OSError):
        return (folder / "bootstrap-errors.txt").read_text(encoding="utf-8", errors="replace").splitlines()
    return []


def why_unseen(folder: Path) -> str | None:
    """One sentence if no process of the run recorded anything, else None."""
    if any(folder.glob("*" + SUFFIX)):
        return None
    info = RunInfo.load(folder)
    what = _script(info) or "the command"
    if errors := bootstrap_errors(folder):
        return f"{what} could not be watched: {errors[0]}; `sickbay doctor` looks for the reason"
    if info.reached == "torch":
        return f"{what} imported torch but did not train: no forward pass, no backward pass and no optimizer step was seen"
    if info.reached == "python":
        return f"{what} never imported torch, so there was no training to watch"
    return f"{what} could not be watched: no Python process was started that reads PYTHONPATH (python -I, -E and -S do not)"


def summarise(record: Record, folder: Path) -> RunSummary:
    """The run in numbers, for the foot of a report."""
    from sickbay.nouns import RunSummary

    run = record.facts.run
    return RunSummary(
        name=folder.name,
        folder=str(folder),
        script=run.script,
        steps=run.steps,
        epochs=run.epochs,
        seconds=run.seconds,
        overhead=run.overhead_seconds / run.training_seconds if run.training_seconds > 0 else None,
        exit=run.exit,
    )


def to_prune(runs: Sequence[ListedRun], keep: int, older_seconds: float) -> list[ListedRun]:
    """The runs beyond the newest `keep` that are also older than that, never one that still runs."""
    limit = time.time() - older_seconds
    return [r for r in runs[keep:] if r.info.started <= limit and not r.running]


def delete(runs: Sequence[ListedRun]) -> None:
    for run in runs:
        if run.folder.is_symlink():
            run.folder.unlink()
        elif is_run(run.folder):
            shutil.rmtree(run.folder)


def write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
