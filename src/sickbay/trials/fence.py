"""Keeps a trial from leaving traces: what the script writes goes to a scratch folder, what it removes stays.

Python's own ways to files are led through a `Ground`: `open` and what is built on it (NumPy, pandas, TensorBoard, logging), the functions of `os`
and `shutil` that change folders, `sqlite3.connect`, and, once torch is there, `torch.save`, safetensors and h5py. The script finds what it wrote where it
believes it is. Connections to other machines are refused (`network.py`). Other libraries that open files in compiled code of their own are not fenced.
Only processes of a trial ever import this.
"""

from __future__ import annotations

import builtins
import io
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TYPE_CHECKING, Any

from sickbay.trials.ground import Ground, really_there
from sickbay.trials.network import stay_here
from sickbay.trials.writers import lead

if TYPE_CHECKING:
    from sickbay.trials.control import Control

WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
TRACKERS_OFF = {
    "WANDB_MODE": "disabled",
    "COMET_MODE": "DISABLED",
    "NEPTUNE_MODE": "debug",
    "CLEARML_OFFLINE_MODE": "1",
    "HF_HUB_OFFLINE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
"""For the environment of a trial: trackers send nothing, and Python leaves no byte code beside the script."""
ground: Ground | None = None


def put_up(scratch: str, run_folder: str) -> None:
    """Fence this process in, for good."""
    global ground
    ground = Ground(scratch, run_folder)
    _files(ground)
    _folders(ground)
    _removals(ground)
    _looks(ground)
    stay_here(ground.tell)
    connect = sqlite3.connect

    @wraps(connect)
    def connecting(database: Any, *args: Any, **kwargs: Any) -> Any:
        special = kwargs.get("uri") or str(database).startswith(":memory:")
        return connect(database if special else ground.writing(database, keep=True), *args, **kwargs)

    sqlite3.connect = connecting


def after_torch(control: Control) -> None:
    """Writers that need torch, or come with it."""
    if ground is not None:
        lead(control, ground)


def _files(ground: Ground) -> None:
    plain, low = io.open, os.open

    @wraps(plain)
    def opening(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
        if "x" in mode:
            return plain(ground.creating(file), mode, *args, **kwargs)
        if set(mode) & set("wa+"):
            return plain(ground.writing(file, keep="a" in mode or "r" in mode), mode, *args, **kwargs)
        return plain(ground.reading(file), mode, *args, **kwargs)

    @wraps(low)
    def opening_low(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is not None:
            return low(path, flags, mode, dir_fd=dir_fd)
        return low(ground.writing(path, keep=not flags & os.O_TRUNC) if flags & WRITING_FLAGS else ground.reading(path), flags, mode)

    builtins.open = io.open = opening
    os.open = opening_low


def _folders(ground: Ground) -> None:
    mkdir, replace = os.mkdir, os.replace

    def making(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        if dir_fd is not None or (full := ground.fenced(path)) is None:
            return mkdir(path, mode, dir_fd=dir_fd)
        if os.path.lexists(ground.reading(path)):
            raise FileExistsError(17, "File exists", os.fspath(path))
        ground.gone.discard(full)
        return mkdir(ground.writing(path), mode)

    def moving(source: Any, target: Any, **kwargs: Any) -> None:
        full = ground.fenced(source)
        if full is not None and not really_there(ground.shadow(full)) and really_there(full):
            ground.writing(source, keep=True)  # a copy goes, the real one stays
        if full is not None:
            ground.remove(full)
            source = ground.shadow(full)
        replace(source, ground.writing(target))

    os.mkdir = making
    os.rename = os.replace = moving  # type: ignore[assignment]
    os.symlink = _to_shadow(os.symlink, ground)
    os.link = _to_shadow(os.link, ground)


def _to_shadow(original: Callable[..., Any], ground: Ground) -> Callable[..., Any]:
    def linking(source: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        return original(source, ground.writing(target), *args, **kwargs)

    return linking


def _removals(ground: Ground) -> None:
    rmtree = shutil.rmtree

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def removing(path: Any, *, dir_fd: int | None = None) -> None:
            full = ground.fenced(path) if dir_fd is None else None
            if full is None:
                original(path, dir_fd=dir_fd)
                return
            if really_there(ground.shadow(full)) or not really_there(full) or ground.removed(full):
                original(ground.shadow(full))
            ground.remove(full)

        return removing

    def removing_tree(path: Any, *args: Any, **kwargs: Any) -> None:
        full = ground.fenced(path)
        if full is None:
            rmtree(path, *args, **kwargs)
        else:
            if really_there(ground.shadow(full)):
                rmtree(ground.shadow(full), *args, **kwargs)
            ground.remove(full)

    os.remove = os.unlink = around(os.unlink)
    os.rmdir = around(os.rmdir)
    shutil.rmtree = removing_tree  # type: ignore[assignment]
    for name in ("chmod", "utime", "truncate"):
        setattr(os, name, _on_shadow(getattr(os, name), ground))


def _on_shadow(original: Callable[..., Any], ground: Ground) -> Callable[..., Any]:
    def call(path: Any, *args: Any, **kwargs: Any) -> Any:
        return original(ground.writing(path, keep=True) if ground.fenced(path) is not None and os.path.exists(path) else path, *args, **kwargs)

    return call


class _Listing:
    """What `os.scandir` gives: an iterator that is also a context manager."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self._entries

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> _Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._entries = iter(())


def _looks(ground: Ground) -> None:
    """Looking at files shows what the script believes is there."""
    for name in ("stat", "lstat", "access"):
        setattr(os, name, _looking(getattr(os, name), ground))
    os.listdir = _listing(os.listdir, ground, lambda entry: entry, list)
    os.scandir = _listing(os.scandir, ground, lambda entry: entry.name, _Listing)


def _looking(original: Callable[..., Any], ground: Ground) -> Callable[..., Any]:
    def call(path: Any, *args: Any, **kwargs: Any) -> Any:
        return original(ground.reading(path) if kwargs.get("dir_fd") is None else path, *args, **kwargs)

    return call


def _listing(original: Callable[..., Any], ground: Ground, name_of: Callable[[Any], Any], kind: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def call(path: Any = ".") -> Any:
        full = ground.fenced(path)
        if full is None or isinstance(path, bytes):
            return original(path)
        found: dict[Any, Any] = {}
        if not ground.removed(full) and (really_there(full) or not really_there(ground.shadow(full))):
            found = {name_of(e): e for e in original(path) if not ground.removed(os.path.join(full, name_of(e)))}
        if really_there(ground.shadow(full)):
            found |= {name_of(e): e for e in original(ground.shadow(full))}
        return kind(list(found.values()))

    return call
