"""Who is who: names for the models, layers, parameters and optimizers that the hooks meet, without keeping them alive."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType
from typing import Any

import torch

from sickbay.nouns import Place
from sickbay.observe.inits import Inits
from sickbay.observe.numbers import real
from sickbay.observe.places import variable_holding

_BLOCK = 256
STRETCHES = 16
_WRAPPERS = ("_orig_mod.", "module.")
"""What torch.compile and DistributedDataParallel put in front of the user's own names."""


class ParameterEntry:
    """One tensor that may be trained."""

    __slots__ = (
        "attached",
        "block",
        "called",
        "fact",
        "initial",
        "kind",
        "layer",
        "loaded",
        "moved",
        "name",
        "nonzero",
        "optimizer",
        "owner",
        "reached",
        "ref",
        "root",
    )

    def __init__(self, tensor: torch.Tensor, name: str, layer: str = "", kind: str = "") -> None:
        self.ref = weakref.ref(tensor)
        self.name = name
        self.layer = layer
        self.kind = kind
        self.optimizer: int | None = None
        self.called = False
        self.loaded = False
        self.reached = False
        self.nonzero = False
        """Its gradient was measured and was not zero."""
        self.moved: bool | None = None
        self.block: torch.Tensor | None = None
        self.initial: tuple[float, float] | None = None
        self.root: weakref.ref[torch.nn.Module] | None = None
        """The model it was found in."""
        self.owner: weakref.ref[torch.nn.Module] | None = None
        """The layer it was found in."""
        self.attached = False
        """It is still a parameter of that model (a replaced head's old weights are not)."""
        self.fact: Any = None
        """What was last told of it; kept when the model is gone before the record is closed."""


class OptimizerEntry:
    """One optimizer and what its calls have shown."""

    def __init__(self, index: int, optimizer: torch.optim.Optimizer, built_at: Place | None) -> None:
        self.index = index
        self.ref = weakref.ref(optimizer)
        self.kind = type(optimizer).__name__
        self.variable = ""
        self.built_at = built_at
        self.stepped_at: Place | None = None
        self.zeroed_at: Place | None = None
        self.steps = 0
        self.zero_calls = 0
        self.cleared = True
        """Gradients were cleared since the last step."""
        self.intervals = 0
        self.old: list[tuple[torch.Tensor, Any]] = []
        """Parameters with the gradients that were still there when the newest backward pass began, until the next step."""
        self.stale = 0
        self.stale_norm = 0.0
        self.left_out: tuple[str, ...] = ()
        """Parameters that a module's zero_grad did not clear."""
        self.stale_first: int | None = None
        self.stale_last: int | None = None
        self.observed_steps = 0
        self.empty_steps = 0
        self.emptied_by_hand = 0
        self.fresh = False
        """A backward pass came since the last step."""
        self.cleared_late = False
        """...and gradients were cleared after it."""
        self.backwards = 0
        self.closure = False
        self.stepped_after = -1
        """Backward passes of the run when it stepped last."""
        self.twice = 0
        self.shares_with: int | None = None
        self.shared: tuple[str, ...] = ()
        self.thawed: tuple[str, ...] = ()
        """Parameters that were frozen when it first stepped, get gradients now and are in no optimizer that steps."""
        self.thawed_looks = 0
        self.groups: list[dict[str, Any]] = []
        self.names: tuple[str, ...] = ()


class ModuleStack(list[torch.nn.Module]):
    """The modules whose forward is under way, outermost first, in the thread that trains."""

    thread: int = 0


class Registry:
    """All entries of one session. Entries are found by the identity of the user's objects."""

    def __init__(self) -> None:
        self.stack = ModuleStack()
        self.parameters: dict[int, ParameterEntry] = {}
        self.optimizers: list[OptimizerEntry] = []
        self.roots: dict[int, tuple[weakref.ref[torch.nn.Module], str]] = {}
        self._modules: dict[int, tuple[weakref.ref[torch.nn.Module], str]] = {}
        self._optimizer_ids: dict[int, OptimizerEntry] = {}
        self._built: dict[int, tuple[weakref.ref[torch.nn.Module], tuple[CodeType, int]]] = {}
        self._put: dict[int, tuple[weakref.ref[torch.Tensor], tuple[CodeType, int]]] = {}
        self._loaders: dict[int, tuple[weakref.ref[Any], tuple[CodeType, int]]] = {}
        self._strays: dict[int, tuple[weakref.ref[torch.Tensor], int]] = {}
        self.manual_updates = False
        self.loaded: set[int] = set()
        self.inits = Inits()
        self.feeding_trained: set[int] = set()
        """Frozen tensors whose results go into layers that are trained, by id."""
        self.fed_by_trained: set[int] = set()
        """...and those through which gradients pass on their way to trained layers."""

    # -- models -------------------------------------------------------------------------------------------------

    def add_root(self, module: torch.nn.Module, frame: FrameType | None) -> str:
        """Name a module that the script calls directly, and everything in it."""
        known = self.roots.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        if self.knows(module):
            return ""  # a part of a root, called on its own
        variable = variable_holding(frame, module).removeprefix("self.")
        prefix = "" if not self._live_roots(module) else (variable or type(module).__name__) + "."
        self.roots[id(module)] = (weakref.ref(module), prefix)
        self.refresh(module, prefix)
        return prefix

    def _live_roots(self, other: torch.nn.Module) -> list[torch.nn.Module]:
        return [m for ref, _ in self.roots.values() if (m := ref()) is not None and m is not other]

    def refresh(self, module: torch.nn.Module, prefix: str) -> None:
        """Name all layers and parameters below `module`; names given earlier stay unless a parent now owns them."""
        for path, child in module.named_modules():
            layer = (prefix + _clean(path)).rstrip(".")
            if not self.knows(child):
                self._modules[id(child)] = (weakref.ref(child), layer)
            for own_name, tensor in child.named_parameters(recurse=False):
                entry = self.add_parameter(tensor, f"{layer}.{own_name}".lstrip("."), layer, type(child).__name__, module)
                entry.owner = entry.owner or weakref.ref(child)

    def root_modules(self) -> Iterator[tuple[torch.nn.Module, str]]:
        for ref, prefix in list(self.roots.values()):
            if (module := ref()) is not None:
                yield module, prefix

    def knows(self, module: torch.nn.Module) -> bool:
        found = self._modules.get(id(module))
        return found is not None and found[0]() is module

    def layer_name(self, module: torch.nn.Module) -> str:
        return self._modules[id(module)][1] if self.knows(module) else type(module).__name__

    def refresh_all(self) -> None:
        """Layers may have been replaced since their root was named."""
        for module, prefix in self.root_modules():
            self.refresh(module, prefix)

    def note_loader(self, loader: Any, key: tuple[CodeType, int] | None) -> None:
        if key is not None:
            self._loaders[id(loader)] = (weakref.ref(loader), key)

    def loader_built_at(self, loader: Any) -> tuple[CodeType, int] | None:
        found = self._loaders.get(id(loader))
        return found[1] if found is not None and found[0]() is loader else None

    def note_built(self, module: torch.nn.Module, key: tuple[CodeType, int] | None) -> None:
        """Remember the user's line that made a module, once (the outermost of its constructors is told last)."""
        if key is not None:
            self._built[id(module)] = (weakref.ref(module), key)

    def built_at(self, module: torch.nn.Module) -> tuple[CodeType, int] | None:
        found = self._built.get(id(module))
        return found[1] if found is not None and found[0]() is module else None

    def note_put(self, parameter: torch.Tensor, key: tuple[CodeType, int] | None) -> None:
        """Remember the user's line that put a parameter into a layer in place of another."""
        if key is not None:
            self._put[id(parameter)] = (weakref.ref(parameter), key)

    def put_at(self, parameter: torch.Tensor, entry: ParameterEntry) -> tuple[CodeType, int] | None:
        """The line that put a parameter into its model: by itself, or with its layer."""
        found = self._put.get(id(parameter))
        if found is not None and found[0]() is parameter:
            return found[1]
        owner = entry.owner() if entry.owner is not None else None
        return self.built_at(owner) if owner is not None else None

    # -- parameters ---------------------------------------------------------------------------------------------

    def add_parameter(self, tensor: torch.Tensor, name: str, layer: str = "", kind: str = "", root: torch.nn.Module | None = None) -> ParameterEntry:
        entry = self.parameters.get(id(tensor))
        if entry is None or entry.ref() is not tensor:
            entry = self.parameters[id(tensor)] = ParameterEntry(tensor, name, layer, kind)
            if tensor.numel() and tensor.layout == torch.strided and not tensor.is_meta:
                block = sample(tensor)
                entry.block = block
                values = block.float()
                entry.initial = (float(values.mean()), float(values.std(unbiased=False)))
        if root is not None and entry.root is None:
            entry.name, entry.layer, entry.kind = name, layer, kind
            entry.root = weakref.ref(root)
            entry.attached = True
        return entry

    def meet_stray(self, tensor: torch.Tensor, step: int, frame: FrameType | None) -> None:
        """A trainable tensor that no known model holds, met in the forward pass.

        It may be a layer kept in a plain list, or a tensor of the user's. One that is made anew each step (an input whose
        gradient is asked for) is none: plain tensors must be met again on another step.
        """
        first = self._strays.setdefault(id(tensor), (weakref.ref(tensor), step))
        if first[0]() is not tensor:
            self._strays[id(tensor)] = (weakref.ref(tensor), step)
        elif isinstance(tensor, torch.nn.Parameter) or first[1] != step:
            name, layer, kind = self._locate(tensor, frame)
            self.add_parameter(tensor, name, layer, kind)

    def _locate(self, tensor: torch.Tensor, frame: FrameType | None) -> tuple[str, str, str]:
        """Name, layer and kind of a stray: by the way to it from a known module in the call stack, else by the user's variable."""
        for i in reversed(range(len(self.stack))):
            inner = self.stack[i + 1] if i + 1 < len(self.stack) else None
            if not self.knows(self.stack[i]):
                continue
            if inner is None:
                return ".".join(p for p in (self.layer_name(self.stack[i]), _inside(self.stack[i], tensor)) if p), "", ""
            base = ".".join(p for p in (self.layer_name(self.stack[i]), _inside(self.stack[i], inner) or type(inner).__name__) if p)
            for path, child in inner.named_modules():
                for own, parameter in child.named_parameters(recurse=False):
                    if parameter is tensor:
                        layer = f"{base}.{path}".rstrip(".")
                        return f"{layer}.{own}", layer, type(child).__name__
        for name, value in _scope(frame) if frame is not None else ():
            if value is tensor:
                return name, "", ""
        return f"tensor of shape {tuple(tensor.shape)}", "", ""

    def entry(self, tensor: torch.Tensor) -> ParameterEntry | None:
        found = self.parameters.get(id(tensor))
        return found if found is not None and found.ref() is tensor else None

    def all_trained(self, tensors: Sequence[torch.Tensor]) -> bool:
        """Whether these are all the tensors with a gradient of the models that are known."""
        asked = {id(t) for t in tensors}
        trained = {id(t) for t, entry in self.entries() if t.requires_grad and entry.root is not None}
        return bool(trained) and asked == trained

    def newcomers(self, frame: FrameType | None) -> Iterator[tuple[torch.Tensor, str]]:
        """Trainable tensors that were met once so far, with the user's names for them."""
        for ref, _ in list(self._strays.values()):
            if (tensor := ref()) is not None and tensor.requires_grad and self.entry(tensor) is None:
                yield tensor, self._locate(tensor, frame)[0]

    def look_who_is_attached(self) -> None:
        """Layers may have been replaced since; a model that is gone keeps its last state."""
        now: dict[int, set[int]] = {}
        for entry in self.parameters.values():
            root = entry.root() if entry.root is not None else None
            if root is not None:
                held = now.get(id(root))
                if held is None:
                    held = now[id(root)] = {id(p) for p in root.parameters()}
                tensor = entry.ref()
                entry.attached = tensor is not None and id(tensor) in held

    def entries(self) -> Iterator[tuple[torch.Tensor, ParameterEntry]]:
        for entry in list(self.parameters.values()):
            if (tensor := entry.ref()) is not None:
                yield tensor, entry

    # -- optimizers ---------------------------------------------------------------------------------------------

    def add_optimizer(self, optimizer: torch.optim.Optimizer, built_at: Place | None, frame: FrameType | None) -> OptimizerEntry:
        entry = self._optimizer_ids.get(id(optimizer))
        if entry is not None and entry.ref() is optimizer:
            return entry
        entry = OptimizerEntry(len(self.optimizers), optimizer, built_at)
        self.optimizers.append(entry)
        self._optimizer_ids[id(optimizer)] = entry
        self._name_from(frame, optimizer)
        return entry

    def _name_from(self, frame: FrameType | None, optimizer: torch.optim.Optimizer) -> None:
        """Find the user's names for what the optimizer holds, in the scope where it is built."""
        wanted = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if frame is not None:
            models: dict[int, torch.nn.Module] = {}
            for name, value in _scope(frame):
                # By type: asking a proxy of another library what it is may raise.
                if issubclass(type(value), torch.nn.Module):
                    if any(id(p) in wanted for p in value.parameters()):
                        models[id(value)] = value
                elif issubclass(type(value), torch.Tensor) and id(value) in wanted:
                    self.add_parameter(value, name)
            parts = {id(m) for model in models.values() for m in model.modules() if m is not model}
            for model in models.values():
                if id(model) not in parts:
                    self.add_root(model, frame)
        for group in optimizer.param_groups:
            for i, p in enumerate(group["params"]):
                if self.entry(p) is None:
                    self.add_parameter(p, f"parameter {i} of {type(optimizer).__name__}")

    def optimizer(self, optimizer: torch.optim.Optimizer) -> OptimizerEntry:
        # accelerate hands out a shell; the optimizer inside it makes the steps.
        while isinstance(inner := vars(optimizer).get("optimizer"), torch.optim.Optimizer):
            optimizer = inner
        entry = self._optimizer_ids.get(id(optimizer))
        return entry if entry is not None and entry.ref() is optimizer else self.add_optimizer(optimizer, None, None)

    def claim(self, entry: OptimizerEntry, optimizer: torch.optim.Optimizer) -> None:
        """Note which parameters an optimizer holds now (groups can be added while training)."""
        names = []
        for i, p in enumerate(p for group in optimizer.param_groups for p in group["params"]):
            found = self.entry(p) or self.add_parameter(p, f"parameter {i} of {entry.kind}")
            found.optimizer = entry.index
            names.append(found.name)
        entry.names = tuple(names)

    def has_trained(self, entry: ParameterEntry) -> bool:
        """Whether training in this process has moved a parameter, or an optimizer that holds it has stepped."""
        return entry.moved is True or any(o.index == entry.optimizer and o.steps > 0 for o in self.optimizers)


def sample(tensor: torch.Tensor, size: int = _BLOCK) -> torch.Tensor:
    """A copy of at most `size` elements, evenly spread: what is measured instead of the whole tensor."""
    return spread(tensor, size).clone()


def spread(tensor: torch.Tensor, size: int) -> torch.Tensor:
    """The same without the copy: for numbers that are used at once.

    A few short stretches rather than single elements far apart: each element of its own would cost a cache miss, and a
    thousand of those cost more than all the arithmetic on them.
    """
    flat = real(tensor.detach())
    flat = flat.reshape(-1) if flat.is_contiguous() else flat.flatten()
    count = flat.numel()
    if count <= size or size < STRETCHES:
        return flat[:size]
    length = size // STRETCHES
    return flat.as_strided((STRETCHES, length), ((count - length) // (STRETCHES - 1), 1))


def _inside(holder: torch.nn.Module, wanted: object) -> str:
    """Where an object is kept in a module's attributes: "blocks[2]", "heads['a']", "scale"; "" if it is not there."""
    for name, value in vars(holder).items():
        if value is wanted:
            return name
        if isinstance(value, (list, tuple)):
            for i, item in enumerate(value):
                if item is wanted:
                    return f"{name}[{i}]"
        elif isinstance(value, dict) and not name.startswith("_"):
            for key, item in value.items():
                if item is wanted:
                    return f"{name}[{key!r}]"
    return ""


def _clean(path: str) -> str:
    for wrapper in _WRAPPERS:
        while path.startswith(wrapper) or path == wrapper[:-1]:
            path = path[len(wrapper) :]
    return path


def _scope(frame: FrameType) -> Iterator[tuple[str, Any]]:
    """Names the user has at hand: locals, the attributes of `self`, globals; also inside short lists and dicts."""
    owner = frame.f_locals.get("self")
    attributes = getattr(owner, "__dict__", {}) if owner is not None else {}
    modules = getattr(owner, "_modules", {}) if owner is not None else {}
    for scope in (frame.f_locals, attributes, modules, frame.f_globals):
        for name, value in list(scope.items()):
            yield str(name), value
            if issubclass(type(value), (list, tuple)) and len(value) <= 64:
                for i, item in enumerate(value):
                    yield f"{name}[{i}]", item
            elif type(value) is dict and len(value) <= 64 and not str(name).startswith("__"):
                for key, item in value.items():
                    if type(key) in (str, int):
                        yield f"{name}[{key!r}]", item
