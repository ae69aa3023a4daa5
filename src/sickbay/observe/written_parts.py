"""What each operation of a step was made from, also through tensors that are filled part by part (`out[i] = value`)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

import torch

from sickbay.observe.regions import WHOLE, Region, form, within
from sickbay.observe.trace import Node, Store

VIEWS = frozenset(
    "getitem select narrow view reshape squeeze unsqueeze flatten t T mT transpose permute movedim expand expand_as view_as detach data unbind split chunk "
    "diagonal contiguous unflatten tensor_split".split()
)
"""Operations whose result may share the numbers of their first input."""

Spot = tuple[Any, Region | None]
"""A tensor of its own (by the operation that made it, or as itself), and which part of it."""


class Contents:
    """What was written into one tensor so far."""

    def __init__(self) -> None:
        self.form: tuple[int, ...] | None = None
        self.parts: dict[Region, list[int]] = {}
        self.newest: list[int] = []

    def put(self, region: Region | None, makers: list[int]) -> None:
        shape = form(region) if region is not None else (-2,)
        self.form = shape if self.form in (None, shape) else (-2,)
        self.parts[region or WHOLE] = makers
        self.newest = makers

    def read(self, region: Region | None) -> list[int]:
        """What a reader of that part depends on; where parts cannot be told apart, on the newest."""
        if region is not None and region != WHOLE and form(region) == self.form:
            return self.parts.get(region, [])
        return self.newest


class Flow:
    """For each operation: the operations it depends on, and the spot its result lies at."""

    def __init__(self, nodes: Sequence[Node], stores: Sequence[Store]) -> None:
        self.before: list[list[int]] = []
        self.spots: list[Spot] = []
        self.origins: list[list[Spot]] = []
        """Where the inputs of each operation lie."""
        self._filled: list[bool] = []
        self._contents: dict[Any, Contents] = {}
        self._whole: dict[int, list[Contents]] = {}
        """Operations that read a tensor as a whole which was filled part by part."""
        ahead = iter(stores)
        store = next(ahead, None)
        for node in nodes:
            while store is not None and store.after <= node.index:
                self._store(store)
                store = next(ahead, None)
            self._follow(node)

    def ancestors(self, index: int) -> set[int]:
        """All operations that a value was made from, itself included."""
        met, ahead = {index}, [index]
        while ahead:
            at = ahead.pop()
            parts = (makers for contents in self._whole.get(at, ()) for makers in contents.parts.values())
            for p in chain(self.before[at], *parts):
                if p not in met and p < at:  # what was stored later is none of it
                    met.add(p)
                    ahead.append(p)
        return met

    def _store(self, store: Store) -> None:
        if store.target_maker is None and store.target is None:
            return
        root, region = _spot_of(store.target) if store.target is not None else self.spots[store.target_maker or 0]
        self._contents.setdefault(root, Contents()).put(within(region, store.region), store.makers)

    def _follow(self, node: Node) -> None:
        sources = iter(node.sources)
        origins = [self.spots[maker] if maker is not None else _spot_of(next(sources)) for maker in node.args]
        before = [p for p in node.inputs if not self._filled[p]]  # what is in it is told by what was stored
        for root, region in origins[node.name in VIEWS :]:  # of a part that is only picked out, numbers are read where it is used
            if (contents := self._contents.get(root)) is not None:
                before += contents.read(region)
                if region == WHOLE:
                    self._whole.setdefault(node.index, []).append(contents)
        spot: Spot = (node.index, WHOLE)
        if origins and (node.name in VIEWS or node.overwrites):
            root, region = origins[0]
            spot = (root, within(region, node.region) if node.name == "getitem" else region)
            if node.overwrites and node.name != "setitem":
                self._contents.setdefault(root, Contents()).put(region, [node.index])
        self._filled.append(node.name == "setitem")
        self.before.append(before)
        self.spots.append(spot)
        self.origins.append(origins)


def _spot_of(tensor: torch.Tensor) -> Spot:
    """Of a tensor that no followed operation made."""
    if not tensor.is_inference() and tensor._is_view() and tensor._base is not None:
        return ("outside", id(tensor._base)), None
    return ("outside", id(tensor)), WHOLE
