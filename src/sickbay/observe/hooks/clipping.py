"""Gradient clipping."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import torch

from sickbay.observe.places import key_here

if TYPE_CHECKING:
    from sickbay.observe.session import Session


def around_clip(session: Session, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    depth = 0

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def clip(*args: Any, **kwargs: Any) -> Any:
            nonlocal depth
            if depth or session.busy or session.off:
                return original(*args, **kwargs)
            depth = 1
            limit = args[1] if len(args) > 1 else kwargs.get("max_norm", kwargs.get("clip_value"))
            try:
                tensors: list[Any] | None = None
                if session.sampled:
                    args, kwargs, tensors = _laid_open(args, kwargs)
                    session.tell("clip_begins", name, limit, tensors, key_here())
                norm = original(*args, **kwargs)
            finally:
                depth = 0
            session.fire("clipped", name, limit, norm, key_here())
            return norm

        return clip

    return around


def _laid_open(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any], list[Any]]:
    """The tensors that clipping is given, and the arguments to hand on: a generator can be read only once, so that a new one takes its place
    (torch warns of empty generators, and of nothing else)."""
    given = args[0] if args else kwargs.get("parameters", ())
    if isinstance(given, torch.Tensor):
        return args, kwargs, [given]
    tensors = list(given)
    if isinstance(given, Iterator):
        again = (t for t in tensors) if isinstance(given, GeneratorType) else iter(tensors)
        if args:
            args = (again, *args[1:])
        else:
            kwargs = kwargs | {"parameters": again}
    return args, kwargs, tensors
