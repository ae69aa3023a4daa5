"""Loaders that a command is given by name: `module:name`, or `path/to/file.py:name`."""

from __future__ import annotations

import sys
from typing import Any

from sickbay.cli.loading import made_by, named
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
    found = named(target)
    if not callable(found) or _is_loader(found) or hasattr(found, "__getitem__"):
        return found
    made = made_by(found, target)
    if made is found:
        raise UsageError(f"{target} needs arguments; name a function that needs none, or a loader")
    return made


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
