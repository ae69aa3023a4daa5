"""Backward passes, gradient scaling and autocast."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from sickbay.observe.hooks.clipping import around_clip
from sickbay.observe.numbers import is_broken
from sickbay.observe.patches import Patches
from sickbay.observe.places import key_here

if TYPE_CHECKING:
    from sickbay.observe.session import Session


clock = time.perf_counter
is_compiling = torch.compiler.is_compiling
METHOD = torch.Tensor.backward.__code__
Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def hook_backward(session: Session, patches: Patches) -> None:
    patches.wrap(torch.Tensor, "backward", _method(session))
    patches.wrap(torch.autograd, "backward", _backward(session))
    patches.wrap(torch.autograd, "grad", _grad(session))
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        clip = around_clip(session, name)
        patches.wrap(torch.nn.utils.clip_grad, name, clip)
        patches.wrap(torch.nn.utils, name, clip)


def _method(session: Session) -> Wrap:
    """`loss.backward()`: steps out of our mode first."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(self: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            # What comes now would run inside our mode, where it can't be left. Inside another one it must not be entered again, so it stays.
            if session.trace is not None and session.trace.entered and not is_compiling() and torch._C._len_torch_function_stack() == 1:
                session.trace.leave()
            return original(self, *args, **kwargs)

        return backward

    return wrap


def _backward(session: Session) -> Wrap:
    """`torch.autograd.backward`, which `loss.backward()` calls, too."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or session.busy or session.off:
                return original(tensors, *args, **kwargs)
            tensors = tensors if isinstance(tensors, (torch.Tensor, list, tuple)) else tuple(tensors)
            loss = tensors if isinstance(tensors, torch.Tensor) else _first_of(tensors)
            if loss is None:
                return original(tensors, *args, **kwargs)
            frame = sys._getframe(1)
            if frame.f_code is METHOD and frame.f_back is not None:  # then our wrapper of it, and who called that
                frame = frame.f_back.f_back or frame
            if session.nap is not None and session.nap.backward(tensors, frame):
                if session.hold is not None:
                    session.hold(loss)
                result = original(tensors, *args, **kwargs)
                if session.closure_of is not None:
                    session.closure_evaluated()
                return result
            session.backward_from = (frame.f_code, frame.f_lasti)
            session.backward_begins(loss, key_here())
            if not session.deaf:
                given, retain, create = (args + (None, None, None)[len(args) :])[:3]
                session.tell("backward_called", loss, session.site, kwargs.get("grad_tensors", given), kwargs.get("retain_graph", retain) or create)
            session.until_backward.clear()
            started = clock()
            result = original(tensors, *args, **kwargs)
            session.times.backward += clock() - started
            if not session.deaf:
                session.tell("backward_ends", loss)
            if session.closure_of is not None:
                session.closure_evaluated()
            elif not session.registry.optimizers:  # weights are updated by hand
                session.look_at_gradients(None)
            session.backward_ended()
            return result

        return backward

    return wrap


def _first_of(tensors: Any) -> torch.Tensor | None:
    """Of several that are differentiated at once: one that is not finite, else the first."""
    losses = [t for t in tensors if isinstance(t, torch.Tensor)]
    broken = (t for t in losses if is_broken(t)) if len(losses) > 1 else iter(())
    return next(broken, losses[0] if losses else None)


def _grad(session: Session) -> Wrap:
    """`torch.autograd.grad`, by which some scripts train."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        inside = False

        def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            # Under our own tracing, torch calls the (patched) function a second time from inside.
            if inside or is_compiling() or session.busy or session.off:
                return original(outputs, inputs, *args, **kwargs)
            session.autograd_grad_calls += 1
            trains = session.trains_by_grad(outputs, inputs, kwargs.get("create_graph"))
            if trains:
                session.by_grad += 1
                session.backward_begins(outputs, key_here())
            started = clock()
            inside = True
            try:
                gradients = original(outputs, inputs, *args, **kwargs)
            finally:
                inside = False
            if trains:
                session.times.backward += clock() - started
                if not session.deaf:
                    session.tell("gradients_given", inputs if isinstance(inputs, (list, tuple)) else (inputs,), gradients)
                if not session.registry.optimizers:  # one that there is will be asked before it steps
                    session.look_at_gradients(
                        None, dict(zip(map(id, inputs if isinstance(inputs, (list, tuple)) else (inputs,)), gradients, strict=True))
                    )
                session.backward_ended()
            return gradients

        return grad

    return wrap
