"""Who filled a weight: the calls of torch.nn.init, and the numbers that random ones drew.

A weight that holds the very numbers of a random initialisation when training begins was neither loaded nor trained.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from sickbay.observe.patches import Patches
from sickbay.observe.places import USER, key_here, kind_of
from sickbay.observe.trace import inside_transform

if TYPE_CHECKING:
    from sickbay.observe.session import Session

RANDOM = (
    "uniform_",
    "normal_",
    "trunc_normal_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
)
FIXED = ("constant_", "ones_", "zeros_", "eye_", "dirac_")
TAIL = 8
"""A weight is recognised by its last numbers; eight random ones do not come twice."""
MOST = 20_000


@dataclass(frozen=True, slots=True)
class Fill:
    """One call of a function of torch.nn.init on one tensor."""

    order: int
    """Counts these calls and those of load_state_dict: which came later."""
    function: str
    key: tuple[CodeType, int] | None
    by_user: bool
    """The script called it; otherwise a layer of torch's did while it was made."""


class Inits:
    """What is known of all fills of a session, by tensor and by the numbers drawn."""

    def __init__(self) -> None:
        self.count = 0
        self._newest: dict[int, tuple[weakref.ref[torch.Tensor], Fill]] = {}
        self._drawn: dict[tuple[float, ...], Fill] = {}
        self._frozen: dict[int, tuple[weakref.ref[torch.Tensor], tuple[CodeType, int]]] = {}

    def next_order(self) -> int:
        self.count += 1
        return self.count

    def filled(self, tensor: torch.Tensor, function: str, key: tuple[CodeType, int] | None, by_user: bool) -> None:
        if len(self._newest) >= MOST or tensor.dim() < 2:
            return
        fill = Fill(self.next_order(), function, key, by_user)
        self._newest[id(tensor)] = (weakref.ref(tensor), fill)
        if function in RANDOM and (numbers := tail(tensor)) is not None:
            self._drawn[numbers] = fill

    def frozen(self, module: torch.nn.Module, key: tuple[CodeType, int] | None) -> None:
        if key is not None and len(self._frozen) < MOST:
            self._frozen.update({id(p): (weakref.ref(p), key) for p in module.parameters()})

    def newest(self, tensor: torch.Tensor) -> Fill | None:
        found = self._newest.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def drew(self, tensor: torch.Tensor) -> Fill | None:
        """The call that drew the very numbers which the tensor holds now (or the tensor that it is a copy of)."""
        numbers = tail(tensor)
        return self._drawn.get(numbers) if numbers is not None else None

    def frozen_at(self, tensor: torch.Tensor) -> tuple[CodeType, int] | None:
        found = self._frozen.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None


def tail(tensor: torch.Tensor) -> tuple[float, ...] | None:
    """The last numbers of a tensor; None if they could be anybody's (few, or constant) or are not there to be read."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or tensor.is_meta or tensor.layout != torch.strided or not tensor.is_floating_point():
        return None
    if tensor.numel() < TAIL:
        return None
    numbers = tuple(tensor.detach().reshape(-1)[-TAIL:].tolist())
    return numbers if len(set(numbers)) > TAIL // 2 else None


def watch_inits(session: Session, patches: Patches) -> None:
    """Wrap torch.nn.init and Module.requires_grad_."""
    depth = 0
    inits = session.registry.inits

    def around(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def wrapper_of(original: Callable[..., Any]) -> Callable[..., Any]:
            def fill(*args: Any, **kwargs: Any) -> Any:
                nonlocal depth
                if depth or session.busy or session.off or torch.compiler.is_compiling() or inside_transform():
                    return original(*args, **kwargs)
                depth = 1
                try:
                    result = original(*args, **kwargs)
                finally:
                    depth = 0
                tensor = args[0] if args else kwargs.get("tensor")
                if isinstance(tensor, torch.Tensor):
                    by_user = kind_of(sys._getframe(1).f_code) == USER
                    with torch._C.DisableTorchFunction():
                        session.fire("initialised", tensor, name, key_here(), by_user)
                return result

            return fill

        return wrapper_of

    def around_freezing(original: Callable[..., Any]) -> Callable[..., Any]:
        def requires_grad_(self: torch.nn.Module, requires_grad: bool = True) -> Any:
            if not requires_grad and not session.busy and not session.off:
                inits.frozen(self, key_here())
            return original(self, requires_grad)

        return requires_grad_

    # These bound the functions by name before we came.
    others = (torch.nn.modules.activation, torch.nn.modules.transformer)
    for name in (*RANDOM, *FIXED):
        for owner in (torch.nn.init, *(o for o in others if hasattr(o, name))):
            patches.wrap(owner, name, around(name))
    patches.wrap(torch.nn.Module, "requires_grad_", around_freezing)
