"""Crashes of the backward pass: what was overwritten and where, whose graph was gone through a second time."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.places import expression_of, place_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session
    from sickbay.observe.trace import Write

OVERWRITTEN = re.compile(
    r"modified by an inplace operation: \[[\w.]+ ?(\[[\d, ]*\])?\](?:, which is output (\d+) of (\w+))?, is at version (\d+); expected version (\d+)"
)
MOST_ATTACHED = 32


def overwritten(session: Session, crash: facts.Crash) -> facts.Crash:
    """Who wrote into the tensor that autograd's message describes: an operation of the traced forward pass, or an optimizer."""
    found = OVERWRITTEN.search(crash.message)
    if found is None:
        return crash
    shape = tuple(int(n) for n in re.findall(r"\d+", found[1] or ""))
    version, expected = int(found[4]), int(found[5])
    trace = session.trace
    writes = [w for w in trace.writes if expected < w.version <= version] if trace is not None else []
    same = [w for w in writes if w.shape == shape] or [w for w in writes if w.elements == _count(shape)] or [w for w in writes if w.view]
    crash = replace(crash, writes=tuple(_told(session, w) for w in same[:8]), needed_at=_made_at(session, found[3] or "", shape))
    return crash if same else _stepped(session, crash, shape, version)


def _count(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())


def _told(session: Session, write: Write) -> facts.InplaceWrite:
    layer = write.layer() if write.layer is not None else None
    built = session.registry.built_at(layer) if layer is not None and getattr(layer, "inplace", False) is True else None
    return facts.InplaceWrite(
        built_at=place_of(*built) if built is not None else None,
        operation=write.name,
        layer=session.registry.layer_name(layer) if layer is not None else "",
        place=place_of(*write.key) if write.key is not None else None,
        call=expression_of(*write.key) if write.key is not None else "",
        shape=write.shape,
        version=write.version,
    )


def _made_at(session: Session, node_name: str, shape: tuple[int, ...]) -> Any:
    """The line of the operation that made the overwritten tensor: the only one of its kind and shape."""
    wanted = node_name.partition("Backward")[0].lower()
    nodes = session.trace.nodes if session.trace is not None else []
    keys = {n.key for n in nodes if wanted and n.name.replace("_", "") == wanted and n.shape == shape and n.key is not None}
    return place_of(*keys.pop()) if len(keys) == 1 else None


def _stepped(session: Session, crash: facts.Crash, shape: tuple[int, ...], version: int) -> facts.Crash:
    """A weight of that shape (a linear layer saves it turned round) that was changed this often, and the optimizer that holds it."""
    shapes = {shape, tuple(reversed(shape))}
    fitting = [(t, e) for t, e in session.registry.entries() if tuple(t.shape) in shapes and t._version == version and e.optimizer is not None]
    if not fitting:
        return crash
    index = fitting[0][1].optimizer
    optimizer = next((o for o in session.registry.optimizers if o.index == index), None)
    if optimizer is None or not optimizer.steps:
        return crash
    names = tuple(e.name for _, e in fitting if e.optimizer == index)
    return replace(crash, stepped=names, stepped_at=optimizer.stepped_at)


def gone_through(session: Session, crash: facts.Crash) -> facts.Crash:
    """Where backward had been called before."""
    here = session.site
    others = tuple(s.place for s in session.sites.values() if s is not here and s.place is not None and s.place != crash.place)
    return replace(crash, backwards=here.backwards if here is not None else 0, others=others[:8])


def attached(session: Session, frames: list[tuple[FrameType, int]]) -> Iterator[facts.Attached]:
    """The user's variables that had a graph behind them, and what their modules hold."""
    told: set[tuple[str, str, str]] = set()
    for name, value, file, function in (*_variables(frames), *_held(session)):
        tensor = next((t for t in _tensors(value) if t.grad_fn is not None), None)
        if tensor is None or tensor.grad_fn is None or (name, file, function) in told or len(told) >= MOST_ATTACHED:
            continue
        told.add((name, file, function))
        several, operation = not isinstance(value, torch.Tensor), tensor.grad_fn.name()
        yield facts.Attached(name=name, shape=tuple(tensor.shape), operation=operation, several=several, file=file, function=function)


def _variables(frames: list[tuple[FrameType, int]]) -> Iterator[tuple[str, Any, str, str]]:
    for frame, _ in reversed(frames):
        held = getattr(frame.f_locals.get("self"), "__dict__", None)
        attributes = [(f"self.{name}", value) for name, value in held.items()] if type(held) is dict else []
        for name, value in (*frame.f_locals.items(), *attributes):
            yield str(name), value, frame.f_code.co_filename, frame.f_code.co_name


def _held(session: Session) -> Iterator[tuple[str, Any, str, str]]:
    for root, _ in session.registry.root_modules():
        for module in root.modules():
            file = getattr(sys.modules.get(type(module).__module__), "__file__", "") or ""
            for name, value in list(vars(module).items()):
                if not name.startswith("_"):
                    yield f"self.{name}", value, file, type(module).__name__


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if issubclass(type(value), torch.Tensor):
        yield value
    elif type(value) in (list, tuple):
        for item in value[-4:]:
            yield from _tensors(item)
    elif type(value) is dict:
        for item in list(value.values())[:8]:
            yield from _tensors(item) if issubclass(type(item), torch.Tensor) else ()
