"""Objects that a command is given by name: `module:name`, or `path/to/file.py:name`."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from sickbay.errors import UsageError

BATCH = 64
"""Samples in a batch, for a data set that is given instead of a loader."""


def load(target: str) -> Any:
    """One loader."""
    found = _made(target)
    if isinstance(found, (tuple, list)) and found and all(_is_loader(x) for x in found):
        return found[0]
    return _loader(found, target)


def load_all(target: str) -> tuple[Any, Any]:
    """Training's loader, and validation's where one function makes both."""
    found = _made(target)
    if isinstance(found, (tuple, list)) and len(found) >= 2 and all(_is_loader(x) for x in found[:2]):
        return found[0], found[1]
    return _loader(found, target), None


def _made(target: str) -> Any:
    file, colon, name = target.rpartition(":")
    if not colon or not file or not name:
        raise UsageError(f"{target!r} names no loader: expected MODULE:NAME or FILE.py:NAME, for example data.py:train_loader")
    module = _module(file)
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            known = sorted(n for n, v in vars(module).items() if _is_loader(v))
            hint = f"its loaders are {', '.join(known)}" if known else "it has no loader by any name; a function that makes one will do"
            raise UsageError(f"{file} has no {name!r}; {hint}") from None
    return _called(found, target) if callable(found) and not _is_loader(found) and not hasattr(found, "__getitem__") else found


def _called(make: Any, target: str) -> Any:
    try:
        needed = [
            p.name for p in inspect.signature(make).parameters.values() if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
    except (TypeError, ValueError):
        needed = []
    if needed:
        raise UsageError(f"{target} needs arguments ({', '.join(needed)}); name a function that needs none, or a loader")
    try:
        return make()
    except Exception as e:
        raise UsageError(f"{target}() failed: {_told(e)}") from e


def _module(file: str) -> ModuleType:
    path = Path(file)
    if path.suffix != ".py":
        sys.path.insert(0, str(Path.cwd()))
        try:
            return importlib.import_module(file)
        except ModuleNotFoundError as e:
            if e.name is not None and (file == e.name or file.startswith(f"{e.name}.")):
                raise UsageError(f"there is no module {file!r}; run this where it can be imported, or name the file: path/to/{file}.py") from None
            raise UsageError(f"{file} cannot be imported: {_told(e)}") from e
        except (Exception, SystemExit) as e:
            raise UsageError(f"{file} cannot be imported: {_told(e)}") from e
    if not path.is_file():
        raise UsageError(f"there is no file {file}")
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path.resolve())
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)  # workers that are started anew find it by this name
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as e:
        raise UsageError(f"{file} cannot be imported: {_told(e)}") from e
    return module


def _told(error: BaseException) -> str:
    where = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith("<") and f.filename != __file__]
    place = f" at {Path(where[-1].filename).name}:{where[-1].lineno}" if where else ""
    return f"{type(error).__name__}{place}: {error}"


def _is_loader(thing: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, torch.utils.data.DataLoader)


def _loader(found: Any, target: str) -> Any:
    """What can be iterated as it is; a data set gets a plain loader."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(found, torch.utils.data.Dataset):
        return torch.utils.data.DataLoader(found, batch_size=BATCH)
    if isinstance(found, (str, bytes, dict)) or not (hasattr(found, "__iter__") or hasattr(found, "__getitem__")):
        raise UsageError(
            f"{target} is a {type(found).__name__}, which gives no batches; expected a DataLoader, a list of batches or a function that makes one"
        )
    return found
