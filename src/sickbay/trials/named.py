"""Layers by their names in the user's model."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from sickbay.trials.control import Call, Control


def around_layers(control: Control, names: Collection[str], around: Callable[[Call, tuple[Any, ...], dict[str, Any]], Any]) -> None:
    """Around every call of the layers of these names (of the model that the script calls), not inside torch.compile."""
    import torch

    wanted: WeakKeyDictionary[torch.nn.Module, bool] = WeakKeyDictionary()
    searched: WeakKeyDictionary[torch.nn.Module, bool] = WeakKeyDictionary()

    def search(root: torch.nn.Module) -> None:
        searched[root] = True
        for name, module in root.named_modules():
            if name.removeprefix("_orig_mod.").removeprefix("module.") in names:
                wanted[module] = True

    def door(original: Call, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if module not in searched:
            search(module)
        return original(module, *args, **kwargs)

    def wrapper(original: Call) -> Call:
        def __call__(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if control.session.busy or module not in wanted:
                return original(module, *args, **kwargs)
            return around(partial(original, module), args, kwargs)

        return __call__

    control.wrap(torch.nn.Module, "__call__", wrapper)
    control.model_calls(door)
