"""Which few gradients are looked at before every update, so that NaN in any of them is seen in its own step.

NaN that comes up in backward flows on to all earlier layers: a row of NaN multiplied by any weight is NaN, and only units that are switched
off for that row (ReLU) stop it. So one small gradient near the input (a bias holds one number per unit) tells of the whole net, and one more
right behind each steep operation, from which nothing can be lost on the way. The norm of all gradients, when it is due, sees the rest.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Mapping, Sequence

import torch

from sickbay.observe.forensics.live import LEAF, Live
from sickbay.observe.forensics.slopes import Steep

MOST_TENSORS = 3
MOST_ELEMENTS = 4096
"""Summing so many numbers costs about as much as calling torch for it."""
NEAR = 8
"""Operations this close together are equally near the input: then the smaller gradient is taken."""

_PLAIN = (torch.Tensor, torch.nn.Parameter)


class Guard:
    """The gradients of one optimizer that are looked at."""

    def __init__(self, parameters: Sequence[torch.Tensor]) -> None:
        self.chosen = tuple((weakref.ref(p), p.dim() == 1, p.numel() > MOST_ELEMENTS) for p in parameters)

    def broken(self, given: Mapping[int, torch.Tensor] | None = None) -> bool:
        """Whether any of them is not finite; `given` holds gradients by parameter that are not kept in `.grad`."""
        for reference, flat, large in self.chosen:
            parameter = reference()
            gradient = None if parameter is None else parameter.grad if given is None else given.get(id(parameter))
            if type(gradient) is not torch.Tensor or gradient.is_sparse:
                continue  # a tensor that is spread over processes would have to ask the others
            if gradient.requires_grad:
                gradient = gradient.detach()
            if not flat:  # a row of NaN is NaN in every column: of a large matrix the first one is enough
                gradient = gradient.flatten(1).select(1, 0) if large else gradient.flatten()
            if not math.isfinite(gradient.dot(gradient).item()):  # the cheapest call that passes NaN on
                return True
        return False


def choose(uses: Mapping[int, int], steep: Iterable[Steep], held: Iterable[torch.Tensor]) -> Guard:
    """For an optimizer that holds these parameters: one near the input, and the nearest behind each steep operation."""
    small = {id(p): p for p in held if id(p) in uses and _cheap(p)}
    early = sorted(small, key=lambda k: (small[k].numel() > MOST_ELEMENTS, uses[k] // NEAR, small[k].numel()))
    chosen = early[:1]
    for one in steep:
        reached = max((k for k in small if k in one.behind), key=lambda k: (uses[k] // NEAR, -small[k].numel()), default=None)
        if reached is not None and reached not in chosen and len(chosen) < MOST_TENSORS:
            chosen.append(reached)
    return Guard([small[k] for k in chosen])


def first_uses(live: Live) -> dict[int, int]:
    """For each leaf (by identity): the number of the first node that uses it, in the order in which they ran."""
    uses: dict[int, int] = {}
    for order, i in enumerate(live.from_the_leaves()):
        for child in live.made(i):
            if live.names[child] == LEAF:
                uses.setdefault(id(live.nodes[child].variable), order)
    return uses


def _cheap(p: torch.Tensor) -> bool:
    if type(p) not in _PLAIN or not p.is_cpu or p.layout != torch.strided or not p.is_floating_point() or not p.numel():
        return False  # asking a device would make the step wait for it
    return p.numel() <= MOST_ELEMENTS or (p.dim() > 1 and p.shape[0] <= MOST_ELEMENTS)


def broken_gradients(parameters: Iterable[torch.Tensor], given: Mapping[int, torch.Tensor] | None = None) -> list[torch.Tensor]:
    """All parameters whose gradient is not finite."""
    found = []
    for p in parameters:
        g = p.grad if given is None else given.get(id(p))
        if g is None:
            continue
        values = g._values() if g.layout == torch.sparse_coo else g
        if values.numel() and not bool(torch.isfinite(values).all()):
            found.append(p)
    return found
