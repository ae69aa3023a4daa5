"""One reading of the trace behind one loss: who depends on what, and how to walk and name it.

The findings themselves are made by `readers/`, one file per thing that can be found.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import LossCall, Site
from sickbay.observe.places import place_of
from sickbay.observe.trace import Node, Trace, trainable

if TYPE_CHECKING:
    from sickbay.observe.session import Session

SHAPE_ONLY = frozenset(
    "view reshape squeeze unsqueeze flatten permute transpose t T mT movedim swapaxes contiguous clone to float double half "
    "type getitem narrow expand expand_as view_as reshape_as unflatten chunk split select index_select type_as cpu cuda BackwardHookFunction".split()
)
"""Operations that pass values on unchanged: what feeds them feeds what follows."""
NO_GRADIENT = frozenset({"round", "floor", "ceil", "sign", "trunc", "heaviside", "sgn"})
"""Attached to the graph, but their gradient is zero everywhere."""


class Reading:
    """One reading of the trace behind one loss."""

    def __init__(self, session: Session, trace: Trace, calls: list[LossCall], site: Site, loss: torch.Tensor) -> None:
        self.session = session
        self.registry = session.registry
        self.trace = trace
        self.calls = calls
        """Calls of known loss functions in this step."""
        self.site = site
        self.loss = loss
        self.parameters: list[torch.Tensor] = []
        self._bits: dict[int, int] = {}
        self.behind: list[int] = []
        """For each node: bit set of trainable parameters its value was made from, gradient or not."""
        self.live: list[int] = []
        """...and those that a gradient can reach from here."""
        root = trace.maker_or_function(loss)  # it may add a node
        self._flow()
        self.rebuilt = root is None
        """No followed operation made the loss: its value came from outside torch."""
        self.ancestors = trace.ancestors(root) if root is not None else []
        """The operations that the loss was made from, nearest first."""
        self.reached = self.live[root] if root is not None else 0
        """Parameters that a gradient of the loss can reach."""

    def known(self, what: str) -> dict[Any, Any]:
        """What was found so far for `facts.Loss.<what>`, by key."""
        return self.site.found.setdefault(what, {})

    def add(self, what: str, key: Any, finding: Any, most: int = 16) -> None:
        """Note a finding of `facts.Loss.<what>`, once by its key."""
        known = self.known(what)
        if len(known) < most:
            known.setdefault(key, finding)

    def looks_again(self, what: str, key: Any, most: int) -> bool:
        """Whether a finding was looked at fewer than `most` times, this time not counted: it may come in late, with another phase of the training."""
        looks = self.site.looks
        looks[what, key] = looks.get((what, key), 0) + 1
        return looks[what, key] <= most

    # -- parameters ---------------------------------------------------------------------------------------------

    def _bit(self, tensor: torch.Tensor) -> int:
        if not trainable(tensor):
            return 0
        index = self._bits.get(id(tensor))
        if index is None:
            index = self._bits[id(tensor)] = len(self.parameters)
            self.parameters.append(tensor)
        return 1 << index

    def _flow(self) -> None:
        for node in self.trace.nodes:
            behind = live = 0
            for i in node.inputs:
                behind |= self.behind[i]
                live |= self.live[i]
            for tensor in node.sources:
                if (entry := self.registry.entry(tensor)) is not None:
                    entry.called = True
                bit = self._bit(tensor)
                behind |= bit
                live |= bit
            self.behind.append(behind)
            self.live.append(live if node.output_attached and node.name not in NO_GRADIENT else 0)

    def arriving(self, node: Node) -> int:
        """Parameters that a gradient can reach from what goes into an operation."""
        live = 0
        for i in node.inputs:
            live |= self.live[i]
        for tensor in node.sources:
            live |= self._bit(tensor)
        return live

    def names(self, bits: int) -> tuple[str, ...]:
        names = []
        for i, tensor in enumerate(self.parameters):
            if bits >> i & 1 and (entry := self.registry.entry(tensor)) is not None:
                names.append(entry.name)
        return tuple(names)

    def depends(self, node: Node, argument: int) -> bool:
        maker = node.args[argument]
        return bool(self.behind[maker]) if maker is not None else node.attached[argument]

    def held(self, node: Node, argument: int) -> torch.Tensor | None:
        """The tensor that stood there, if the script still holds it (or it came from outside the step)."""
        maker = node.args[argument]
        if maker is not None:
            return self.trace.made_by(maker)
        return node.sources[sum(m is None for m in node.args[:argument])]

    def takes_data(self, node: Node) -> bool:
        """It uses a tensor that nobody trains and that no operation made; the layer's own buffers (running averages) are none."""
        layer = node.layer() if node.layer is not None else None
        own = {id(b) for b in layer.buffers(recurse=False)} if layer is not None else set()
        return any(not t.requires_grad and t.dim() and id(t) not in own and self.registry.entry(t) is None for t in node.sources)

    # -- walking ------------------------------------------------------------------------------------------------

    def producer(self, index: int | None) -> Node | None:
        """The operation that really made a value: past views, casts and copies."""
        while index is not None:
            node = self.trace.nodes[index]
            if node.name not in SHAPE_ONLY:
                return node
            index = node.args[0] if node.args else None
        return None

    def chain(self, index: int | None, length: int = 8) -> Iterator[facts.Op]:
        for _ in range(length):
            node = self.producer(index)
            if node is None:
                return
            yield self.op(node)
            index = next((i for i, attached in zip(node.args, node.attached, strict=True) if i is not None and attached), None)

    # -- naming -------------------------------------------------------------------------------------------------

    def op(self, node: Node) -> facts.Op:
        return facts.Op(name=node.name, place=self.place(node), shape=node.shape)

    def layer(self, node: Node) -> str | None:
        module = node.layer() if node.layer is not None else None
        return self.registry.layer_name(module) or None if module is not None else None

    def place(self, node: Node) -> Place | None:
        """The user's line of an operation. Inside a container such as nn.Sequential that is where the layer was made."""
        key = node.key
        module = node.layer() if node.layer is not None else None
        if module is not None and _is_torchs(type(module)) and node.parent is not None and _is_torchs(node.parent):
            key = self.registry.built_at(module) or key
        if key is None:
            return None
        return replace(place_of(*key), layer=self.layer(node))


def _is_torchs(kind: type) -> bool:
    return kind.__module__.startswith("torch.")


def line_of(place: Place | None) -> tuple[str | None, int | None] | None:
    return (place.file, place.line) if place is not None else None
