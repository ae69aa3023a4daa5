"""However the process ends, the record is closed: normal exit, exception, sys.exit, os._exit, fork.

Only what can't be seen from inside (SIGKILL, the OOM killer) is left to the supervisor, which finds the record as it
was at the last flush.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from contextlib import suppress
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.crash import examined
from sickbay.observe.places import OWN, USER, here, kind_of, place_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session


_OVERRIDES = os.path.join("torch", "overrides.py")


def watch_ending(session: Session) -> None:
    """Chain to every way out."""
    _exceptions(session)
    _hard_exit(session)
    _warnings(session)


def _exceptions(session: Session) -> None:
    before = sys.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        try:
            note_crash(session, error, trace)
            trace = without_us(trace)
            error.__traceback__ = trace
            _clean_chain(error)
        except Exception:
            pass
        return before(kind, error, trace)

    sys.excepthook = excepthook
    # Not undone at close: a traceback is printed before atexit runs and must stay clean either way.


def note_crash(session: Session, error: BaseException, trace: TracebackType | None = None) -> None:
    """The exception that ends this process becomes a fact."""
    trace = trace or error.__traceback__
    with suppress(Exception):
        if not session.off and os.getpid() == session.pid:
            session.crash = crash_fact(type(error), error, trace, session.step)
            if session.crash is not None:
                session.crash = examined(session, session.crash, trace)


def crash_fact(kind: type[BaseException], error: BaseException, trace: TracebackType | None, step: int) -> facts.Crash | None:
    """The exception and the last frame of the user's own code."""
    if issubclass(kind, KeyboardInterrupt):
        return None
    place: Place | None = None
    while trace is not None:
        if kind_of(trace.tb_frame.f_code) == USER:
            place = place_of(trace.tb_frame.f_code, trace.tb_lasti)
        trace = trace.tb_next
    message = "".join(traceback.format_exception_only(kind, error)).strip()
    return facts.Crash(kind=kind.__name__, message=message[:2000], place=place, step=step)


def without_us(trace: TracebackType | None) -> TracebackType | None:
    """The traceback as it would be had sickbay not been there."""
    kept = []
    while trace is not None:
        if not trace.tb_frame.f_code.co_filename.startswith(OWN):
            kept.append(trace)
        trace = trace.tb_next
    clean: TracebackType | None = None
    for entry in reversed(kept):
        clean = TracebackType(clean, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return clean


def _clean_chain(error: BaseException) -> None:
    seen = {id(error)}
    linked = [error.__cause__, error.__context__]
    while linked:
        other = linked.pop()
        if other is not None and id(other) not in seen:
            seen.add(id(other))
            other.__traceback__ = without_us(other.__traceback__)
            linked += [other.__cause__, other.__context__]


def _hard_exit(session: Session) -> None:
    """os._exit skips atexit; the record is closed first. In a forked child `close` does nothing."""

    def around(original: Any) -> Any:
        def _exit(status: int) -> Any:
            session.close()
            return original(status)

        return _exit

    session.patches.wrap(os, "_exit", around)


def _warnings(session: Session) -> None:
    """A warning raised below one of our wrappers names our file; give it back the user's line."""

    def around(original: Any) -> Any:
        def showwarning(message: Any, category: Any, filename: str, lineno: int, *args: Any, **kwargs: Any) -> Any:
            if filename.startswith(OWN) and (place := here()) is not None and place.file and place.line:
                filename, lineno = _as_written(place.file), place.line
            return original(message, category, filename, lineno, *args, **kwargs)

        return showwarning

    def around_warn(original: Any) -> Any:
        def warn(message: Any, category: Any = None, stacklevel: int = 1, *args: Any, **kwargs: Any) -> Any:
            return original(message, category, _past_us(stacklevel), *args, **kwargs)

        return warn

    session.patches.wrap(warnings, "showwarning", around)
    session.patches.wrap(warnings, "warn", around_warn)


def _past_us(stacklevel: int) -> int:
    """The stack level that leads to the same frame as without our wrappers in between (and past `warn` above).

    While operations are followed, torch calls a function once more from inside itself, through torch/overrides.py: that
    detour is passed over too.
    """
    frame: FrameType | None = sys._getframe(2)
    raw, wanted = 1, max(stacklevel, 1)
    counted, detour = 0, False
    while frame is not None:
        file = frame.f_code.co_filename
        if file.endswith(_OVERRIDES):
            detour = True
        elif detour:
            detour = False
        else:
            counted += not file.startswith(OWN)
        if counted >= wanted:
            return raw + 1
        raw += 1
        frame = frame.f_back
    return stacklevel + 1


def _as_written(file: str) -> str:
    """Python names the main script as it was given on the command line."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    return main if main and os.path.abspath(main) == file else file
