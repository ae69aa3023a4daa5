"""Follows every torch operation of one training step: what it was, what went in, what came out, on which user line.

Autograd alone shows what is connected. The trace also shows what is *not*: a value that lost its gradient on the way
(detach, .item(), no_grad, argmax), an operand that does not depend on the model, the user's line of each operation.
It is a torch function mode that is on only during sampled steps, and it changes no result: it calls the operation as
it is and looks at what comes out.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd.function import BackwardCFunction
from torch.overrides import TorchFunctionMode

from sickbay.observe.places import key_of, user_frame, user_stack
from sickbay.observe.regions import Region, region_of

if TYPE_CHECKING:
    from sickbay.observe.session import Session

MOST_OPERATIONS = 20_000
MOST_WRITES = 2_000
MOST_FUNCTIONS = 50
"""Functions behind one another between two operations that are seen."""
_WRITING = frozenset(f"__{name}__" for name in "setitem iadd isub imul itruediv ifloordiv imod ipow iand ior ixor ilshift irshift".split())
"""Operators that overwrite their left side; methods that do so end in one underscore."""
DISPATCH_SECONDS = 3e-6
"""What torch itself spends per operation to call a function mode; measured, added to our own time."""
_EXITS = frozenset({"item", "numpy", "tolist", "float", "int", "array", "bool"})
"""Operations through which a value leaves torch (names without underscores)."""
PASSIVE = frozenset(
    "shape dtype device requires_grad grad_fn is_leaf grad is_cuda is_nested ndim size dim numel stride names layout "
    "is_sparse is_quantized itemsize nbytes is_floating_point backward zero_grad set_grad_enabled retain_grad "
    "register_hook len hash repr format is_contiguous storage_offset data_ptr output_nr version is_mps is_meta is_cpu is_xpu".split()
)
_SHARING = frozenset({"data", "detach"})
"""Operations whose result holds the same numbers, but is nothing to autograd."""


class Node:
    """One operation."""

    __slots__ = (
        "args",
        "attached",
        "cut",
        "grad",
        "index",
        "key",
        "layer",
        "name",
        "output_attached",
        "overwrites",
        "parent",
        "region",
        "seconds",
        "shape",
        "shapes",
        "sources",
        "stack",
        "value",
    )

    def __init__(self, index: int, name: str) -> None:
        self.index = index
        self.name = name
        self.args: list[int | None] = []
        """For each tensor input: the node that made it, if one was seen."""
        self.sources: list[torch.Tensor] = []
        """Tensor inputs that no traced operation made: parameters, data, constants."""
        self.shapes: list[tuple[int, ...]] = []
        self.attached: list[bool] = []
        """For each tensor input: whether it required a gradient."""
        self.output_attached = False
        self.shape: tuple[int, ...] = ()
        self.key: tuple[CodeType, int] | None = None
        self.layer: weakref.ref[torch.nn.Module] | None = None
        self.grad = True
        self.cut = False
        self.stack: tuple[tuple[CodeType, int], ...] = ()
        self.parent: type | None = None
        """Class of the module that called the layer."""
        self.value: torch.Tensor | None = None
        """The result, if it is a single number."""
        self.region: Region | None = None
        """Of `x[i]`: which part of x it is, if the index tells."""
        self.seconds = 0.0
        """What the operation itself took."""
        self.overwrites = False
        """Its result is its first input, changed in place."""

    @property
    def inputs(self) -> list[int]:
        return [i for i in self.args if i is not None]


class Write:
    """One operation that overwrote a tensor in place."""

    __slots__ = ("elements", "key", "layer", "name", "shape", "version", "view")

    def __init__(self, name: str, tensor: torch.Tensor) -> None:
        self.name = name
        self.shape = tuple(tensor.shape)
        self.elements = tensor.numel()
        self.version = tensor._version
        """How often the tensor (with all views of it) had been written to, this time included."""
        self.view = tensor._is_view()
        self.key: tuple[CodeType, int] | None = None
        self.layer: weakref.ref[torch.nn.Module] | None = None


class Store:
    """One assignment to a part of a tensor: `x[i] = value`."""

    __slots__ = ("after", "key", "makers", "region", "target", "target_maker")

    def __init__(self, after: int, target: torch.Tensor | None, target_maker: int | None, region: Region | None, makers: list[int]) -> None:
        self.after = after
        """Number of operations before it."""
        self.target = target
        """The tensor, where no followed operation made it."""
        self.target_maker = target_maker
        self.region = region
        self.makers = makers
        """The operations that made what is stored."""
        self.key: tuple[CodeType, int] | None = None


class Trace(TorchFunctionMode):
    """The operations between the end of one step and the backward of the next."""

    def __init__(self, session: Session, on_output: Callable[[Node, torch.Tensor], None]) -> None:
        super().__init__()
        self._session = session
        self._on_output = on_output
        self.nodes: list[Node] = []
        self.writes: list[Write] = []
        self.stores: list[Store] = []
        self._makers: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self._behind: dict[int, tuple[weakref.ref[torch.Tensor], weakref.ref[torch.Tensor]]] = {}
        """Results of `.data` and `.detach()`, and the tensors whose numbers they share."""
        self._numbers: dict[int, int] = {}
        """Nodes by the number of the autograd node that they left behind: to find the way back through functions that no mode sees."""
        self.seen = 0
        self.entered = False
        self.truncated = False
        self.cleared = 0
        """How often all was forgotten: numbers of nodes from before then mean nothing."""
        self.outputs_only = False
        """The structure is known: only the outputs that somebody wants are passed on, nothing is remembered."""

    # -- on and off ---------------------------------------------------------------------------------------------

    def begin(self) -> bool:
        """Start following (again). Not while another function mode is active: modes must be left in order."""
        if self.entered:
            self._session.tracing = True
            return True
        if torch._C._len_torch_function_stack() > 0:
            return False
        self.__enter__()  # type: ignore[no-untyped-call]
        self.entered = True
        self._session.tracing = True
        return True

    def end(self) -> None:
        """Stop following; if the user entered a mode above ours, only fall silent and leave later."""
        self._session.tracing = False
        self.leave()

    def leave(self) -> None:
        """Step out of the mode, if that is possible here."""
        if not self.entered:
            return
        depth = torch._C._len_torch_function_stack()
        if depth and torch._C._get_function_stack_at(depth - 1) is self:
            self.__exit__(None, None, None)
            self.entered = False

    def clear(self) -> None:
        self.nodes = []
        self.writes = []
        self.stores = []
        self._makers = {}
        self._behind = {}
        self._numbers = {}
        self.seen = 0
        self.truncated = False
        self.cleared += 1

    # -- following ----------------------------------------------------------------------------------------------

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        session = self._session
        if not session.tracing or session.busy or inside_transform():
            return func(*args, **(kwargs or {}))
        clock = session.clock
        called = clock()
        output = func(*args, **(kwargs or {}))
        started = clock()
        name = operation_name(func)
        if name in PASSIVE:
            return output
        session.busy = True
        try:
            if torch.is_grad_enabled() and _in_place(func, kwargs) and len(self.writes) < MOST_WRITES:
                self._note_write(name, args, kwargs)
            if self.outputs_only:
                self._pass_on(name, output)
            elif self.seen < MOST_OPERATIONS:
                self._note(name, args, kwargs, output, started - called)
            else:
                self.truncated = True
                session.tracing = False
        except Exception as e:
            session.trace_failed(e)
        finally:
            session.busy = False
            took = clock() - started + DISPATCH_SECONDS
            session.times.own += took
            session.sample_seconds += took
            session.structure_seconds += took
        return output

    def _pass_on(self, name: str, output: Any) -> None:
        if name not in self._session.wanted_outputs:
            return
        first = output if isinstance(output, torch.Tensor) else next(tensors_in((output,), None), None)
        if first is None:
            return
        node = Node(-1, name)
        stack = self._session.registry.stack
        inside_leaf = stack and not stack[-1]._modules  # then the layer says it all
        self._locate(node, None if inside_leaf else user_frame(3))
        self._on_output(node, first)

    def _locate(self, node: Node, frame: FrameType | None) -> None:
        node.grad = torch.is_grad_enabled()
        if frame is not None:
            node.key = key_of(frame)
        stack = self._session.registry.stack
        if stack:
            node.layer = weakref.ref(stack[-1])
            node.parent = type(stack[-2]) if len(stack) > 1 else None

    def _note(self, name: str, args: Any, kwargs: Any, output: Any, seconds: float) -> None:
        self.seen += 1
        given = list(tensors_in(args, kwargs))
        makers = [self.maker_or_function(tensor) for tensor in given]
        node = Node(len(self.nodes), name)
        node.seconds = seconds
        for tensor, maker in zip(given, makers, strict=True):
            node.args.append(maker)
            if maker is None:
                node.sources.append(tensor)
            node.shapes.append(tuple(tensor.shape))
            node.attached.append(_attached(tensor))
        outputs = list(tensors_in((output,), None))
        if name == "setitem":
            self._note_store(node, args)
            outputs = [args[0]] if id(args[0]) in self._behind else []
        leaves = not outputs and name in _EXITS and bool(node.shapes)
        if not outputs and not leaves:
            return
        frame = user_frame(3)
        self._locate(node, frame)
        for tensor in node.sources:
            if trainable(tensor) and self._session.registry.entry(tensor) is None:
                self._session.registry.meet_stray(tensor, self._session.step, frame)
        if outputs:
            first = outputs[0]
            node.shape = tuple(first.shape)
            node.overwrites = bool(args) and args[0] is first
            node.region = region_of(args[1]) if name == "getitem" and len(args) > 1 else None
            node.output_attached = any(map(_attached, outputs))
            node.value = first.detach() if not node.shape and node.output_attached else None
        node.cut = any(node.attached) and not node.output_attached
        if node.cut and not node.grad:
            node.stack = tuple(user_stack(frame))
        for tensor in outputs:
            if not trainable(tensor):  # a weight that the script updates in place is no result
                self._makers[id(tensor)] = (weakref.ref(tensor), node.index)
                if (behind := _grad_fn(tensor)) is not None:
                    self._numbers[behind._sequence_nr()] = node.index
        self.nodes.append(node)
        if outputs:
            self._follow_shared(node, args, outputs[0])
            self._on_output(node, outputs[0])

    def _follow_shared(self, node: Node, args: Any, output: torch.Tensor) -> None:
        """What is written into `x.data` is in x from then on, though autograd does not know of it."""
        if node.name in _SHARING and args and isinstance(args[0], torch.Tensor):
            self._behind[id(output)] = (weakref.ref(output), weakref.ref(args[0]))
        elif args and args[0] is output and (found := self._behind.get(id(output))) is not None and found[0]() is output:
            shown = found[1]()
            if shown is not None and not shown.requires_grad:
                self._makers[id(shown)] = (found[1], node.index)
                node.cut, node.output_attached = any(node.attached), False

    def _note_store(self, node: Node, args: Any) -> None:
        if len(args) != 3 or not isinstance(args[0], torch.Tensor):
            return
        maker = self.maker(args[0])
        store = Store(len(self.nodes), args[0] if maker is None else None, maker, region_of(args[1]), [m for m in node.args[1:] if m is not None])
        frame = user_frame(4)
        store.key = key_of(frame) if frame is not None else None
        self.stores.append(store)

    def _note_write(self, name: str, args: Any, kwargs: Any) -> None:
        tensor = kwargs["out"] if kwargs and isinstance(kwargs.get("out"), torch.Tensor) else next(tensors_in(args, kwargs), None)
        if tensor is None or tensor.is_inference() or not tensor._version:
            return
        write = Write(name, tensor)
        frame = user_frame(3)
        write.key = key_of(frame) if frame is not None else None
        stack = self._session.registry.stack
        write.layer = weakref.ref(stack[-1]) if stack else None
        self.writes.append(write)

    # -- reading ------------------------------------------------------------------------------------------------

    def maker(self, tensor: torch.Tensor) -> int | None:
        """The node that made a tensor."""
        found = self._makers.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def maker_or_function(self, tensor: torch.Tensor) -> int | None:
        """The node that made a tensor; a new one, if it came out of a torch.autograd.Function, which function modes do not see: those that
        people write, and those that torch puts around modules with backward hooks."""
        found = self.maker(tensor)
        behind = _grad_fn(tensor) if found is None else None
        return self._function(behind, tensor) if isinstance(behind, BackwardCFunction) else found

    def _function(self, behind: Any, tensor: torch.Tensor) -> int | None:
        index = self._behind_function(behind, tuple(tensor.shape), MOST_FUNCTIONS)
        if index is not None:
            self._makers[id(tensor)] = (weakref.ref(tensor), index)
        return index

    def _behind_function(self, behind: Any, shape: tuple[int, ...], room: int) -> int | None:
        """The node of a function, made of what went into it as far as that needs a gradient; its shapes are taken for those of the result."""
        number = behind._sequence_nr()
        if number in self._numbers or not room:
            return self._numbers.get(number)
        node = Node(0, type(behind).__name__.removesuffix("Backward"))
        for before in (f for f, _ in behind.next_functions if f is not None):
            maker, leaf = self._numbers.get(before._sequence_nr()), getattr(before, "variable", None)
            if maker is None and isinstance(before, BackwardCFunction):
                maker = self._behind_function(before, shape, room - 1)
            if maker is None and leaf is None:
                continue
            node.args.append(maker)
            node.sources += [leaf] if maker is None and leaf is not None else []
            node.shapes.append(shape)
            node.attached.append(True)
        if not node.args:
            return None
        node.shape, node.output_attached, node.index = shape, True, len(self.nodes)
        self.nodes.append(node)
        self._numbers[number] = node.index
        return node.index

    def made_by(self, index: int) -> torch.Tensor | None:
        """The tensor that a node made, if the script still holds it."""
        return next((tensor for reference, maker in self._makers.values() if maker == index and (tensor := reference()) is not None), None)

    def ancestors(self, index: int) -> list[Node]:
        """All nodes that a value was made from, nearest first."""
        seen = {index}
        todo = [index]
        while todo:
            for i in self.nodes[todo.pop()].inputs:
                if i not in seen:
                    seen.add(i)
                    todo.append(i)
        return [self.nodes[i] for i in sorted(seen, reverse=True)]


def inside_transform() -> bool:
    """Inside torch.func.grad, vmap...: tensors are wrappers without numbers there."""
    return torch._C._functorch.peek_interpreter_stack() is not None


def trainable(tensor: torch.Tensor) -> bool:
    """A leaf that requires a gradient; a view that was made without gradients calls itself one, but is part of a result (or of a weight, as which it then counts).
    To ask that of a view that was overwritten without gradients is an error, which the script itself does not meet."""
    try:
        return tensor.requires_grad and tensor.is_leaf and not (tensor._is_view() and _part_of_a_result(tensor))
    except RuntimeError:
        return False


def _part_of_a_result(view: torch.Tensor) -> bool:
    return view._base is not None and not view._base.is_leaf


def _grad_fn(tensor: torch.Tensor) -> Any:
    try:
        return tensor.grad_fn if tensor.requires_grad and torch.is_grad_enabled() else None
    except RuntimeError:
        return None


def operation_name(func: Any) -> str:
    name = getattr(func, "__name__", "")
    if name in ("__get__", "__set__"):
        name = getattr(getattr(func, "__self__", None), "__name__", name)
    return str(name).strip("_").removeprefix("special_")


def _attached(tensor: torch.Tensor) -> bool:
    try:
        return tensor.requires_grad
    except RuntimeError:  # a view that was made without gradients, of weights that were changed since: autograd will not say
        return False


def _in_place(func: Any, kwargs: Any) -> bool:
    name = getattr(func, "__name__", "")
    if name.endswith("_") and (not name.endswith("__") or name in _WRITING):
        return True
    return bool(kwargs) and (kwargs.get("inplace") is True or kwargs.get("out") is not None)


def tensors_in(args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    for value in args:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            for item in value:
                if isinstance(item, torch.Tensor):
                    yield item
    if kwargs:
        yield from tensors_in(tuple(kwargs.values()), None)
