"""Calls of modules."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from sickbay.observe.observer import ForwardCall
from sickbay.observe.patches import Patches
from sickbay.observe.places import key_here
from sickbay.observe.trace import inside_transform

if TYPE_CHECKING:
    from sickbay.observe.session import Session

FAST = (torch.nn.TransformerEncoder, torch.nn.TransformerEncoderLayer, torch.nn.MultiheadAttention)
"""In eval mode these have a fast path with other rounding, which torch does not take while any function mode is open:
our trace steps aside for them, or watching would change what they compute."""


def hook_modules(session: Session, patches: Patches) -> None:
    criteria = torch.nn.modules.loss._Loss
    is_compiling, is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled
    clock = time.perf_counter
    stack = session.registry.stack

    def around_call(original: Callable[..., Any]) -> Callable[..., Any]:
        def __call__(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or session.busy or session.off or session.loading:  # torchvision's transforms are modules, called for every sample
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
            tell = session.fire
            if session.asleep and self.training and is_grad_enabled():
                if session.comparing is not None:
                    session.stop_comparing()
                if session.door is None:
                    session.door = (self, args, kwargs)
                if session.deaf:
                    return original(self, *args, **kwargs)
                tell = session.tell
            if isinstance(self, criteria) or not session.mine() or isinstance(self, torch.jit.ScriptModule) or inside_transform():
                return original(self, *args, **kwargs)
            return outermost(original, self, args, kwargs, tell)

        return __call__

    def outermost(original: Callable[..., Any], module: torch.nn.Module, args: Any, kwargs: Any, tell: Callable[..., None]) -> Any:
        call = ForwardCall(module, args, kwargs, torch.is_grad_enabled(), key_here(3))
        session.forward_begins(call, tell)
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
        tell("forward_ends", call, output)
        return output

    patches.wrap(torch.nn.Module, "__call__", around_call)


def _takes_fast_path(module: torch.nn.Module, args: Any) -> bool:
    if not torch.is_grad_enabled():
        return True
    tensors = (*module.parameters(), *(a for a in args if isinstance(a, torch.Tensor)))
    return not any(t.requires_grad for t in tensors)
