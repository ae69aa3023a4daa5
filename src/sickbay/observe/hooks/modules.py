"""Calls of modules, their modes, states and weights."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from sickbay.observe.observer import ForwardCall
from sickbay.observe.patches import Patches
from sickbay.observe.places import here, key_here
from sickbay.observe.trace import inside_transform

if TYPE_CHECKING:
    from sickbay.observe.session import Session

FAST = (torch.nn.TransformerEncoder, torch.nn.TransformerEncoderLayer, torch.nn.MultiheadAttention)
"""In eval mode these have a fast path with other rounding, which torch does not take while any function mode is open:
our trace steps aside for them, or watching would change what they compute."""


def hook_modules(session: Session, patches: Patches) -> None:
    Module = torch.nn.Module
    criteria = torch.nn.modules.loss._Loss
    is_compiling, is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled
    clock = time.perf_counter
    stack = session.registry.stack

    def around_call(original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or session.busy or session.off:
                return original(self, *args, **kwargs)
            if stack:
                if not session.tracing or stack.thread != threading.get_ident():
                    return original(self, *args, **kwargs)
                if not self.training and isinstance(self, FAST) and _takes_fast_path(self, args):
                    with session.without_trace():
                        return original(self, *args, **kwargs)
                stack.append(self)
                try:
                    return original(self, *args, **kwargs)
                finally:
                    stack.pop()
            if session.asleep and self.training and is_grad_enabled():
                if session.door is None:
                    session.door = (self, args, kwargs)
                return original(self, *args, **kwargs)
            if isinstance(self, criteria) or not session.mine() or isinstance(self, torch.jit.ScriptModule) or inside_transform():
                return original(self, *args, **kwargs)
            return outermost(original, self, args, kwargs)

        return __call__

    def outermost(original: Callable[..., Any], module: torch.nn.Module, args: Any, kwargs: Any) -> Any:
        call = ForwardCall(module, args, kwargs, torch.is_grad_enabled(), key_here(3))
        session.forward_begins(call)
        stack.append(module)
        stack.thread = threading.get_ident()
        started = clock()
        own = session.times.own
        try:
            if not module.training and isinstance(module, FAST) and _takes_fast_path(module, args):
                with session.without_trace():
                    output = original(module, *args, **kwargs)
            else:
                output = original(module, *args, **kwargs)
        finally:
            stack.clear()
        call.seconds = clock() - started - (session.times.own - own)
        if call.grad:
            session.times.forward += call.seconds
        session.fire("forward_ends", call, output)
        return output

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
            if not session.asleep:
                session.fire("zeroed", self, key_here())
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
    patches.wrap(Module, "__call__", around_call)
    patches.wrap(Module, "train", around_train)
    patches.wrap(Module, "load_state_dict", around_load)
    patches.wrap(Module, "zero_grad", around_zero)


def _takes_fast_path(module: torch.nn.Module, args: Any) -> bool:
    if not torch.is_grad_enabled():
        return True
    tensors = (*module.parameters(), *(a for a in args if isinstance(a, torch.Tensor)))
    return not any(t.requires_grad for t in tensors)
