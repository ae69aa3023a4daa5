"""Optimizers and their learning-rate schedulers."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.optim import lr_scheduler
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from sickbay.observe.patches import Patches
from sickbay.observe.places import here, key_here, user_frame

if TYPE_CHECKING:
    from sickbay.observe.session import Session


def hook_optimizers(session: Session, patches: Patches) -> None:
    Optimizer = torch.optim.Optimizer
    clock = time.perf_counter
    begun: dict[int, float] = {}
    before_closure: dict[int, int] = {}
    idle: weakref.WeakSet[Any] = weakref.WeakSet()
    """Optimizers whose closure runs no backward pass (Lightning's manual optimization gives an empty one): learned on the step before."""

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if session.busy or session.off or not session.mine():
            return
        closure = kwargs.get("closure", args[1] if len(args) > 1 else None) is not None  # args[0] is the optimizer
        if closure:
            before_closure[id(optimizer)] = session.backwards
            closure = optimizer not in idle
        if not session.deaf:
            session.tell("step_begins", optimizer, key_here(), closure)
        session.closure_of, session.evaluations = optimizer if closure else None, 0
        if not closure:  # with one, gradients are still to come
            session.before_update(optimizer)
        begun[id(optimizer)] = clock()

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        session.door, session.closure_of, session.evaluations = None, None, 0
        if session.nap is not None and not session.busy and session.mine() and session.nap.stepped(optimizer):
            return
        started = begun.pop(id(optimizer), None)
        if started is None or session.busy or session.off:
            return
        session.times.optimizer += clock() - started
        if (backwards := before_closure.pop(id(optimizer), None)) is not None:
            (idle.add if session.backwards == backwards else idle.discard)(optimizer)
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
            if session.comparing is not None:
                session.stop_comparing()
            if not session.deaf:
                session.tell("zeroed", self, key_here())
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
