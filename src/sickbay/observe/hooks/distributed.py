"""Process groups, collectives and what keeps replicas alike. Nothing is ever sent by us: these only tell that the script did."""

from __future__ import annotations

import functools
import importlib
import multiprocessing.process
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from sickbay.observe.endings import note_crash, without_us
from sickbay.observe.patches import Patches
from sickbay.observe.places import key_here

if TYPE_CHECKING:
    from sickbay.observe.session import Session

COLLECTIVES = (
    "all_reduce",
    "all_reduce_coalesced",
    "broadcast",
    "reduce",
    "all_gather",
    "all_gather_into_tensor",
    "all_gather_single",
    "gather",
    "scatter",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "reduce_scatter_single",
    "all_to_all",
    "all_to_all_single",
    "send",
    "recv",
    "isend",
    "irecv",
    "barrier",
    "monitored_barrier",
)
OWN_CALLS = ("torch.nn.modules._functions",)
"""Modules of torch whose collectives say nothing of the script's own way to train: batch normalisation over all ranks."""


def hook_distributed(session: Session, patches: Patches) -> None:
    _processes(session, patches)
    if not torch.distributed.is_available():
        return
    from torch.distributed import distributed_c10d
    from torch.distributed.algorithms.join import Join

    for name in COLLECTIVES:
        original = getattr(distributed_c10d, name, None)
        if original is not None:
            wrapper = _collective(session, name)
            patches.wrap(distributed_c10d, name, wrapper)
            if getattr(torch.distributed, name, None) is original:
                patches.replace(torch.distributed, name, getattr(distributed_c10d, name))
    original = distributed_c10d.init_process_group
    patches.wrap(distributed_c10d, "init_process_group", _joining(session))
    if torch.distributed.init_process_group is original:
        patches.replace(torch.distributed, "init_process_group", distributed_c10d.init_process_group)
    patches.wrap(torch.nn.parallel.DistributedDataParallel, "__init__", _wrapping(session))
    patches.wrap(Join, "__enter__", _joined(session))


def _collective(session: Session, name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    clock = time.perf_counter
    is_compiling = torch.compiler.is_compiling

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def collective(*args: Any, **kwargs: Any) -> Any:
            if is_compiling() or session.off or session.busy or session.talking or not session.mine():
                return original(*args, **kwargs)
            started = clock()
            session.talking = True
            try:
                return original(*args, **kwargs)
            finally:
                session.talking = False
                if not session.asleep and sys._getframe(1).f_globals.get("__name__") not in OWN_CALLS:
                    seconds = clock() - started
                    session.fire("collective", name, (*args, *kwargs.values()), key_here(), seconds)

        return collective

    return around


def _joining(session: Session) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def init_process_group(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            watching = _forked() if session.off else session
            if watching is not None and not watching.busy:
                watching.fire("group_joined", kwargs.get("init_method", args[1] if len(args) > 1 else None))
            return result

        return init_process_group

    return around


def _forked() -> Session | None:
    """The session of this process, if it was forked and now turns out to be a rank."""
    from sickbay.observe import bootstrap, starting

    try:
        return starting.follow_fork()
    except Exception as e:
        bootstrap.tell(e)
        return None


def _wrapping(session: Session) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            if not session.off and not session.busy:
                session.fire("wrapped", self, key_here())

        return __init__

    return around


def _joined(session: Session) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(self: Any) -> Any:
            if not session.off and not session.busy:
                session.fire("uneven_expected")
            return original(self)

        return __enter__

    return around


def _processes(session: Session, patches: Patches) -> None:
    """What ends a process that `multiprocessing` or `torch.multiprocessing.spawn` started: both catch the exception before Python would tell of it."""

    def around_run(original: Callable[..., Any]) -> Callable[..., Any]:
        def run(self: Any) -> Any:
            return _told(session, original, self)

        return run

    def around_spawned(original: Callable[..., Any]) -> Callable[..., Any]:
        def _wrap(function: Any, index: Any, *rest: Any) -> Any:
            return original(functools.partial(_told, session, function), index, *rest)

        return _wrap

    patches.wrap(multiprocessing.process.BaseProcess, "run", around_run)
    patches.wrap(importlib.import_module("torch.multiprocessing.spawn"), "_wrap", around_spawned)


def _told(session: Session, function: Callable[..., Any], *args: Any) -> Any:
    """Call it; an exception is noted, and goes on as if we had not been there."""
    try:
        return function(*args)
    except BaseException as error:
        if not isinstance(error, (SystemExit, KeyboardInterrupt)):
            from sickbay.observe import starting  # a forked rank has a session of its own by now

            note_crash(starting.current or session, error)
        error.__traceback__ = without_us(error.__traceback__)
        raise
