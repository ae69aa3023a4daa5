"""`file.py:name` and `package.module:name`: things of the user's own programs, and checkpoints for them."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from sickbay.errors import UsageError

INSIDE = ("state_dict", "model_state_dict", "model")
"""Where a checkpoint that holds more than weights keeps them."""
PREFIXES = ("module.", "_orig_mod.")
"""What wrappers (DataParallel, torch.compile) put before every name."""


def thing(text: str) -> Any:
    """What a name stands for; a function or class that needs no argument is called, and what it returns is taken."""
    return made_by(named(text), text)


def made_by(value: Any, text: str) -> Any:
    """What it returns, if it is a function or class that needs no argument; else itself."""
    model = hasattr(value, "forward") and not isinstance(value, type)  # to be called with a batch, not for a model
    if callable(value) and not model and _needs_nothing(value):
        with _told(text):
            return value()
    return value


def named(text: str) -> Any:
    """What a name stands for, as it is."""
    place, _, name = text.rpartition(":")
    if not place or not name:
        raise UsageError(f"{text!r} does not name anything: write file.py:name or package.module:name")
    value: Any = _module(place)
    for part in name.split("."):
        if not hasattr(value, part):
            known = [n for n in vars(value) if not n.startswith("_")] if isinstance(value, ModuleType) else []
            raise UsageError(f"{place} has no {name!r}" + (f"; it has {', '.join(known[:12])}" if known else ""))
        value = getattr(value, part)
    return value


def _module(place: str) -> ModuleType:
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if not place.endswith(".py"):
        with _told(place):
            return importlib.import_module(place)
    file = Path(place).resolve()
    if not file.is_file():
        raise UsageError(f"there is no file {place}")
    known = sys.modules.get(file.stem)
    if known is not None and getattr(known, "__file__", None) and Path(str(known.__file__)).resolve() == file:
        return known
    if str(file.parent) not in sys.path:
        sys.path.insert(0, str(file.parent))
    # Under its own name, so that loader workers find its classes; unless that name is another module's.
    name = file.stem if known is None else f"sickbay_given_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    given, sys.argv = sys.argv, [place]  # a script that reads its command line is not given ours
    try:
        with _told(place):
            spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    finally:
        sys.argv = given
    return module


class _told:  # noqa: N801 - reads as what it does
    """What the user's own code raises, told in one line of ours."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if error is None or isinstance(error, KeyboardInterrupt) or os.environ.get("SICKBAY_DEBUG"):
            return
        if isinstance(error, ModuleNotFoundError) and error.name == self.place.partition(".")[0]:
            raise UsageError(
                f"there is no module {self.place!r}; a file is written with its ending: {self.place.replace('.', '/')}.py:name"
            ) from None
        told = "it ends the program" if isinstance(error, SystemExit) else f"{type(error).__name__}{_where(error)}: {error}"
        raise UsageError(f"{self.place} cannot be loaded: {told}") from error


def _where(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<") and f.filename != __file__]
    return f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def _needs_nothing(value: Any) -> bool:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return False
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


def load_weights(model: Any, file: Path) -> None:
    """A checkpoint's weights into a model; nothing in the file is run."""
    import torch

    try:
        loaded = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as e:
        raise UsageError(f"{file} cannot be read as weights: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}") from None
    state = next((loaded[k] for k in INSIDE if isinstance(loaded, dict) and isinstance(loaded.get(k), dict)), loaded)
    if not isinstance(state, dict) or not isinstance(model, torch.nn.Module):
        raise UsageError(f"{file} holds {type(state).__name__}: expected a state dict, and a torch.nn.Module to take it")
    for prefix in PREFIXES:
        if state and all(str(k).startswith(prefix) for k in state):
            state = {str(k).removeprefix(prefix): v for k, v in state.items()}
    try:
        model.load_state_dict(state)
    except RuntimeError as e:
        told = " ".join(str(e).split())
        raise UsageError(f"{file} does not fit the model: {told[:400]}{'…' if len(told) > 400 else ''}") from None
