"""Where NaN or infinity first came up in a live graph: back from the loss to the node that was given only finite values."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from sickbay.observe.forensics.live import LEAF, Live
from sickbay.observe.forensics.values import NAN, Values, kind_of

_HARMLESS = frozenset(
    "Add Sub Rsub Neg Abs Sum Mean View UnsafeView ReshapeAlias Transpose T Permute Squeeze Unsqueeze Expand Select Slice Index Clone ToCopy Copy "
    "Cat Stack Split Unbind Relu Clamp ClampMin ClampMax Where MaskedFill Gather IndexSelect Repeat Mul Alias NativeDropout Threshold LeakyRelu".split()
)
"""Operations that give finite values for finite ones unless they overflow: the last to be suspected."""
_MASKS = frozenset("MaskedFill Where Fill CopySlices IndexPut MaskedScatter Add Triu Tril".split())
"""Operations by which an infinity gets in on purpose (masks of attention): then the first NaN is what counts."""

OVERFLOWS = 1e30
"""Sums of smaller values fit float32."""


def family(name: str) -> str:
    """ "MulBackward0" -> "Mul"."""
    return name.rpartition("Backward")[0] or name


@dataclass
class Found:
    kind: str
    """As `FirstInvalid.origin`."""
    node: int
    """The node at which it came up."""
    path: list[int]
    """From there to the loss."""
    source: torch.Tensor | None = None
    """The constant that brought it in, if one did."""


def search(live: Live, values: Values) -> Found:
    """The loss is known to be not finite."""
    at, path, with_nan = 0, [0], 0
    bad = _Bad(live, values)
    seen = {0}
    while True:
        if values.kind(at) == NAN:
            with_nan = len(path)
        source = next((s for s in values.sources[at] if s.dim() and kind_of(s)), None)  # a plain number is part of the formula
        below = [i for i in live.made(at) if i not in seen]
        following = bad.earliest([i for i in below if bad.surely(i)])
        if following is None and source is not None and kind_of(source) == NAN:
            return Found("data", at, path[::-1], source)
        if following is None:
            following = bad.earliest([i for i in below if bad.likely(i)])
        if following is None and family(live.names[at]) in _HARMLESS and source is None:
            following = next((i for i in below if bad.unknown(i)), None)
        if following is None:
            break
        seen.add(following)
        at = following
        path.append(at)
    if live.names[at] == LEAF:
        return Found("parameter", at, path[::-1])
    masked = family(live.names[at]) in _MASKS and values.kind(at) != NAN
    if masked and 0 < with_nan < len(path):
        path = path[:with_nan]
        at = path[-1]
    elif source is not None or _unseen_constant(live, values, at):
        return Found("data", at, path[::-1], source)
    return Found("operation", at, path[::-1])


def _unseen_constant(live: Live, values: Values, at: int) -> bool:
    """Whether an operand that is not kept must have brought it in: sums and differences of ordinary finite values are finite."""
    if family(live.names[at]) not in ("Add", "Sub", "Rsub") or None not in live.children[at] or not values.kind(at):
        return False
    known = [v for i in live.made(at) if (v := values.value(i)) is not None and v.numel()]
    return all(float(v.abs().max()) < OVERFLOWS for v in known)


class _Bad:
    """Whether what a node gave is not finite, as far as can be told."""

    def __init__(self, live: Live, values: Values) -> None:
        self.live, self.values = live, values
        self._likely: dict[int, bool] = {}
        self._began: dict[int, int] = {}
        """For each node that is likely not finite: when the first operation behind it ran that was not."""
        for order, i in enumerate(live.from_the_leaves()):
            known = values.kind(i)
            below = [c for c in live.made(i) if self._likely.get(c, False)]
            self._likely[i] = bool(known) if known is not None else bool(below)
            on_purpose = not below and family(live.names[i]) in _MASKS and known != NAN
            self._began[i] = min((self._began[c] for c in below), default=len(live.nodes) if on_purpose else order)

    def earliest(self, nodes: list[int]) -> int | None:
        """Which of several to follow: NaN before infinity, then the one whose origin ran first."""
        return min(nodes, key=lambda i: (self.values.kind(i) != NAN, self._began[i]), default=None)

    def surely(self, index: int) -> bool:
        return bool(self.values.kind(index))

    def likely(self, index: int) -> bool:
        """Known to be, or made of something that is and not known to be finite."""
        return self._likely[index]

    def unknown(self, index: int) -> bool:
        """Nothing is known of it, and it (or what it was made of, through harmless operations) may have failed."""
        todo, seen = [index], {index}
        while todo:
            i = todo.pop()
            if self.values.kind(i) is not None:
                continue
            if family(self.live.names[i]) not in _HARMLESS:
                return True
            below = [c for c in self.live.made(i) if c not in seen]
            seen.update(below)
            todo += below
        return False
