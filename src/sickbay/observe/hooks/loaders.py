"""Data loaders."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sickbay.observe.patches import Patches
from sickbay.observe.places import key_here, user_frame

if TYPE_CHECKING:
    from sickbay.observe.session import Session


def hook_loaders(session: Session, patches: Patches) -> None:
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
            before, session.tracing, session.loading = (session.tracing, session.loading), False, True
            try:
                batch = original(self)
            finally:
                session.tracing, session.loading = before
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
