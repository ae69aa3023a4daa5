"""A git repository, only ever read, and a tree of its revisions in a scratch folder.

The tree is a clone that borrows the repository's objects: unlike `git worktree` it writes nothing into the repository, so that whatever happens to
us, the user's checkout, index, branches and stash are as they were.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sickbay.errors import UsageError

NOT_LINKED = frozenset({".git", ".sickbay", "__pycache__"})
SETTINGS = frozenset({".cfg", ".conf", ".ini", ".json", ".toml", ".yaml", ".yml"})
"""What scripts read their settings from: a change there matters though no Python file changes."""


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    short: str
    author: str
    date: str
    """When it was written, as git tells it."""
    title: str
    message: str
    """All of it, with the title."""


class History:
    """The repository that a folder belongs to."""

    def __init__(self, folder: Path) -> None:
        try:
            self.top = Path(_git(folder, "rev-parse", "--show-toplevel").strip()).resolve()
        except UsageError as e:
            if "not a git repository" in str(e):
                raise UsageError(f"{folder} is not a git repository, nor in one; bisect looks for the commit that made a script sick") from None
            raise

    def commit(self, revision: str) -> str:
        """The full name of a revision."""
        try:
            return _git(self.top, "rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}").strip()
        except UsageError:
            raise UsageError(f"there is no revision {revision!r} in {self.top}; `git log --oneline` lists what there is") from None

    def is_ancestor(self, older: str, newer: str) -> bool:
        with suppress(UsageError):
            _git(self.top, "merge-base", "--is-ancestor", older, newer)
            return True
        return False

    def suspects(self, bad: str, good: Iterable[str]) -> list[str]:
        """Commits one of which is the first bad one: that which halves them best first, the bad one itself last."""
        lines = _git(self.top, "rev-list", "--bisect-all", bad, "--not", *good).splitlines()
        return [sha for line in lines if (sha := line.split()[0]) != bad] + [bad]

    def tell(self, sha: str) -> Commit:
        full, short, author, date, message = _git(self.top, "show", "--no-patch", "--format=%H%x00%h%x00%an%x00%ad%x00%B", sha).split("\0", 4)
        return Commit(full, short, author, date, message.partition("\n")[0], message.strip())

    def changed(self, sha: str) -> list[str]:
        """Files that a commit changes (a merge: compared with its first parent), as paths in the repository."""
        return [name for name in _git(self.top, "diff", "--name-only", "-z", f"{sha}^1", sha).split("\0") if name]

    def diff(self, sha: str, files: Sequence[str]) -> str:
        return _git(self.top, "diff", "--no-color", "--no-ext-diff", f"{sha}^1", sha, "--", *files)

    def is_changed_here(self) -> bool:
        """Whether the checkout holds changes that no revision has."""
        return bool(_git(self.top, "status", "--porcelain", "--untracked-files=no").strip())

    @cached_property
    def files(self) -> frozenset[str]:
        """What the checkout tracks."""
        return frozenset(_git(self.top, "ls-files", "-z").split("\0")) - {""}

    @cached_property
    def folders(self) -> frozenset[str]:
        """...and the folders that hold it."""
        return frozenset(str(parent) for file in self.files for parent in Path(file).parents)

    def untracked(self) -> Iterator[str]:
        """Data, caches, local settings: what lies in the checkout and is no part of any revision."""
        for name in _git(self.top, "ls-files", "--others", "--directory", "--no-empty-directory", "-z").split("\0"):
            path = Path(name)
            if name and not NOT_LINKED & set(path.parts):
                yield str(path)

    def inside(self, path: Path) -> Path | None:
        """Where a tracked file or folder stands in the repository; None for everything else."""
        try:
            relative = path.resolve().relative_to(self.top)
        except ValueError:
            return None
        return relative if str(relative) in self.files or str(relative) in self.folders else None


class Tree:
    """The repository's files as one revision has them, in a scratch folder, with what git does not track linked to where it is."""

    def __init__(self, history: History, folder: Path) -> None:
        self.history = history
        self.top = folder.resolve()
        common = Path(_git(history.top, "rev-parse", "--git-common-dir").strip())
        _git(folder.parent, "clone", "--quiet", "--shared", "--no-checkout", "--no-tags", str(history.top / common), str(self.top))
        _git(self.top, "config", "core.hooksPath", os.devnull)

    def show(self, sha: str) -> None:
        _git(self.top, "clean", "-ffdxq")
        _git(self.top, "checkout", "--quiet", "--force", "--detach", sha)
        for name in self.history.untracked():
            link = self.top / name
            if not os.path.lexists(link):
                with suppress(OSError):  # this revision has a file where that folder would be
                    link.parent.mkdir(parents=True, exist_ok=True)
                    link.symlink_to(self.history.top / name)

    def moved(self, path: str) -> str:
        """An absolute path into the checkout, as a path into this tree."""
        inside = self.history.inside(Path(path)) if Path(path).is_absolute() else None
        return str(self.top / inside) if inside is not None else path

    def word(self, word: str, cwd: Path) -> str:
        """A word of a command that was meant in `cwd`: what points into the checkout points here, what leads out of it is made absolute."""
        if Path(word).is_absolute():
            return self.moved(word)
        try:
            leads = (cwd / word).resolve(strict=True)
        except (OSError, ValueError):  # an option, a number: no file
            return word
        return word if leads.is_relative_to(self.history.top) else str(leads)

    def python_path(self) -> str:
        """Packages that are imported from the checkout (PYTHONPATH, an editable installation) are imported from here instead."""
        given = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
        found = [str(Path(p).resolve()) for p in (*given, *sys.path) if p and (p in given or self.history.inside(Path(p)) is not None)]
        if "src" in self.history.folders:
            found.append(str(self.history.top / "src"))
        return os.pathsep.join(dict.fromkeys(map(self.moved, found)))


def what_matters(changed: Sequence[str], ran: Iterable[str]) -> list[str]:
    """Of the files that a commit changes: those that the script ran, and settings; all of them if there is none."""
    loaded = set(ran)
    return [f for f in changed if f in loaded or Path(f).suffix.lower() in SETTINGS] or list(changed)


def _git(folder: Path, *words: str) -> str:
    """What a git command prints. No variable of a surrounding git (a hook's) leads it elsewhere, and it takes no lock to read."""
    env = {k: v for k, v in os.environ.items() if not re.match(r"GIT_(DIR|WORK_TREE|INDEX_FILE|PREFIX|COMMON_DIR|OBJECT_DIRECTORY)", k)}
    command = ["git", "-c", "core.quotePath=false", *words]
    env |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    try:
        done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError as e:
        raise UsageError(f"git could not be started: {e.strerror or e}") from None
    if done.returncode:
        told = done.stderr.decode(errors="replace").strip().splitlines()
        raise UsageError(f"git {words[0]} failed in {folder}: {told[-1] if told else f'exit code {done.returncode}'}")
    return done.stdout.decode(errors="surrogateescape")
