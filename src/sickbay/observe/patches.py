"""Replaces a function with a thin wrapper, and puts every one of them back."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
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


def step_aside_for_dynamo() -> None:
    """torch.compile compiles whatever Python frame it meets first, which must not become one of ours: inside a model that
    torch itself leaves alone, our wrapper would be that frame, and what is compiled rounds differently. Code that is inlined
    into the user's own is not affected."""
    skip = _skipper()
    if skip is None:
        return
    for name, module in list(sys.modules.items()):
        if name.startswith(("sickbay.observe.", "sickbay.record.", "sickbay.trials.")):
            for value in list(vars(module).values()):
                if getattr(value, "__module__", "") == name:
                    for code in _codes(value):
                        skip(code)


def _skipper() -> Callable[[CodeType], None] | None:
    from torch._C._dynamo import eval_frame

    if hasattr(eval_frame, "skip_code"):  # until torch 2.6
        return eval_frame.skip_code  # type: ignore[no-any-return]
    try:
        strategy = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.DEFAULT)
        return functools.partial(_set_strategy, eval_frame.set_code_exec_strategy, strategy)
    except AttributeError:
        return None


def _set_strategy(setter: Any, strategy: Any, code: CodeType) -> None:
    setter(code, strategy)


def _codes(value: Any) -> Iterator[CodeType]:
    if isinstance(value, FunctionType):
        value = value.__code__
    if isinstance(value, CodeType):
        yield value
        for constant in value.co_consts:
            if isinstance(constant, CodeType):
                yield from _codes(constant)
    elif isinstance(value, type):
        for member in vars(value).values():
            yield from _codes(getattr(member, "fget", None) or getattr(member, "__wrapped__", member))
