"""A double of the user's model, for experiments: the same structure and weights, with all state its own.

The user's modules are never run, switched or written to. Every module gets a stand-in of the same class whose attributes are
copied one by one: weights and buffers as clones (large ones are lent, see lent.py), lists and dictionaries as copies, submodules as
stand-ins. Whatever the forward pass changes (running statistics, counters, caches, a hidden state kept on `self`) it changes in the double.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import torch

from sickbay.observe.probes.lent import LARGE, Lent
from sickbay.observe.probes.outside import Outside

MOST_BYTES = 256 * 2**20
"""Of weights and buffers that are copied; no more than that, so that we never are the reason for running out of memory."""
MOST_DEPTH = 4
_PLAIN = (int, float, complex, str, bytes, bool, type(None), torch.dtype, torch.device, torch.Size, torch.layout, type, slice, range)


class NoDouble(Exception):
    """The model cannot be doubled, or not without doing something that the user would notice."""


class Double:
    """The stand-ins of a model and all its parts; `original` leads back."""

    def __init__(self, model: torch.nn.Module, lends: bool = True) -> None:
        self._made: dict[int, Any] = {}
        self._originals: dict[int, torch.nn.Module] = {}
        self.lent = Lent()
        self._lends = lends
        _check(model, LARGE if lends else None)
        self._outside = Outside(model)
        self.model: torch.nn.Module = self._module(model)

    def original(self, stand_in: torch.nn.Module) -> torch.nn.Module | None:
        return self._originals.get(id(stand_in))

    def put_back(self) -> bool:
        """Put back what the double changed outside of itself; whether there was anything."""
        return self._outside.put_back()

    # -- copying ------------------------------------------------------------------------------------------------

    def _module(self, module: torch.nn.Module) -> Any:
        if (known := self._made.get(id(module))) is not None:
            return known
        stand_in = object.__new__(type(module))
        self._made[id(module)] = stand_in
        self._originals[id(stand_in)] = module
        own: dict[str, Any] = {}
        object.__setattr__(stand_in, "__dict__", own)
        for name, value in vars(module).items():
            own[name] = self._copy(value, 0)
        own["training"] = False
        return stand_in

    def _copy(self, value: Any, depth: int) -> Any:
        if isinstance(value, _PLAIN):
            return value
        if isinstance(value, torch.nn.Module):
            return self._module(value)
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if isinstance(value, (list, tuple, set, frozenset, deque, dict)) and depth < MOST_DEPTH:
            return self._container(value, depth)
        if isinstance(value, torch.Generator):
            raise NoDouble("it draws from a generator of its own")
        self._outside.note(value)  # objects are not copied
        return value

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if (known := self._made.get(id(tensor))) is not None:
            return known  # type: ignore[no-any-return]
        if type(tensor).__name__ not in ("Tensor", "Parameter", "Buffer"):
            raise NoDouble(f"it holds a {type(tensor).__name__}")
        copy = self.lent.lend(tensor) if self._lends and tensor.nbytes >= LARGE else tensor.detach().clone()
        if isinstance(tensor, torch.nn.Parameter):
            copy = torch.nn.Parameter(copy, requires_grad=False)
        self._made[id(tensor)] = copy
        return copy

    def _container(self, value: Any, depth: int) -> Any:
        if isinstance(value, dict):
            items = {k: self._copy(v, depth + 1) for k, v in value.items()}
            return items if type(value) is dict else _same_kind(value, items)
        items_of = [self._copy(v, depth + 1) for v in value]
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*items_of)
        return _same_kind(value, items_of)


def _same_kind(value: Any, items: Any) -> Any:
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(items)
    if type(value) is deque:
        return deque(items, maxlen=value.maxlen)
    copy = value.copy()  # an OrderedDict or a class of the user's
    if isinstance(value, dict):
        copy.clear()
        copy.update(items)
        return copy
    raise NoDouble(f"it keeps a {type(value).__name__}")


def _check(model: torch.nn.Module, lent_from: int | None) -> None:
    """Whatever would make the double run something of the user's, or something that is not Python."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        raise NoDouble("the run is distributed")
    size = 0
    for module in model.modules():
        kind = type(module)
        if isinstance(module, torch.jit.ScriptModule) or module._compiled_call_impl is not None or kind.__name__ == "OptimizedModule":
            raise NoDouble("it is compiled")
        if module._forward_hooks or module._forward_pre_hooks:
            raise NoDouble("it has hooks")
        if isinstance(module, torch.nn.parallel.DataParallel) and module.device_ids:  # on a CPU it only calls what it wraps
            raise NoDouble("it is spread over devices")
    every = torch.nn.modules.module
    if every._global_forward_hooks or every._global_forward_pre_hooks:
        raise NoDouble("hooks are registered for all modules")
    for tensor in _tensors(model):
        size += tensor.nbytes if lent_from is None or tensor.nbytes < lent_from else 0
        if tensor.layout != torch.strided or tensor.is_meta:
            raise NoDouble("it holds sparse or empty weights")
    if size > MOST_BYTES:
        raise NoDouble("it is large")


def _tensors(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    yield from model.parameters()
    yield from model.buffers()
    for module in model.modules():
        yield from (v for v in vars(module).values() if isinstance(v, torch.Tensor))
