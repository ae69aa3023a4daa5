"""How observing begins: one session for this process, its observers, and every hook in place."""

from __future__ import annotations

import atexit
import os
from pathlib import Path

from sickbay.observe.endings import watch_ending
from sickbay.observe.hooks import put_in_place
from sickbay.observe.patches import step_aside_for_dynamo
from sickbay.observe.roster import observers
from sickbay.observe.session import Session
from sickbay.record.schema import SUFFIX
from sickbay.settings import Settings

current: Session | None = None
"""The session that observes this process."""
installed = False
"""...from its very beginning to its end (`sickbay run`), not for a while (`sickbay.watch`)."""
_forks_watched = False


def install(folder: Path, settings: Settings) -> Session:
    """For the bootstrap, right after torch was imported: observe this whole process until it ends."""
    global installed
    session = start(record_path(folder), settings)
    installed = True
    watch_ending(session)
    atexit.register(session.close)
    return session


def start(path: Path, settings: Settings) -> Session:
    """Make the process's session and put all hooks in place."""
    global _forks_watched
    if not _forks_watched:
        _forks_watched = True
        os.register_at_fork(after_in_child=_in_child)
    step_aside_for_dynamo()
    session = Session(path, settings)
    for kind in observers():
        session.add(kind(session))
    try:
        put_in_place(session)
    except BaseException:
        session.remove_hooks()
        raise
    make_current(session)
    return session


def make_current(session: Session) -> None:
    """Until its hooks are taken out."""
    global current
    current = session
    session.at_close(_forget)


def _forget() -> None:
    global current
    current = None


def _in_child() -> None:
    """A forked process (a loader's worker) watches nothing and leaves its parent's file alone."""
    if current is not None:
        current.off = True
        if current.trace is not None:
            current.trace.end()


def follow_fork() -> Session | None:
    """A forked process joins a process group: it is no loader's worker but a rank, and gets a session of its own. Only if its parent has recorded nothing yet."""
    parent = current
    if parent is None or not installed or parent.pid == os.getpid() or not parent.off or parent.recording.opened:
        return None
    parent.remove_hooks()
    return install(parent.recording.path.parent, parent.settings)


def record_path(folder: Path) -> Path:
    """Each process of a run writes its own file: by rank where there is one, else by process id."""
    rank = os.environ.get("RANK")
    stem = f"rank-{int(rank):05d}" if rank and rank.isdigit() else f"process-{os.getpid()}"
    path = folder / f"{stem}{SUFFIX}"
    return path if not path.exists() else folder / f"{stem}-{os.getpid()}{SUFFIX}"
