"""Mixed precision: autocast blocks and the gradient scaler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from sickbay.observe.patches import Patches
from sickbay.observe.places import key_here

if TYPE_CHECKING:
    from sickbay.observe.session import Session


def hook_precision(session: Session, patches: Patches) -> None:
    is_compiling = torch.compiler.is_compiling

    def around_scale(original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(self: Any, outputs: Any) -> Any:
            scaled = original(self, outputs)
            if isinstance(outputs, torch.Tensor) and isinstance(scaled, torch.Tensor):
                session.fire("scaled", self, outputs, scaled)
            return scaled

        return scale

    def around_named(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def around(original: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                if not is_compiling() and not session.deaf:
                    session.tell("called", kind, key_here(), args[0] if args else None)
                return original(*args, **kwargs)

            return call

        return around

    def around_scaler_step(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            made = session.optimizer_steps
            result = original(self, *args, **kwargs)
            session.fire("scaler_stepped", self, session.optimizer_steps > made)
            return result

        return step

    patches.wrap(torch.amp.GradScaler, "step", around_scaler_step)
    patches.wrap(torch.autocast, "__enter__", around_named("autocast"))
    for method, kind in (("unscale_", "unscale"), ("step", "scaler_step"), ("update", "scaler_update")):
        patches.wrap(torch.amp.GradScaler, method, around_named(kind))
    patches.wrap(torch.amp.GradScaler, "scale", around_scale)
