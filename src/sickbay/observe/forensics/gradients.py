"""Which few gradients are looked at before every update, so that NaN in any of them is seen in its own step.

NaN that comes up in backward flows on to all earlier layers: a row of NaN multiplied by any weight is NaN, and only units that are switched
off for that row (ReLU) stop it. So one small gradient near the input (a bias holds one number per unit) tells of the whole net, one more
right behind each steep operation, from which nothing can be lost on the way, and one for each branch that begins with parameters of its own.
The norm of all gradients, when it is due or when the script clips by it, sees the rest.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterable, Mapping, Sequence

import torch

from sickbay.observe.forensics.live import LEAF, Live
from sickbay.observe.forensics.slopes import Steep

MOST_TENSORS = 6
"""One or two in most nets, at 2 microseconds each."""
MOST_STEEP = 3
"""...of which so many are chosen before the branches get their own."""
MOVES = frozenset(
    f"{name}Backward0" for name in "T Transpose Permute View UnsafeView ReshapeAlias Expand Unsqueeze Squeeze Slice Select ToCopy Alias".split()
)
"""Operations that only move numbers: nothing arises in them."""
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
            if type(gradient) is not torch.Tensor:
                continue  # a tensor that is spread over processes would have to ask the others
            if gradient.requires_grad:
                gradient = gradient.detach()
            if gradient.is_sparse:  # of the rows of an embedding that this batch used
                gradient = gradient._values()
                large = gradient.numel() > MOST_ELEMENTS
            if not _square_is_finite(gradient, flat, large):
                return True
        return False

    def weights_broken(self) -> bool:
        """Whether one of the parameters themselves is not finite any more."""
        for reference, flat, large in self.chosen:
            parameter = reference()
            if parameter is None:
                continue
            weight = parameter.detach()
            if not _square_is_finite(weight, flat, large) and not bool(torch.isfinite(weight).all()):
                return True
        return False


def _square_is_finite(values: torch.Tensor, flat: bool, large: bool) -> bool:
    """By the cheapest call that passes NaN on. A row of NaN is NaN in every column: of a large matrix the first one is enough."""
    if not flat:
        values = values.flatten(1).select(1, 0) if large else values.flatten()
    return math.isfinite(values.dot(values).item())


def choose(uses: Mapping[int, int], steep: Iterable[Steep], entrances: Iterable[frozenset[int]], held: Iterable[torch.Tensor]) -> Guard:
    """For an optimizer that holds these parameters: one near the input, the nearest behind each steep operation, and one at each entrance."""
    held = list(held)
    if not any(id(p) in uses for p in held):  # no graph was read (compiled code): as the script lists them, which mostly is from the input on
        uses = {id(p): NEAR * i for i, p in enumerate(held)}
    small = {id(p): p for p in held if id(p) in uses and _cheap(p)}
    early = sorted(small, key=lambda k: (small[k].numel() > MOST_ELEMENTS, uses[k] // NEAR, small[k].numel()))
    chosen = early[:1]
    # A value of the input that is not finite shows in the first weight alone: what a bias is given does not depend on it.
    matrices = [k for k in early if small[k].dim() > 1 and small[k].numel() <= MOST_ELEMENTS and k not in chosen]
    if matrices and chosen and uses[matrices[0]] // NEAR <= uses[chosen[0]] // NEAR:
        chosen.append(matrices[0])
    for one in steep:
        reached = max((k for k in small if k in one.behind), key=lambda k: (uses[k] // NEAR, -small[k].numel()), default=None)
        if reached is not None and reached not in chosen and len(chosen) < MOST_STEEP:
            chosen.append(reached)
    for entrance in entrances:
        smallest = min((k for k in entrance if k in small), key=lambda k: small[k].numel(), default=None)
        if smallest is not None and entrance.isdisjoint(chosen) and len(chosen) < MOST_TENSORS:
            chosen.append(smallest)
    return Guard([small[k] for k in chosen])


def first_uses(live: Live) -> dict[int, int]:
    """For each leaf (by identity): the number of the first node that uses it, in the order in which they ran."""
    uses: dict[int, int] = {}
    for order, i in enumerate(live.from_the_leaves()):
        for child in live.made(i):
            if live.names[child] == LEAF:
                uses.setdefault(id(live.nodes[child].variable), order)
    return uses


def entrances_of(live: Live) -> list[frozenset[int]]:
    """The parameters (by identity) of each operation with none below it that has any: whatever arises in a backward pass comes to one of these."""
    behind: dict[int, frozenset[int]] = {}
    above: set[int] = set()
    """Nodes at or above such an operation."""
    found = []
    for i in live.from_the_leaves():
        made = live.made(i)
        if live.names[i] == LEAF:
            behind[i] = frozenset({id(live.nodes[i].variable)})
        elif any(child in above for child in made):
            above.add(i)
        else:
            behind[i] = frozenset().union(*(behind.get(child, frozenset()) for child in made))
            if behind[i] and live.names[i] not in MOVES:
                above.add(i)
                found.append(behind[i])
    return list(dict.fromkeys(found))


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
