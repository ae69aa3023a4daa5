"""Where files really are in a fenced process: what the script writes lies in a scratch folder, seen in the place where it was written."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import Any

OPEN_GROUND = ("/dev", "/proc", "/sys")
MOST_TOLD = 200
FENCED_FILE = "fenced.txt"

_stat, _mkdir, _open, _copy, _copytree = os.stat, os.makedirs, open, shutil.copy2, shutil.copytree


class Ground:
    """Maps paths. A path outside of the scratch and run folders has a shadow in scratch, which is used instead once it exists."""

    def __init__(self, scratch: str, run_folder: str) -> None:
        self.scratch = os.path.realpath(scratch)
        self.run_folder = os.path.realpath(run_folder)
        self.gone: set[str] = set()
        """Real files that the script has removed, as it believes."""
        self._told: set[str] = set()

    def fenced(self, path: Any) -> str | None:
        """The absolute path, if it is one that the script must not change; None for everything else, such as an open file."""
        if not isinstance(path, (str, bytes, os.PathLike)):
            return None
        full = os.path.abspath(os.fsdecode(path))
        free = (self.scratch, self.run_folder, *OPEN_GROUND)
        return None if any(full == root or full.startswith(root + os.sep) for root in free) else full

    def shadow(self, full: str) -> str:
        return os.path.join(self.scratch, "files", full.lstrip(os.sep))

    def reading(self, path: Any) -> Any:
        """Where to look for it."""
        full = self.fenced(path)
        if full is None:
            return path
        shadow = self.shadow(full)
        if really_there(shadow):
            return shadow
        # A path that is not there: whoever asks for a removed file gets the usual error.
        return shadow if self.removed(full) else path

    def writing(self, path: Any, keep: bool = False) -> Any:
        """Where to write it; with what it holds already, if that is kept."""
        full = self.fenced(path)
        if full is None:
            return path
        shadow, parent = self.shadow(full), os.path.dirname(full)
        if not really_there(os.path.dirname(shadow)):
            if not really_there(parent) or self.removed(parent):
                return path if not really_there(parent) else shadow  # no such folder: the usual error
            _mkdir(os.path.dirname(shadow), exist_ok=True)
        if keep and not really_there(shadow) and really_there(full) and not self.removed(full):
            (_copytree if os.path.isdir(full) else _copy)(full, shadow)
        self.tell(full)
        return shadow

    def creating(self, path: Any) -> Any:
        """Where to write what must not be there yet: where it is, for the usual error, if it is."""
        full = self.fenced(path)
        there = full is not None and not self.removed(full) and really_there(full)
        return path if there else self.writing(path)

    def removed(self, full: str) -> bool:
        while full not in self.gone:
            above = os.path.dirname(full)
            if above == full:
                return False
            full = above
        return True

    def remove(self, full: str) -> None:
        self.gone.add(full)
        self.tell(full)

    def tell(self, what: str) -> None:
        """One line in the run folder for every file that was kept from being written, and every machine that was not reached."""
        if what in self._told or len(self._told) >= MOST_TOLD:
            return
        self._told.add(what)
        with contextlib.suppress(OSError), _open(os.path.join(self.run_folder, FENCED_FILE), "a", encoding="utf-8") as f:
            f.write(what + "\n")


def really_there(path: str) -> bool:
    """As the file system has it, whatever the script believes."""
    try:
        _stat(path)
    except (OSError, ValueError):
        return False
    return True
