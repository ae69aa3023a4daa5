"""A scan that was interrupted, on disk: counts, sums, keys and where it stopped. No sample is in it: of those that questions are asked of, it has the index, and they are loaded again."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sickbay.exams.scan.asked import Asked
from sickbay.exams.scan.book import LoaderBook
from sickbay.facts.scan import LoaderSeen

VERSION = 2


@dataclass
class Stopped:
    """Where a pass stopped, and what it knew."""

    name: str
    """The loader: "train" or "val"."""
    batches: int
    checksum: int
    book: LoaderBook
    failures: list[Any]
    failed: int
    failed_batches: int
    finished: tuple[LoaderBook, LoaderSeen] | None = None
    """The pass before this one."""
    asked: dict[str, Any] = field(default_factory=dict)
    """By loader, the indices of the samples that questions are asked of (None where it tells no index)."""


class _Ours(pickle.Unpickler):
    """Reads nothing but what we write: a file that somebody else wrote cannot run anything."""

    def find_class(self, module: str, name: str) -> Any:
        safe = {"builtins": {"set", "slice"}, "collections": {"Counter"}}
        if (module.startswith("numpy") and name in NUMPY) or name in safe.get(module, ()):
            return super().find_class(module, name)
        if module.startswith("sickbay.") and "." not in name:
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:  # a class of ours, not what one of our modules imports
                return found
        raise pickle.UnpicklingError(f"{module}.{name} does not belong in a scan that was interrupted")


NUMPY = frozenset({"_reconstruct", "ndarray", "dtype", "scalar", "_frombuffer"})


def save(file: Path, stopped: Stopped) -> None:
    books = {stopped.name: stopped.book} | ({"train": stopped.finished[0]} if stopped.finished is not None else {})
    for name, book in books.items():
        book.flush()
        book.asked.settle()
        stopped.asked[name] = book.asked.kept()
        book.asked = Asked(indexed=book.indexed)  # the old one holds samples
        book.layout, book.alike, book.watched, book.below = [], None, [], {}
    text = pickle.dumps((VERSION, stopped))
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    temporary.write_bytes(text)
    temporary.replace(file)


def load(file: Path) -> Stopped | None:
    """None where there is nothing that can be used."""
    try:
        version, stopped = _Ours(io.BytesIO(file.read_bytes())).load()
    except (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, ValueError, TypeError, IndexError):
        return None
    return stopped if version == VERSION and isinstance(stopped, Stopped) else None


def forget(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()
