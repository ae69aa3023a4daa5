"""Weights that were read from a file or loaded from a state: are they in the model that trains next?

Weights are recognised by their last numbers (`inits.tail`). The answer is found at the first backward pass after the reading.
"""

from __future__ import annotations

import os
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.observe.inits import tail
from sickbay.observe.observer import ForwardCall, Observer, Site
from sickbay.observe.places import key_here, place_of

if TYPE_CHECKING:
    from sickbay.nouns import Place
    from sickbay.observe.session import Session

Key = tuple[CodeType, int] | None
Tail = tuple[float, ...]

MOST_READS, MOST_LOADS = 16, 16
"""Data sets are read with torch.load too, and meta-learning loads states all the time: only the first ones are looked at."""
MOST_TENSORS = 2000
NAMES = 8


@dataclass(slots=True)
class _Read:
    key: Key
    file: str
    step: int
    tails: set[Tail]
    shapes: Counter[tuple[int, ...]]
    fact: facts.CheckpointRead | None = None


@dataclass(slots=True)
class _Load:
    module: weakref.ref[torch.nn.Module]
    kind: str
    key: Key
    step: int
    order: int
    before: dict[int, Tail]
    given: dict[str, int]
    """Names and sizes of the state that was given."""
    strict: bool
    after: dict[int, Tail] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    done: bool = False
    fact: facts.StateLoad | None = None


class CheckpointWatch(Observer):
    """Follows torch.load and load_state_dict up to the next backward pass."""

    name = "checkpoints"
    sees = "whether loaded weights arrive in the model"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.reads: list[_Read] = []
        self.loads: list[_Load] = []
        self.pending = False
        self.callees: dict[int, tuple[weakref.ref[torch.nn.Module], bool]] = {}
        """Modules that were called since something was read or loaded, and whether with gradients on."""
        _watch(session, self)

    def checkpoint_read(self, content: Any, file: Any, key: Key) -> None:
        if len(self.reads) >= MOST_READS or not isinstance(content, Mapping):
            return
        tensors = [t for t in _weights(content) if t.dim() >= 2]
        tails = {numbers for t in tensors[:MOST_TENSORS] if (numbers := tail(t)) is not None}
        if tails:
            name = os.path.basename(os.fspath(file)) if isinstance(file, (str, os.PathLike)) else ""
            self.reads.append(_Read(key, name, self.session.step, tails, Counter(tuple(t.shape) for t in tensors)))
            self.pending = True

    def state_given(self, module: torch.nn.Module, state: Any, strict: bool, key: Key) -> None:
        """Before it is loaded: what is there, and what is given."""
        if len(self.loads) >= MOST_LOADS or not isinstance(state, Mapping):
            return
        given = {str(k): v.numel() for k, v in state.items() if isinstance(v, torch.Tensor)}
        order = self.session.registry.inits.next_order()
        self.loads.append(_Load(weakref.ref(module), type(module).__name__, key, self.session.step, order, _tails(module), given, strict))

    def state_loaded(self, module: torch.nn.Module, result: Any, *_: Any) -> None:
        load = self.loads[-1] if self.loads else None
        if load is None or load.done or load.module() is not module or not hasattr(result, "missing_keys"):
            return
        load.done = self.pending = True
        load.after = _tails(module)
        load.missing, load.unexpected = tuple(result.missing_keys), tuple(result.unexpected_keys)

    def forward_begins(self, call: ForwardCall) -> None:
        if self.pending:
            known = self.callees.get(id(call.module))
            self.callees[id(call.module)] = (weakref.ref(call.module), call.grad or (known is not None and known[1]))

    # -- what became of it ----------------------------------------------------------------------------------------

    def backward_begins(self, _: torch.Tensor, site: Site) -> None:
        if not self.pending:
            return
        self.pending = False
        trained: dict[int, torch.Tensor] = {id(p): p for module in self._callees(grad=True) for p in module.parameters()}
        now = {i: numbers for i, t in list(trained.items())[:MOST_TENSORS] if t.dim() >= 2 and (numbers := tail(t)) is not None}
        for load in self.loads:
            if load.done and load.fact is None:
                load.fact = self._judge_load(load, trained, now)
        for read in self.reads:
            if read.fact is None:
                read.fact = self._judge_read(read, trained, now)
        self.callees.clear()

    def _callees(self, grad: bool) -> Iterator[torch.nn.Module]:
        for ref, with_grad in self.callees.values():
            if with_grad == grad and (module := ref()) is not None:
                yield module

    def _judge_read(self, read: _Read, trained: dict[int, torch.Tensor], now: dict[int, Tail]) -> facts.CheckpointRead:
        inits, left = self.session.registry.inits, Counter(read.shapes)
        fitting = 0
        for i in now:
            shape = tuple(trained[i].shape)
            fitting += left[shape] > 0
            left[shape] -= 1
        elsewhere = any(read.tails & set(_tails(module).values()) for module in self._callees(grad=False))
        return facts.CheckpointRead(
            place=_place(read.key),
            file=read.file,
            step=read.step,
            tensors=len(read.tails),
            fitting=fitting,
            weights=len(now),
            present=sum(numbers in read.tails for numbers in now.values()),
            drawn=sum(inits.drew(trained[i]) is not None for i in now),
            used_elsewhere=elsewhere,
        )

    def _judge_load(self, load: _Load, trained: dict[int, torch.Tensor], now: dict[int, Tail]) -> facts.StateLoad:
        module, inits = load.module(), self.session.registry.inits
        unexpected = set(load.unexpected)
        matched = {name: size for name, size in load.given.items() if name not in unexpected}
        mine = [i for i in load.after if i in now]
        redrawn = [fill for i in mine if now[i] != load.after[i] and (fill := inits.drew(trained[i])) is not None and fill.order > load.order]
        return facts.StateLoad(
            module=load.kind,
            place=_place(load.key),
            step=load.step,
            strict=load.strict,
            own=len(matched) + len(load.missing),
            given=len(load.given),
            matched=len(matched),
            own_values=sum(t.numel() for t in (*module.parameters(), *module.buffers())) if module is not None else 0,
            matched_values=sum(matched.values()),
            missing=load.missing[:NAMES],
            unexpected=load.unexpected[:NAMES],
            changed=load.before != load.after if load.before and load.after else None,
            weights=len(mine),
            kept=sum(now[i] == load.after[i] for i in mine),
            redrawn=len(redrawn),
            redrawn_at=_place(redrawn[0].key) if redrawn else None,
            trained=module is not None and any(id(p) in trained for p in module.parameters()),
            called=self._called(load),
        )

    def _called(self, load: _Load) -> bool:
        module = load.module()
        return module is not None and (id(module) in self.callees or self.session.registry.knows(module))

    def report(self) -> None:
        reads = [r.fact for r in self.reads if r.fact is not None]
        loads = [x.fact for x in self.loads if x.fact is not None]
        for place in facts.places_in([*reads, *loads]):
            self.session.keep_source(place)
        if reads:
            self.session.writer.fact("checkpoints", reads)
        if loads:
            self.session.writer.fact("state_loads", loads)


def _place(key: Key) -> Place | None:
    return place_of(*key) if key is not None else None


def _tails(module: torch.nn.Module) -> dict[int, Tail]:
    found = {}
    for p in list(module.parameters())[:MOST_TENSORS]:
        if p.dim() >= 2 and (numbers := tail(p)) is not None:
            found[id(p)] = numbers
    return found


def _weights(content: Mapping[Any, Any], depth: int = 3) -> Iterator[torch.Tensor]:
    """The tensors of a checkpoint, without an optimizer's state."""
    if "param_groups" in content:
        return
    for value in content.values():
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, Mapping) and depth:
            yield from _weights(value, depth - 1)


def _wake(session: Session) -> None:
    """The next backward pass has to be heard: after one more update nothing can be recognised."""
    session.wake_up()


def _watch(session: Session, watch: CheckpointWatch) -> None:
    def around_reading(original: Callable[..., Any]) -> Callable[..., Any]:
        def load(*args: Any, **kwargs: Any) -> Any:
            content = original(*args, **kwargs)
            if not session.busy and not session.off and session.mine():
                session.fire("checkpoint_read", content, args[0] if args else kwargs.get("f"), key_here())
                if watch.pending:
                    _wake(session)
            return content

        return load

    def around_loading(original: Callable[..., Any]) -> Callable[..., Any]:
        def load_state_dict(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
            if not session.busy and not session.off and session.mine():
                state = args[0] if args else kwargs.get("state_dict")
                strict = args[1] if len(args) > 1 else kwargs.get("strict", True)
                session.fire("state_given", self, state, bool(strict), key_here())
                if watch.loads and not watch.loads[-1].done:
                    _wake(session)
            return original(self, *args, **kwargs)

        return load_state_dict

    session.patches.wrap(torch, "load", around_reading)
    session.patches.wrap(torch.nn.Module, "load_state_dict", around_loading)
