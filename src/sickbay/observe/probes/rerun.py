"""Runs a double of the model again on the same batch, or on one that differs in a single place, and says where values differ."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, fields, is_dataclass
from types import CodeType, FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from sickbay.observe.hooks import LOSSES
from sickbay.observe.places import USER, key_of, kind_of
from sickbay.observe.probes.double import Double, NoDouble
from sickbay.observe.probes.lent import EXITS, Guard, Written

MOST_KEPT = 128 * 2**20
"""Bytes of intermediate results kept while the operation is searched for; beyond it, the place stays unknown."""
NOISE = 1e-6
"""Changes below this share of the largest value are rounding (1e-7 in single precision). Rows that have nothing to do with each
other come out the same to the last bit, so this is room for kernels that choose their way by the values only."""
ECHO = 1e-4
"""...and below this share of the largest change they are nothing to accuse anybody of."""
_PACKING = frozenset({"pack_padded_sequence", "rnn_relu", "rnn_tanh", "gru", "lstm"})
"""What gives packed sequences: rows by time and then by sample, which tell nothing of the samples by their place."""
_UNFILLED = frozenset({"empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"})
"""Whatever was in that memory: it differs from pass to pass and means nothing."""
_REORDERING = frozenset({"index_select", "getitem", "gather", "take_along_dim", "flip", "roll"})
_PLAIN = (int, float, str, bool, type(None), torch.dtype, torch.device, torch.Size, slice)


@dataclass
class Spot:
    """An operation of the double's forward pass, by its way through the user's modules and source."""

    name: str
    key: tuple[CodeType, int] | None
    layers: list[torch.nn.Module]
    """The modules of the user's model around it, innermost first."""
    shape: tuple[int, ...]
    """Of its first tensor input."""
    result: tuple[int, ...]


class Rerun:
    """One forward call that can be made again."""

    def __init__(self, module: torch.nn.Module, args: Any, kwargs: Any, rewind: Callable[[], None]) -> None:
        self.inputs: list[torch.Tensor] = []
        self._args, self._kwargs = self._take(args), self._take(kwargs)
        self._rewind = rewind
        self._module = module
        self._base: tuple[torch.Tensor | None] | None = None
        self._steady: bool | None = None
        self._lends = True
        self.meddles = False
        """The model changes objects that a double shares with it (they are put back)."""

    def _take(self, value: Any) -> Any:
        """The same arguments with a number in place of each tensor, which is copied."""
        if isinstance(value, torch.Tensor):
            if type(value) not in (torch.Tensor, torch.nn.Parameter) or value.layout != torch.strided or value.is_nested:
                raise NoDouble(f"its input is a {type(value).__name__}")
            self.inputs.append(value.detach().clone())
            return _Slot(len(self.inputs) - 1)
        if isinstance(value, dict):
            return {k: self._take(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            taken = [self._take(v) for v in value]
            return type(value)(*taken) if hasattr(value, "_fields") else type(value)(taken)
        if isinstance(value, _PLAIN):
            return value
        raise NoDouble(f"its input is a {type(value).__name__}")  # a graph, a cache: may be changed by the pass

    def base(self) -> torch.Tensor | None:
        """The prediction as it is, made once for all experiments."""
        if self._base is None:
            self._base = (self.run(),)
        return self._base[0]

    def steady(self) -> bool:
        """The same pass gives the same prediction to the last bit. To be asked before anything is accused; a model that is in order
        is spared the pass, since no prediction of one that draws at random stays as it was."""
        if self._steady is None:
            base, again = self.base(), self.run()
            self._steady = base is not None and again is not None and torch.equal(base, again)
        return self._steady

    def run(self, index: int = -1, other: torch.Tensor | None = None, watch: Watch | None = None) -> torch.Tensor | None:
        """The prediction, with input `index` replaced by `other`: what went into the loss, if that is inside the model."""
        tensors = [(other if other is not None and i == index else t).clone() for i, t in enumerate(self.inputs)]
        mode = watch or Watch()
        if self._lends:
            try:
                return self._pass(tensors, mode)
            except Written:
                if watch is not None:
                    raise NoDouble("it writes to its weights in some passes only") from None  # the watch has seen half a pass
                self._lends, mode = False, Watch()
        return self._pass(tensors, mode)

    def _pass(self, tensors: list[torch.Tensor], mode: Watch) -> torch.Tensor | None:
        self._rewind()
        mode.double = double = Double(self._module, self._lends)  # a new one each time: it may keep a state from pass to pass
        try:
            with ExitStack() as stack:
                stack.enter_context(torch._C._EnableTorchFunction())
                stack.enter_context(mode)
                if double.lent:
                    stack.enter_context(Guard(double.lent))
                output = _call_the_double(double.model, _fill(self._args, tensors), _fill(self._kwargs, tensors))
        finally:
            self.meddles |= double.put_back()
        return mode.predictions[-1] if mode.predictions else next(_floats(output), None)


@dataclass(frozen=True)
class _Slot:
    index: int


def _fill(value: Any, tensors: list[torch.Tensor]) -> Any:
    if isinstance(value, _Slot):
        return tensors[value.index]
    if isinstance(value, dict):
        return {k: _fill(v, tensors) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        filled = [_fill(v, tensors) for v in value]
        return type(value)(*filled) if hasattr(value, "_fields") else type(value)(filled)
    return value


def _call_the_double(model: torch.nn.Module, args: Any, kwargs: Any) -> Any:
    """Frames above this one are the user's training loop, not the model: the search for a line ends here."""
    return model(*args, **kwargs)


def _floats(output: Any) -> Iterator[torch.Tensor]:
    """The tensors of an output that may be predictions: more than one number."""
    if isinstance(output, torch.Tensor):
        if output.is_floating_point() and output.numel() > 1 and output.layout == torch.strided:
            yield output.detach()
    elif isinstance(output, Mapping):
        for value in output.values():
            yield from _floats(value)
    elif isinstance(output, (list, tuple)):
        for value in output:
            yield from _floats(value)
    elif is_dataclass(output) and not isinstance(output, type):
        for f in fields(output):
            yield from _floats(getattr(output, f.name, None))


class Watch(TorchFunctionMode):
    """Sees the operations of one pass: takes what enters a loss function inside the model."""

    double: Double

    def __init__(self) -> None:
        super().__init__()
        self.predictions: list[torch.Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = str(getattr(func, "__name__", "")).strip("_")
        if kwargs and isinstance(kwargs.get("generator"), torch.Generator):
            raise NoDouble("it draws from a generator of its own")
        if name in EXITS:
            self.double.lent.refuse(iter(args[:1]))
        if name in LOSSES and args and isinstance(args[0], torch.Tensor):
            self.predictions.append(args[0].detach().clone())
        output = func(*args, **(kwargs or {}))
        if name not in _UNFILLED:
            self.saw(name, args, output)
        return output

    def saw(self, name: str, args: Any, output: Any) -> None:
        pass


class Keep(Watch):
    """Keeps the result of every operation."""

    def __init__(self) -> None:
        super().__init__()
        self.results: list[tuple[str, torch.Tensor]] = []
        self.names: set[str] = set()
        self._bytes = 0

    def saw(self, name: str, args: Any, output: Any) -> None:
        self.names.add(name)
        for result in _results(output):
            self._bytes += result.numel() * result.element_size()
            if self._bytes > MOST_KEPT:
                raise NoDouble("its intermediate results are large")
            self.results.append((name, result.detach().clone()))


class Compare(Watch):
    """Compares every result with the kept one, in order, until one differs in a way that `fine` does not accept."""

    def __init__(self, kept: Keep, fine: Callable[[torch.Tensor], bool], moved: Callable[[torch.Tensor], bool] | None = None) -> None:
        super().__init__()
        self.spot: Spot | None = None
        self._moved = moved
        """Asked of operations that only put things into another order, as packing does."""
        self._kept = kept.results
        self._fine = fine
        self._next = 0
        self._lost = False
        self._packed = False
        """Sequences are packed at this point of the pass."""
        self._padded: tuple[torch.Tensor, Spot] | None = None
        """The newest padding by the user's own hand: a layer that takes it is not to blame for where it pads."""

    def saw(self, name: str, args: Any, output: Any) -> None:
        for result in _results(output):
            if self.spot is not None or self._lost or self._next >= len(self._kept):
                return
            expected, before = self._kept[self._next]
            self._next += 1
            if expected != name or before.shape != result.shape:
                self._lost = True  # the pass took another way
                return
            self._packed = name == "pack_padded_sequence" or (self._packed and name != "pad_packed_sequence")
            if self._packed and name in _PACKING and result.dim() < 3:  # states of the last step are (layers, samples, units)
                continue
            changed = differing(before, result.detach())
            if bool(changed.any()) and not self._fine(changed) and not (name in _REORDERING and self._moved is not None and self._moved(changed)):
                first = next((a for a in args if isinstance(a, torch.Tensor)), None)
                padded = first is not None and self._padded is not None and first is self._padded[0]
                self.spot = self._padded[1] if padded and self._padded else self._locate(name, first, result)
            elif name == "pad":
                self._padded = (result, self._locate(name, args[0], result))

    def _locate(self, name: str, first: torch.Tensor | None, result: torch.Tensor) -> Spot:
        key, layers = None, []
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not _call_the_double.__code__:
            if key is None and kind_of(frame.f_code) == USER:
                key = key_of(frame)
            module = frame.f_locals.get("self") if frame.f_code.co_name == "forward" else None
            original = self.double.original(module) if isinstance(module, torch.nn.Module) else None
            if original is not None:
                layers.append(original)
            frame = frame.f_back
        return Spot(name, key, layers, tuple(first.shape) if first is not None else (), tuple(result.shape))


def _results(output: Any) -> Iterator[torch.Tensor]:
    for value in output if isinstance(output, (list, tuple)) else (output,):
        if isinstance(value, torch.Tensor) and value.dim() and value.numel() > 1 and value.layout == torch.strided:
            yield value


def change_of(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """By how much each number differs; 0 where that is only rounding. Worked out in place: logits of a language model may be the largest tensor of its run."""
    change = torch.sub(after.float(), before.float()).abs_()
    change.masked_fill_(~torch.isfinite(change), 0.0)
    finite = before if bool(torch.isfinite(before).all()) else before[torch.isfinite(before)]
    largest = torch.stack(torch.aminmax(finite.float())).abs().max() if finite.numel() else change.new_zeros(())
    return change.masked_fill_(change <= torch.maximum(NOISE * largest, ECHO * change.max()), 0.0)


def differing(before: torch.Tensor, after: torch.Tensor) -> torch.Tensor:
    """Where two results differ by more than rounding."""
    return change_of(before, after) > 0 if before.is_floating_point() else before != after


def confined(changed: torch.Tensor, count: int, allowed: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    """Whether only allowed ones of `count` things changed. They may lie along any dimension of that size (along two of them
    in a table of all pairs), or be merged with others into one dimension, as in (batch * heads, ...)."""
    dimensions = [d for d, size in enumerate(changed.shape) if not size % count]
    if any(_in_pairs(changed, dimensions, count, allowed, blocks) for blocks in (False, True)):
        return True
    return any(_merged(along(changed, d), changed.shape[d] // count, count, allowed) for d in dimensions)


def _in_pairs(changed: torch.Tensor, dimensions: list[int], count: int, allowed: Callable[[torch.Tensor], torch.Tensor], blocks: bool) -> bool:
    """Each change is at an allowed index of at least one dimension; of a multiple, things repeat (a b a b) or stand in blocks (a a b b)."""
    left = changed
    for d in dimensions:
        size = changed.shape[d]
        indices = torch.arange(size, device=changed.device)
        own = indices.div(size // count, rounding_mode="floor") if blocks else indices % count
        left = left & ~allowed(own).reshape([-1 if i == d else 1 for i in range(changed.dim())])
    return not bool(left.any())


def _merged(at: torch.Tensor, times: int, count: int, allowed: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    inner = [c for c in range(1, times + 1) if times % c == 0]
    return any(bool(allowed(at.div(c, rounding_mode="floor") % count).all()) for c in inner)


def along(changed: torch.Tensor, dimension: int) -> torch.Tensor:
    """The indices along one dimension at which anything changed."""
    return changed.movedim(dimension, 0).reshape(changed.shape[dimension], -1).any(dim=1).nonzero().flatten()
