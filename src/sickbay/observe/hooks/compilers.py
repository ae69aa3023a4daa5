"""torch.compile, torch.jit and torch.export."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from sickbay.observe.hooks.losses import LOSSES
from sickbay.observe.patches import Patches

if TYPE_CHECKING:
    from sickbay.observe.session import Session

FRAMES_UP = 2
"""The place of `_frames_up` among the parameters of torch.jit.script."""


def hook_compilers(session: Session, patches: Patches) -> None:
    """torch.compile is told of; torch.jit.script must not meet our wrappers, so they step aside; what torch captures
    operation by operation (jit.trace, export) must hold nothing of ours."""

    def around_compile(original: Callable[..., Any]) -> Callable[..., Any]:
        def compiling(*args: Any, **kwargs: Any) -> Any:
            session.fire("compiled", args[0] if args else None)
            return original(*args, **kwargs)

        return compiling

    def around_script(original: Callable[..., Any]) -> Callable[..., Any]:
        def script(*args: Any, **kwargs: Any) -> Any:
            aside, args, kwargs = Patches(), *_one_frame_up(args, kwargs)
            for name in LOSSES:
                if (wrapped := getattr(getattr(F, name), "__wrapped__", None)) is not None:
                    aside.replace(F, name, wrapped)
            try:
                return original(*args, **kwargs)
            finally:
                aside.undo()

        return script

    def around_capture(original: Callable[..., Any]) -> Callable[..., Any]:
        def capture(*args: Any, **kwargs: Any) -> Any:
            if session.off:
                return original(*args, **kwargs)
            busy, session.busy = session.busy, True
            try:
                with session.without_trace():
                    return original(*args, **kwargs)
            finally:
                session.busy = busy

        return capture

    for owner, name in ((torch.jit, "trace"), (torch.jit, "trace_module"), (torch.jit, "_get_trace_graph"), (torch.export, "export")):
        patches.wrap(owner, name, around_capture)
    patches.wrap(torch, "compile", around_compile)
    patches.wrap(torch.nn.Module, "compile", around_compile)
    patches.wrap(torch.jit, "script", around_script)


def _one_frame_up(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of torch.jit.script from behind a wrapper: it finds the names that a class uses in its caller's frame, so many up."""
    if len(args) > FRAMES_UP:
        return (*args[:FRAMES_UP], args[FRAMES_UP] + 1, *args[FRAMES_UP + 1 :]), kwargs
    return args, {**kwargs, "_frames_up": kwargs.get("_frames_up", 0) + 1}
