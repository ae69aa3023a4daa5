"""How a training begins: so much that two that begin alike can be told from two that differ in what they are given. Only hashes are kept."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.places import USER, kind_of, place_of
from sickbay.observe.registry import sample
from sickbay.observe.syntax import loops_around

BLOCK = 64
PLAIN = (int, float, str, bool, bytes, type(None))
TALKING = frozenset({"print", "info", "write", "debug", "log", "set_description", "warning"})
"""Calls that tell which round it is, and change nothing."""


def begun(step: int, place: Place, optimizer: torch.optim.Optimizer, frame: FrameType | None, states: dict[str, str]) -> facts.Start:
    tensors = [t for group in optimizer.param_groups for t in group["params"]]
    numbers = [{k: v for k, v in group.items() if isinstance(v, (*PLAIN, tuple))} for group in optimizer.param_groups]
    given = (type(optimizer).__name__, repr(numbers), *(part for f in _frames(frame) for part in _given(f)))
    weights = digest(*map(_tensor, tensors)) if all(t.is_cpu for t in tensors) else ""  # to look at others would make the device wait
    return facts.Start(step=step, place=place, weights=weights, given=digest(*given), states=states)


def digest(*parts: Any) -> str:
    return hashlib.blake2b("\x00".join(map(str, parts)).encode(), digest_size=8).hexdigest()


def _frames(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        if kind_of(frame.f_code) == USER:
            yield frame
        frame = frame.f_back


def _given(frame: FrameType) -> Iterator[str]:
    """What a function was called with, and what the loops around its line have set, where they use it."""
    code, names = frame.f_code, frame.f_locals
    for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        yield f"{name}={_value(names.get(name))}"
    place = place_of(code, frame.f_lasti)
    for loop in loops_around(place.file or "", place.line or 0):
        if isinstance(loop, ast.For):
            for name in {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)} & _used(loop):
                yield f"{name}={_value(names.get(name))}"


def _used(loop: ast.For) -> set[str]:
    """Names that the body of a loop uses for more than to tell of them."""
    said = {id(n) for s in loop.body for c in ast.walk(s) if isinstance(c, ast.Call) and _called(c) in TALKING for n in ast.walk(c)}
    return {n.id for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name) and id(n) not in said}


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id if isinstance(call.func, ast.Name) else ""


def _value(value: Any) -> str:
    """Plain values and numbers by what they are, weights not at all (they are compared by themselves), everything else by which object it is."""
    if isinstance(value, PLAIN):
        return repr(value)[:200]
    if isinstance(value, torch.Tensor) and value.is_cpu:
        return _tensor(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return digest(value.shape, value.reshape(-1)[:: max(value.size // BLOCK, 1)].tolist())
    if isinstance(value, (torch.nn.Module, torch.optim.Optimizer)):
        return type(value).__name__
    if type(value) in (list, tuple, dict) and len(value) <= BLOCK:
        return digest(type(value).__name__, *(_value(v) for v in (value.items() if isinstance(value, dict) else value)))
    return f"{type(value).__name__} {id(value)}"


def _tensor(tensor: torch.Tensor) -> str:
    return digest(tuple(tensor.shape), sample(tensor, BLOCK).tolist()) if tensor.numel() else digest(tuple(tensor.shape))
