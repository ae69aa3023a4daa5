"""The scene of a crash: which operation failed, in which layer, on which tensors.

Nothing is watched for this while the run goes well: the traceback still holds every frame from the user's line down to the operation, with all of
its variables. Each part of the examination may fail (a device that is gone, a proxy that will not say what it is): the others are told without it.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.crash_graph import attached, gone_through, overwritten
from sickbay.observe.crash_indices import bad_indices
from sickbay.observe.crash_memory import memory_use, ran_out
from sickbay.observe.places import OWN, USER, expression_of, kind_of, place_of
from sickbay.observe.resolving import tensors_in, value_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_TENSORS = 8
_PASS_ON = frozenset("_call_impl _wrapped_call_impl __torch_function__ handle_torch_function __call__ fn wrapper _fn decorate_context".split())
"""Frames of torch that hand a call on and have nothing of their own to tell."""
_TORCH = f"{os.sep}torch{os.sep}"
_CALLED = tuple(_TORCH + part for part in (f"nn{os.sep}", "functional.py", "_tensor.py", f"autograd{os.sep}"))
"""Where the functions are that users call: their arguments are the user's tensors."""


class Scene:
    """The frames of a traceback, outermost first, without our own."""

    def __init__(self, trace: TracebackType | None) -> None:
        self.frames: list[tuple[FrameType, int]] = []
        while trace is not None:
            if not trace.tb_frame.f_code.co_filename.startswith(OWN):
                self.frames.append((trace.tb_frame, trace.tb_lasti))
            trace = trace.tb_next

    @property
    def user(self) -> list[tuple[FrameType, int]]:
        return [(f, i) for f, i in self.frames if kind_of(f.f_code) == USER]

    @property
    def inner(self) -> list[FrameType]:
        """Torch's frames below the user's last one, innermost first."""
        below = []
        for frame, _ in reversed(self.frames):
            if kind_of(frame.f_code) == USER:
                break
            if _TORCH in frame.f_code.co_filename and frame.f_code.co_name not in _PASS_ON:
                below.append(frame)
        return below

    @property
    def modules(self) -> list[torch.nn.Module]:
        """Modules whose forward was under way, outermost first."""
        found: list[torch.nn.Module] = []
        for frame, _ in self.frames:
            owner = frame.f_locals.get("self")
            if isinstance(owner, torch.nn.Module) and frame.f_code.co_name in ("forward", "_call_impl") and all(owner is not m for m in found):
                found.append(owner)
        return found

    @property
    def call(self) -> str:
        """The user's expression that failed."""
        return expression_of(self.user[-1][0].f_code, self.user[-1][1]) if self.user else ""


def examined(session: Session, crash: facts.Crash, trace: TracebackType | None) -> facts.Crash:
    """The crash with all that its scene tells."""
    scene = Scene(trace)
    busy, session.busy = session.busy, True
    try:
        with torch._C.DisableTorchFunction(), torch.no_grad():
            for part in (_operation, _layer, _entrance, _tensors, _indices, _reshaped, _graph, _memory):
                with suppress(Exception):
                    crash = part(session, crash, scene)
    finally:
        session.busy = busy
    for place in facts.places_in(crash):
        session.keep_source(place)
    return crash


def _operation(session: Session, crash: facts.Crash, scene: Scene) -> facts.Crash:
    call = scene.call
    return replace(crash, call=call, operation=_innermost(scene) or _called(call))


def _innermost(scene: Scene) -> str:
    for frame in scene.inner:
        name = frame.f_code.co_name
        if name in ("forward", "_conv_forward", "forward_impl"):
            return type(frame.f_locals.get("self")).__name__
        if name == "_engine_run_backward":
            return "backward"
        if not name.startswith("_") and os.path.basename(frame.f_code.co_filename) == "functional.py":
            return name
    return ""


def _called(call: str) -> str:
    with suppress(SyntaxError, ValueError):
        node = ast.parse(call.strip(), mode="eval").body
        if isinstance(node, ast.Call):
            return node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id if isinstance(node.func, ast.Name) else ""
        if isinstance(node, ast.Subscript):
            return "index"
        if isinstance(node, ast.BinOp):
            return type(node.op).__name__.lower()
    return ""


def _layer(session: Session, crash: facts.Crash, scene: Scene) -> facts.Crash:
    criteria = torch.nn.modules.loss._Loss
    chain = [m for m in scene.modules if not isinstance(m, criteria)]
    if not chain:
        return crash
    inner = chain[-1]
    built = session.registry.built_at(inner)
    return replace(
        crash,
        layer=_path(session, chain),
        layer_kind=type(inner).__name__,
        layer_text=repr(inner)[:200] if type(inner).__module__.startswith("torch.") and not inner._modules else "",
        layer_built_at=place_of(*built) if built is not None else None,
    )


def _path(session: Session, chain: list[torch.nn.Module]) -> str:
    inner = chain[-1]
    if session.registry.knows(inner):
        return session.registry.layer_name(inner)
    paths = (path for outer in chain for path, child in outer.named_modules() if child is inner and path)
    return next(paths, type(inner).__name__)


def _entrance(session: Session, crash: facts.Crash, scene: Scene) -> facts.Crash:
    """The user's line that called the outermost module."""
    last: Place | None = None
    for frame, instruction in scene.frames:
        if kind_of(frame.f_code) == USER:
            last = place_of(frame.f_code, instruction)
        elif issubclass(type(owner := frame.f_locals.get("self")), torch.nn.Module) and frame.f_code.co_name in _PASS_ON | {"forward"}:
            return crash if isinstance(owner, torch.nn.modules.loss._Loss) else replace(crash, entered_at=last)
    return crash


def _tensors(session: Session, crash: facts.Crash, scene: Scene) -> facts.Crash:
    named = _named(scene)
    entered = _entered(scene)
    found = _given(scene) or [("", t) for _, t in named]
    unique = {id(t): (role, t) for role, t in reversed(found)}
    tensors = list(reversed(unique.values()))[:MOST_TENSORS]
    names = {id(t): name for name, t in reversed(named)}
    return replace(crash, tensors=tuple(_tensor(session, role, t, names.get(id(t), ""), id(t) in entered) for role, t in tensors))


def _given(scene: Scene) -> list[tuple[str, torch.Tensor]]:
    """What the innermost frame of torch's that has tensors was given, with its names for them; a layer's own weights besides."""
    for frame in (f for f in scene.inner if any(part in f.f_code.co_filename for part in _CALLED)):
        held = dict(frame.f_locals)
        owner = held.pop("self", None)
        found = [(name, v) for name, value in held.items() for v in _flat(value)]
        if issubclass(type(owner), torch.nn.Module):
            found += list(owner.named_parameters(recurse=False))
        if found:
            return found
    return []


def _flat(value: Any) -> Iterator[torch.Tensor]:
    if issubclass(type(value), torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value[:4]:
            if issubclass(type(item), torch.Tensor):
                yield item


def _named(scene: Scene) -> list[tuple[str, torch.Tensor]]:
    """The tensors in the user's failing expression, by the user's names."""
    if not scene.user:
        return []
    frame, _ = scene.user[-1]
    return tensors_in(scene.call, frame)


def _entered(scene: Scene) -> set[int]:
    for frame, _ in scene.frames:
        owner = frame.f_locals.get("self")
        if frame.f_code.co_name in ("_call_impl", "_wrapped_call_impl") and not isinstance(owner, torch.nn.modules.loss._Loss):
            given = (*frame.f_locals.get("args", ()), *frame.f_locals.get("kwargs", {}).values())
            return {id(t) for value in given for t in _flat(value)}
    return set()


def _tensor(session: Session, role: str, t: torch.Tensor, variable: str, entered: bool) -> facts.CrashTensor:
    entry = session.registry.entry(t)
    node = session.trace.nodes[i] if session.trace is not None and (i := session.trace.maker(t)) is not None else None
    layer = node.layer() if node is not None and node.layer is not None else None
    return facts.CrashTensor(
        role=role,
        variable=variable,
        shape=tuple(t.shape),
        dtype=str(t.dtype).removeprefix("torch."),
        device=str(t.device),
        parameter=entry.name if entry is not None else role if isinstance(t, torch.nn.Parameter) else "",
        made_by=node.name if node is not None else "",
        made_in=session.registry.layer_name(layer) if layer is not None else "",
        made_at=place_of(*node.key) if node is not None and node.key is not None else None,
        entered=entered,
    )


def _indices(session: Session, crash: facts.Crash, scene: Scene) -> facts.Crash:
    held = {name: value for frame in reversed(scene.inner) for name, value in frame.f_locals.items()}
    frame = scene.user[-1][0] if scene.user else None
    resolve: Callable[[ast.AST], Any] = lambda node: value_of(node, frame) if frame is not None else None  # noqa: E731
    found = bad_indices(crash, held, resolve, _samples(session))
    if found is None:
        return crash
    variable = next((t.variable for t in crash.tensors if t.variable and t.shape == found.shape and t.dtype == found.dtype), "")
    return replace(crash, indices=_with_outputs(session, replace(found, variable=variable)))


def _with_outputs(session: Session, bad: facts.BadIndices) -> facts.BadIndices:
    """Labels of a loss are legal by the width of the layer that makes the predictions: the last one of that width."""
    if bad.function not in ("cross_entropy", "nll_loss"):
        return bad
    for root, _ in session.registry.root_modules():
        for layer in reversed(list(root.modules())):
            weight = layer._parameters.get("weight")
            if weight is not None and weight.dim() >= 2 and weight.shape[0] == bad.allowed:
                built = session.registry.built_at(layer)
                at = place_of(*built) if built is not None else None
                return replace(bad, outputs=session.registry.layer_name(layer), outputs_kind=type(layer).__name__, outputs_at=at)
    return bad


def _samples(session: Session) -> Any:
    """The data set indices of the newest batch, where a loader told them."""
    watch = next((o for o in session.observers if o.name == "batches"), None)
    return getattr(watch, "indices", None)


def _reshaped(session: Session, crash: facts.Crash, scene: Scene) -> facts.Crash:
    """Where predictions ceased to have one row per sample: the operation of the trace that changed their first dimension."""
    held = {name: value for frame in reversed(scene.inner) for name, value in frame.f_locals.items()}
    output, target, trace = held.get("input"), held.get("target"), session.trace
    if not isinstance(output, torch.Tensor) or not isinstance(target, torch.Tensor) or trace is None or not target.dim() or not output.dim():
        return crash
    maker, rows = trace.maker(output), target.shape[0]
    for node in trace.ancestors(maker) if maker is not None and output.shape[0] != rows else ():
        if node.shape[:1] != (rows,) and any(s[:1] == (rows,) for s in node.shapes) and node.key is not None:
            return replace(crash, reshaped_at=place_of(*node.key), reshaped_by=node.name)
    return crash


def _graph(session: Session, crash: facts.Crash, scene: Scene) -> facts.Crash:
    crash = overwritten(session, crash)
    if crash.operation == "backward":
        crash = replace(gone_through(session, crash), attached=tuple(attached(session, scene.user)))
    return crash


def _memory(session: Session, crash: facts.Crash, scene: Scene) -> facts.Crash:
    return replace(crash, memory=memory_use(session, crash.message, scene.user)) if ran_out(crash.kind, crash.message) else crash
