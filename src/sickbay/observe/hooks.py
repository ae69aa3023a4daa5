"""Every hook into torch, in one place: thin wrappers that tell the session and otherwise do nothing.

Wrappers must stay out of the way of torch.compile (which traces through them: `is_compiling` prunes them), of
torch.jit.script (which cannot compile them: functions are put back while it works), and of pickling (nothing is
stored on the user's objects).
"""

from __future__ import annotations

import importlib
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F
from torch.optim import lr_scheduler
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from sickbay.observe.observer import ForwardCall, LossCall
from sickbay.observe.patches import Patches
from sickbay.observe.places import here, key_here, user_frame
from sickbay.observe.trace import inside_transform

if TYPE_CHECKING:
    from sickbay.observe.session import Session

LOSSES = (
    "cross_entropy",
    "nll_loss",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "kl_div",
    "poisson_nll_loss",
    "gaussian_nll_loss",
    "multilabel_soft_margin_loss",
    "soft_margin_loss",
    "multi_margin_loss",
    "hinge_embedding_loss",
)
"""Loss functions called as (input, target, ...)."""
FAST = (torch.nn.TransformerEncoder, torch.nn.TransformerEncoderLayer, torch.nn.MultiheadAttention)
"""In eval mode these have a fast path with other rounding, which torch does not take while any function mode is open:
our trace steps aside for them, or watching would change what they compute."""


def put_in_place(session: Session) -> None:
    """Install all hooks; `session.patches.undo()` removes them."""
    patches = session.patches
    _modules(session, patches)
    _losses(session, patches)
    _backward(session, patches)
    _optimizers(session, patches)
    _loaders(session, patches)
    _compilers(session, patches)


def _modules(session: Session, patches: Patches) -> None:
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

    patches.wrap(Module, "__init__", around_init)
    patches.wrap(Module, "__call__", around_call)
    patches.wrap(Module, "train", around_train)
    patches.wrap(Module, "load_state_dict", around_load)
    patches.wrap(Module, "zero_grad", around_zero)


def _takes_fast_path(module: torch.nn.Module, args: Any) -> bool:
    if not torch.is_grad_enabled():
        return True
    tensors = (*module.parameters(), *(a for a in args if isinstance(a, torch.Tensor)))
    return not any(t.requires_grad for t in tensors)


def _losses(session: Session, patches: Patches) -> None:
    is_compiling, is_grad_enabled = torch.compiler.is_compiling, torch.is_grad_enabled
    depth = 0

    def around(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def wrapper_of(original: Callable[..., Any]) -> Callable[..., Any]:
            def loss_function(*args: Any, **kwargs: Any) -> Any:
                nonlocal depth
                # Under our own tracing, torch calls the (patched) function a second time from inside.
                if is_compiling() or depth or session.busy or session.off or not session.mine():
                    return original(*args, **kwargs)
                if inside_transform():
                    session.limit("losses inside torch.func transforms", "their values are not numbers yet while they are computed")
                    return original(*args, **kwargs)
                depth = 1
                try:
                    output = original(*args, **kwargs)
                finally:
                    depth = 0
                if session.asleep and session.train_mode and is_grad_enabled() and not _broken(output):
                    return output
                with torch._C.DisableTorchFunction():  # a function mode of the user's does not see us ask
                    call = _loss_call(name, args, kwargs, output)
                session.fire("loss_called", call)
                return output

            return loss_function

        return wrapper_of

    for name in LOSSES:
        patches.wrap(F, name, around(name))


def _broken(loss: Any) -> bool:
    """A loss that is not finite: on a step that is slept through the script may leave it out, and nobody would know."""
    if type(loss) is not torch.Tensor:
        return False
    with torch._C.DisableTorchFunction():
        return loss.is_cpu and not loss.dim() and not math.isfinite(loss.item())


def _loss_call(name: str, args: Any, kwargs: Any, output: Any) -> LossCall | None:
    tensors = [a for a in args[:2] if isinstance(a, torch.Tensor)]
    tensors += [kwargs[k] for k in ("input", "target") if isinstance(kwargs.get(k), torch.Tensor)]
    if not tensors or not isinstance(output, torch.Tensor):
        return None
    module = ""
    frame = sys._getframe(2)
    if frame.f_code.co_name == "forward":
        owner = frame.f_locals.get("self")
        if isinstance(owner, torch.nn.modules.loss._Loss):
            module = type(owner).__name__
    options = {k: kwargs[k] for k in ("reduction", "label_smoothing", "ignore_index") if k in kwargs}
    return LossCall(name, tensors[0], tensors[1] if len(tensors) > 1 else None, options, output, output.requires_grad, None, module)


def _backward(session: Session, patches: Patches) -> None:
    clock = time.perf_counter
    is_compiling = torch.compiler.is_compiling

    def around_backward(original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if is_compiling() or session.busy or session.off:
                return original(tensors, *args, **kwargs)
            tensors = tensors if isinstance(tensors, (torch.Tensor, list, tuple)) else tuple(tensors)
            loss = tensors if isinstance(tensors, torch.Tensor) else next((t for t in tensors if isinstance(t, torch.Tensor)), None)
            if loss is None:
                return original(tensors, *args, **kwargs)
            frame = sys._getframe(2)  # the caller of Tensor.backward
            if session.nap is not None and session.nap.backward(tensors, frame):
                if session.hold is not None:
                    session.hold(loss)
                return original(tensors, *args, **kwargs)
            session.backward_from = (frame.f_code, frame.f_lasti)
            session.backward_begins(loss, key_here())
            if not session.asleep:
                given, retain, create = (args + (None, None, None)[len(args) :])[:3]
                session.fire("backward_called", loss, session.site, kwargs.get("grad_tensors", given), kwargs.get("retain_graph", retain) or create)
            started = clock()
            result = original(tensors, *args, **kwargs)
            session.times.backward += clock() - started
            if not session.asleep:
                session.fire("backward_ends", loss)
            if not session.registry.optimizers:  # weights are updated by hand
                session.look_at_gradients(None)
            session.backward_ended()
            return result

        return backward

    def around_grad(original: Callable[..., Any]) -> Callable[..., Any]:
        inside = False

        def grad(outputs: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal inside
            # Under our own tracing, torch calls the (patched) function a second time from inside.
            if inside or is_compiling() or session.busy or session.off:
                return original(outputs, inputs, *args, **kwargs)
            session.autograd_grad_calls += 1
            trains = session.trains_by_grad(outputs, inputs, kwargs.get("create_graph"))
            if trains:
                session.backward_begins(outputs, key_here())
            started = clock()
            inside = True
            try:
                gradients = original(outputs, inputs, *args, **kwargs)
            finally:
                inside = False
            if trains:
                session.times.backward += clock() - started
                if not session.asleep:
                    session.fire("gradients_given", inputs if isinstance(inputs, (list, tuple)) else (inputs,), gradients)
                session.look_at_gradients(
                    None, dict(zip(map(id, inputs if isinstance(inputs, (list, tuple)) else (inputs,)), gradients, strict=True))
                )
                session.backward_ended()
            return gradients

        return grad

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
                if not is_compiling() and not session.asleep:
                    session.fire("called", kind, key_here(), args[0] if args else None)
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
    patches.wrap(torch.autograd, "backward", around_backward)
    patches.wrap(torch.autograd, "grad", around_grad)
    patches.wrap(torch.amp.GradScaler, "scale", around_scale)
    for name in ("clip_grad_norm_", "clip_grad_value_"):
        around_clip = _around_clip(session, name)
        patches.wrap(torch.nn.utils.clip_grad, name, around_clip)
        patches.wrap(torch.nn.utils, name, around_clip)


def _around_clip(session: Session, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
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
                    session.fire("clip_begins", name, limit, tensors, key_here())
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


def _optimizers(session: Session, patches: Patches) -> None:
    Optimizer = torch.optim.Optimizer
    clock = time.perf_counter
    begun: dict[int, float] = {}

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if session.busy or session.off or not session.mine():
            return
        if session.asleep:
            if session.measure_norm and session.nap is None:
                session.fire("norm_due", optimizer)
            session.look_at_gradients(optimizer)
            begun[id(optimizer)] = clock()
            return
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None) is not None  # args[0] is the optimizer
        session.fire("step_begins", optimizer, key_here(), closure)
        if not closure:  # with one, gradients are still to come
            session.look_at_gradients(optimizer)
        begun[id(optimizer)] = clock()

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        session.door = None
        if session.nap is not None and not session.busy and session.mine() and session.nap.stepped(optimizer):
            return
        started = begun.pop(id(optimizer), None)
        if started is None or session.busy or session.off:
            return
        session.times.optimizer += clock() - started
        session.step_ended(optimizer)

    before_handle = register_optimizer_step_pre_hook(before)
    after_handle = register_optimizer_step_post_hook(after)
    session.at_close(before_handle.remove)
    session.at_close(after_handle.remove)

    def around_init(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            if not session.busy and not session.off:
                session.fire("optimizer_built", self, here(), user_frame())

        return __init__

    def around_zero(original: Callable[..., Any]) -> Callable[..., Any]:
        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not session.asleep:
                session.fire("zeroed", self, key_here())
            return original(self, *args, **kwargs)

        return zero_grad

    patches.wrap(Optimizer, "__init__", around_init)
    patches.wrap(Optimizer, "zero_grad", around_zero)
    _schedulers(session, patches)


def _schedulers(session: Session, patches: Patches) -> None:
    stepping = building = 0

    def around_init(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            nonlocal building
            building += 1
            try:
                original(self, *args, **kwargs)
            finally:
                building -= 1
            if building == 0 and not session.busy and not session.off:
                session.fire("scheduler_built", self, here())

        return __init__

    def around_step(original: Callable[..., Any]) -> Callable[..., Any]:
        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            nonlocal stepping
            stepping += 1
            try:
                result = original(self, *args, **kwargs)
            finally:
                stepping -= 1
            # Schedulers call their own step once while they are built; that is not the user's call.
            if stepping == 0 and sys._getframe(1).f_code.co_name not in ("_initial_step", "__init__"):
                session.fire("scheduled", self, key_here(), args[0] if args else kwargs.get("metrics"))
            return result

        return step

    for kind in {v for v in vars(lr_scheduler).values() if isinstance(v, type)}:
        if issubclass(kind, lr_scheduler.LRScheduler):
            for name, around in (("step", around_step), ("__init__", around_init)):
                if name in vars(kind):
                    patches.wrap(kind, name, around)


def _loaders(session: Session, patches: Patches) -> None:
    module = importlib.import_module("torch.utils.data.dataloader")
    clock = time.perf_counter

    def around_init(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, loader: Any, *args: Any, **kwargs: Any) -> None:
            if not session.busy and not session.off and session.mine():
                session.fire("loader_started", loader, self, key_here(), user_frame())
            original(self, loader, *args, **kwargs)

        return __init__

    def around_reset(original: Callable[..., Any]) -> Callable[..., Any]:
        def _reset(self: Any, loader: Any, first_iter: bool = False) -> Any:
            # Persistent workers keep one iterator for all epochs.
            if not first_iter and not session.busy and not session.off and session.mine():
                session.fire("loader_started", loader, self, key_here(), user_frame())
            return original(self, loader, first_iter)

        return _reset

    def around_next(original: Callable[..., Any]) -> Callable[..., Any]:
        def __next__(self: Any) -> Any:
            if session.off or session.busy or not session.mine():
                return original(self)
            started = clock()
            tracing, session.tracing = session.tracing, False
            try:
                batch = original(self)
            finally:
                session.tracing = tracing
                seconds = clock() - started
                session.times.data += seconds
            session.fire("batch_loaded", self, batch, seconds)
            return batch

        return __next__

    def around_index(original: Callable[..., Any]) -> Callable[..., Any]:
        def _next_index(self: Any) -> Any:
            index = original(self)
            session.indices_drawn(self, index)
            return index

        return _next_index

    def around_building(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            if not session.off:
                session.registry.note_loader(self, key_here())

        return __init__

    patches.wrap(module.DataLoader, "__init__", around_building)
    patches.wrap(module._BaseDataLoaderIter, "__init__", around_init)
    patches.wrap(module._BaseDataLoaderIter, "_reset", around_reset)
    patches.wrap(module._BaseDataLoaderIter, "__next__", around_next)
    patches.wrap(module._BaseDataLoaderIter, "_next_index", around_index)


def _compilers(session: Session, patches: Patches) -> None:
    """torch.compile is told of; torch.jit.script must not meet our wrappers, so they step aside; what torch captures
    operation by operation (jit.trace, export) must hold nothing of ours."""

    def around_compile(original: Callable[..., Any]) -> Callable[..., Any]:
        def compiling(*args: Any, **kwargs: Any) -> Any:
            session.fire("compiled", args[0] if args else None)
            return original(*args, **kwargs)

        return compiling

    def around_script(original: Callable[..., Any]) -> Callable[..., Any]:
        def script(*args: Any, **kwargs: Any) -> Any:
            aside = Patches()
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
