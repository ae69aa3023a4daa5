"""What the user typed after `sickbay run` -> what is started, and the name its run gets."""

from __future__ import annotations

import difflib
import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sickbay.errors import UsageError

PYTHON_OPTION = re.compile(r"-[bBcdmOqsuvWx][^-]*|-X.*")
PYTHONS = re.compile(r"python[0-9.]*")


@dataclass(frozen=True, slots=True)
class Command:
    argv: tuple[str, ...]
    stem: str
    """Short readable name: the script without its suffix, the module, or the program."""


def resolve(words: Sequence[str]) -> Command:
    """`train.py ...`, `-m pkg.mod ...`, `python ...`, `torchrun ...`, any program. Raises UsageError if there is no such thing."""
    if not words:
        raise UsageError("nothing to run: give a script or a command, for example `sickbay run train.py`")
    first, *rest = words
    if first.startswith("--"):
        raise UsageError(f"there is no option {first}; see `sickbay run --help` (options of the script go after the script)")
    if first.startswith("-"):
        if not PYTHON_OPTION.fullmatch(first) or not rest:
            raise UsageError(f"{first} needs something to run after it, for example `sickbay run -m package.train` or `sickbay run train.py`")
        return Command((interpreter(), *words), _stem(words))
    path = Path(first)
    if path.suffix == ".py" or _is_python_program(path):
        if not path.exists():
            raise UsageError(f"there is no script {first!r} in {Path.cwd()}{_near(path)}")
        return Command((interpreter(), *words), _stem(words))
    return Command((_program(first), *rest), _stem(words))


def interpreter() -> str:
    """Our own Python, unless torch is missing there (sickbay installed by pipx): then the Python of the user's shell."""
    if importlib.util.find_spec("torch") is None:
        other = shutil.which("python") or shutil.which("python3")
        return other or sys.executable
    return sys.executable


def _is_python_program(path: Path) -> bool:
    """What Python can run though its name does not end in .py: a package folder, a zip, a script without the execute bit."""
    if path.is_dir():
        return (path / "__main__.py").exists()
    return path.is_file() and ("/" in str(path) or not shutil.which(str(path))) and not os.access(path, os.X_OK)


def _program(name: str) -> str:
    if shutil.which(name):
        return name
    # The environment is not activated: its programs (torchrun, accelerate) stand beside our interpreter.
    beside = Path(sys.executable).parent / name
    if "/" not in name and os.access(beside, os.X_OK):
        return str(beside)
    if PYTHONS.fullmatch(name):
        return sys.executable
    raise UsageError(f"there is no script or program {name!r} in {Path.cwd()} or on PATH{_near(Path(name))}")


def _near(path: Path) -> str:
    folder = path.parent
    names = [p.name for p in folder.glob("*.py")] if folder.is_dir() else []
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {folder / close[0]}?" if close else ""


def _stem(words: Sequence[str]) -> str:
    for i, word in enumerate(words):
        if word == "-m" and i + 1 < len(words):
            return words[i + 1]
        if word == "-c":
            break
        if word.endswith(".py"):
            return Path(word).stem
    return Path(words[0]).stem.lstrip("-") or "run"
