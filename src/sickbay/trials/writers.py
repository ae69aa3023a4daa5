"""Writers that open files in compiled code, led through the ground of a fenced process: torch.save, safetensors, h5py."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sickbay.trials.control import Control
    from sickbay.trials.ground import Ground


def lead(control: Control, ground: Ground) -> None:
    """From now on, in this process."""
    import importlib.util

    import torch

    read = _first(ground.reading)
    control.wrap(torch, "save", _second(ground.writing))
    control.wrap(torch.jit, "save", _second(ground.writing))
    if importlib.util.find_spec("safetensors") is not None:
        import safetensors
        import safetensors.torch as safe

        control.wrap(safe, "serialize_file", _second(ground.writing))
        control.wrap(safe, "safe_open", read)
        control.wrap(safetensors, "safe_open", read)
    if importlib.util.find_spec("h5py") is not None:
        with suppress(Exception):  # one that cannot be imported writes nothing
            import h5py

            control.wrap(h5py.File, "__init__", _h5(ground))


def _first(where: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(path: Any, *args: Any, **kwargs: Any) -> Any:
            return original(where(path), *args, **kwargs)

        return call

    return around


def _second(where: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(what: Any, path: Any = None, *args: Any, **kwargs: Any) -> Any:
            if path is None and "f" in kwargs:
                path = kwargs.pop("f")
            return original(what, where(path), *args, **kwargs)

        return call

    return around


def _h5(ground: Ground) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """HDF5 opens files in compiled code. Its modes: r, r+ and a keep what is there, w makes it anew, x and w- want it to be new."""

    def around(original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def __init__(file: Any, name: Any, mode: str | None = "r", *args: Any, **kwargs: Any) -> None:
            if mode in (None, "r"):
                where = ground.reading(name)
            elif mode in ("x", "w-"):
                where = ground.creating(name)
            else:
                where = ground.writing(name, keep=mode != "w")
            original(file, where, mode, *args, **kwargs)

        return __init__

    return around
