"""How far a long log has been read: whoever wants to show it, listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

Listener = Callable[[Path, int, int], None]
"""The file, how many bytes of it have been read, and of how many."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Whatever is read inside is told to the listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(path: Path, done: int, size: int) -> None:
    if (listener := _listener.get()) is not None:
        listener(path, done, size)
