"""How modules are made and set: their modes, states and weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from sickbay.observe.patches import Patches
from sickbay.observe.places import here, key_here

if TYPE_CHECKING:
    from sickbay.observe.session import Session


def hook_states(session: Session, patches: Patches) -> None:
    Module = torch.nn.Module
    is_compiling = torch.compiler.is_compiling

    def around_train(original: Callable[..., Any]) -> Callable[..., Any]:
        depth = 0

        def train(self: torch.nn.Module, mode: bool = True) -> Any:
            nonlocal depth
            if depth == 0 and not session.busy and not session.off and not is_compiling():
                session.train_mode = mode
                session.fire("mode_set", self, mode, here())
            depth += 1
            try:
                return original(self, mode)
            finally:
                depth -= 1

        return train

    def around_load(original: Callable[..., Any]) -> Callable[..., Any]:
        def load_state_dict(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            result = original(self, *args, **kwargs)
            session.fire("state_loaded", self, result, here())
            return result

        return load_state_dict

    def around_zero(original: Callable[..., Any]) -> Callable[..., Any]:
        def zero_grad(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if not session.deaf:
                session.tell("zeroed", self, key_here())
            return original(self, *args, **kwargs)

        return zero_grad

    def around_init(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: torch.nn.Module, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            if not session.busy and not session.off and not is_compiling():
                session.registry.note_built(self, key_here())

        return __init__

    def around_register(original: Callable[..., Any]) -> Callable[..., Any]:
        def register_parameter(self: torch.nn.Module, name: str, param: Any) -> None:
            before = self.__dict__.get("_parameters", {}).get(name)
            original(self, name, param)
            if before is not None and param is not None and param is not before and not session.busy and not session.off and not is_compiling():
                session.registry.note_put(param, key_here())

        return register_parameter

    patches.wrap(Module, "__init__", around_init)
    patches.wrap(Module, "register_parameter", around_register)
    patches.wrap(Module, "train", around_train)
    patches.wrap(Module, "load_state_dict", around_load)
    patches.wrap(Module, "zero_grad", around_zero)
