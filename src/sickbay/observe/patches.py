"""Replaces a function with a thin wrapper, and puts every one of them back."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any


class Patches:
    """All replacements of one Session, in order, so that they can be undone in reverse."""

    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, bool]] = []

    def wrap(self, owner: Any, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Replace `owner.name` by `around(original)`. A missing name (another torch version) is left alone."""
        original = getattr(owner, name, None)
        if original is None:
            return
        self.replace(owner, name, functools.wraps(original)(around(original)))

    def replace(self, owner: Any, name: str, new: Any) -> None:
        """Set `owner.name`, remembering what was there."""
        inherited = isinstance(owner, type) and name not in vars(owner)
        self._undo.append((owner, name, getattr(owner, name), inherited))
        setattr(owner, name, new)

    def undo(self) -> None:
        while self._undo:
            owner, name, original, inherited = self._undo.pop()
            if inherited:
                delattr(owner, name)
            else:
                setattr(owner, name, original)
