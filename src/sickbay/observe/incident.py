"""Puts an incident together and writes it: batch, inputs, random states, weights and optimizer state, in this order, as far as they fit.

Nothing of the user's is called here but `named_modules`: `state_dict` may have hooks with side effects, so that the same is read from where
it reads it itself.
"""

from __future__ import annotations

import os
import random
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from sickbay import facts
from sickbay.observe.machine import environment
from sickbay.observe.places import user_frame
from sickbay.observe.portable import LEFT_OUT, Packer
from sickbay.observe.variables import result_variables
from sickbay.record.incident import description_beside, tensors_beside, write_description, write_whole

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_SAMPLES, MOST_OPERATIONS = 1024, 60
OUTSIDE = "outside any module"


@dataclass(slots=True)
class Seen:
    """What the black box holds of the step under way."""

    batch: Any = None
    fed: bool | None = None
    """The model was seen to be given this batch."""
    loaders: bool = False
    """The script uses DataLoaders."""
    calls: list[tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)
    let_go: int = 0
    """Earlier calls of the same step that are not held any more."""
    rng: torch.Tensor | None = None
    """Of torch's own generator, when the forward pass began."""
    samples: tuple[int, ...] = ()
    data: tuple[facts.NonfiniteBatch, ...] = ()
    first: facts.FirstInvalid | None = None
    loss: str = ""
    message: str = ""
    graph: tuple[str, ...] = ()
    operations: tuple[facts.Op, ...] = ()


def keep(session: Session, kind: str, seen: Seen, budget: int) -> facts.Incident:
    """Write both files. Raises what writing raises."""
    started = time.perf_counter()
    packer = Packer(budget)
    content: dict[str, Any] = {"id": uuid.uuid4().hex}
    made = replace(_circumstances(session, kind, seen), id=content["id"], budget=budget)
    content["batch"], made = _batch(packer, seen, made)
    content["inputs"], made = _inputs(packer, session, seen, made)
    content["rng"], made = _rng(packer, seen, made)
    if kind != "crash":
        content["weights"] = _weights(packer, session, seen.first)
        content["optimizer"] = _optimizers(packer, session)
        if kind == "weight":
            made = replace(made, weights="after")
    made = replace(made, kept=tuple(packer.kept), missing=tuple(packer.missing))
    path = tensors_beside(session.recording.path)
    size = write_whole(path, lambda f: torch.save(content, f))
    made = replace(made, file=path.name, bytes=size, seconds=time.perf_counter() - started)
    write_description(description_beside(session.recording.path), made)
    return made


def _circumstances(session: Session, kind: str, seen: Seen) -> facts.Incident:
    optimizers = [o for entry in session.registry.optimizers if (o := entry.ref()) is not None]
    rates = [o.param_groups[0].get("lr") for o in optimizers if o.param_groups]
    return facts.Incident(
        kind=kind,
        step=session.step,
        epoch=session.epoch if session.epoch >= 0 else None,
        loss=seen.loss,
        rates=tuple(float(r) for r in rates if isinstance(r, (int, float))),
        message=seen.message,
        time=time.time(),
        script=os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else "",
        argv=tuple(sys.argv[1:]),
        cwd=os.getcwd(),
        variables=result_variables(os.environ),
        environment=environment(),
        first=seen.first,
        data=seen.data,
        samples=seen.samples[:MOST_SAMPLES],
        operations=seen.operations[:MOST_OPERATIONS],
        graph=seen.graph[:MOST_OPERATIONS],
    )


def _batch(packer: Packer, seen: Seen, made: facts.Incident) -> tuple[Any, facts.Incident]:
    if seen.batch is None:
        if seen.loaders:
            packer.lacks("batch", "no DataLoader gave one in this step; what the model was given is in the inputs")
        return None, made
    packer.begin("batch")
    packed = packer.pack(seen.batch, describe=True)
    packer.end()
    return packed, replace(made, batch=tuple(packer.told), fed=seen.fed)


def _inputs(packer: Packer, session: Session, seen: Seen, made: facts.Incident) -> tuple[Any, facts.Incident]:
    if not seen.calls:
        packer.lacks("inputs", "no call of a model was seen in this step")
        return [], made
    if seen.first is not None and (ago := seen.first.passes_ago):
        before = "the pass before" if ago == 1 else f"{ago} backward passes before"
        packer.lacks("inputs", f"several backward passes make this update: what is kept is of the last one, the value came up {before}")
    if seen.let_go:
        packer.lacks(
            "inputs", f"the model was called {len(seen.calls) + seen.let_go:,} times in this step; only the last {len(seen.calls)} calls are kept"
        )
    packed, told = [], []
    packer.begin("inputs")
    for module, args, kwargs in seen.calls:
        name = name_of(session, module)
        packer.told = []
        arguments = packer.pack(tuple(args), describe=True)
        named = packer.pack(dict(kwargs), "kwargs", describe=True)
        packed.append({"model": name, "args": arguments, "kwargs": named})
        told.append(facts.ModelGiven(model=name, tensors=tuple(packer.told), stateless=next(_state(module), None) is None))
    packer.end()
    return packed, replace(made, inputs=tuple(told))


def name_of(session: Session, module: torch.nn.Module) -> str:
    """The user's name for a model, where there are several; else its class."""
    known = session.registry.layer_name(module) if session.registry.knows(module) else ""
    return known or type(module).__name__


def _rng(packer: Packer, seen: Seen, made: facts.Incident) -> tuple[dict[str, Any], facts.Incident]:
    """numpy's state takes ten times longer to read than torch's, and Python's too: those are taken now, and torch's when the forward pass began."""
    legacy: dict[str, Any] = dict(np.random.get_state(legacy=False))
    numpy_state = legacy["state"]
    states: dict[str, Any] = {
        "torch": seen.rng if seen.rng is not None else torch.get_rng_state(),
        "numpy": (
            str(legacy["bit_generator"]),
            torch.from_numpy(np.asarray(numpy_state["key"]).astype(np.int64)),
            int(numpy_state["pos"]),
            int(legacy["has_gauss"]),
            float(legacy["gauss"]),
        ),
        "python": random.getstate(),
    }
    taken = {"torch": "forward" if seen.rng is not None else "incident", "numpy": "incident", "python": "incident"}
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"], taken["cuda"] = torch.cuda.get_rng_state_all(), "incident"
    packer.begin("rng")
    packed = packer.pack(states)
    packer.end()
    return packed, replace(made, rng=taken)


def _weights(packer: Packer, session: Session, first: facts.FirstInvalid | None) -> dict[str, dict[str, Any]]:
    """State dicts of all models, and trained tensors that no module holds. Where there is not room for all, what is nearest the incident comes first."""
    packer.begin("weights")
    found: dict[str, dict[str, Any]] = {}
    order: list[tuple[str, str, torch.Tensor]] = []
    inside = set()
    for module, _ in session.registry.root_modules():
        name = name_of(session, module)
        while name in found:
            name += "'"
        found[name] = {}
        for path, tensor in _state(module):
            order.append((name, path, tensor))
            inside.add(id(tensor))
    for tensor, entry in session.registry.entries():
        if id(tensor) not in inside and tensor.requires_grad:
            found.setdefault(OUTSIDE, {})
            order.append((OUTSIDE, entry.name, tensor))
            inside.add(id(tensor))
    for tensor, name in session.registry.newcomers(user_frame()):
        if id(tensor) not in inside:
            found.setdefault(OUTSIDE, {})
            order.append((OUTSIDE, name, tensor))
    packed = {(name, path): packer.pack(tensor, f"{path}" if len(found) == 1 else f"{name}: {path}") for name, path, tensor in _nearest(order, first)}
    for name, path, _ in order:
        if isinstance(value := packed[(name, path)], torch.Tensor):
            found[name][path] = value
    packer.end()
    return found


def _state(module: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """What `module.state_dict()` would give, without its hooks."""
    for path, child in module.named_modules(remove_duplicate=False):
        prefix = path + "." if path else ""
        for name, tensor in (*child._parameters.items(), *child._buffers.items()):
            if tensor is not None and name not in child._non_persistent_buffers_set:
                yield prefix + name, tensor


def _nearest(order: list[tuple[str, str, torch.Tensor]], first: facts.FirstInvalid | None) -> list[tuple[str, str, torch.Tensor]]:
    """From the layer of the first invalid operation outwards; if that is not known, from the output back."""
    layer = first.place.layer if first is not None and first.place is not None and first.place.layer else first.name if first is not None else ""
    at = next((i for i, (_, path, _) in enumerate(order) if layer and (path == layer or path.startswith(layer + "."))), len(order))
    return [order[i] for i in sorted(range(len(order)), key=lambda i: abs(i - at))]


def _optimizers(packer: Packer, session: Session) -> list[Any]:
    """As `optimizer.state_dict()` has it, without its hooks: parameters are told by their number."""
    packer.begin("optimizer")
    packed = []
    for entry in session.registry.optimizers:
        if (optimizer := entry.ref()) is None:
            continue
        numbers: dict[int, int] = {}
        groups = []
        for group in optimizer.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            groups.append({k: v for k, v in group.items() if k != "params"} | {"params": [numbers[id(p)] for p in group["params"]]})
        state = {numbers[id(p)]: s for p, s in optimizer.state.items() if id(p) in numbers}
        whole = {number: kept for number, own in state.items() if _whole(kept := packer.pack(own, f"[{number}]"))}
        packed.append({"kind": entry.kind, "state": whole, "param_groups": packer.pack(groups)})
    packer.end()
    return packed


def _whole(state: Any) -> bool:
    """Half the state of a parameter is worse than none: the optimizer would fail on it, or go on as if it were all."""
    return not (isinstance(state, dict) and any(isinstance(v, str) and v.startswith(LEFT_OUT) for v in state.values()))
