"""Weights start far too small for their number of inputs.

## What happens

Every layer shrinks what passes through it. After a few layers nothing of the input is left: all samples look the same to the last layer, and
the gradient shrinks by the same factors on its way back. The loss stands at the level of guessing, as if the learning rate were zero.

## How we know

Weights are read before the first update: a fifth or less of the usual scale for their number of inputs, in two or more hidden layers with no
normalisation and no residual connection around them. The outputs of the layers on the first step show that the signal is lost on the way, and the
loss is stuck (or, where the signal shrinks a hundredfold, far from solved). A single matrix is enough if its values are so small that no sum over them
could make up for it, whatever it is used for, and neither the loss nor the weights move at all.

## Looks like it but is not

- A small or zero last layer, zero-initialised residual branches, LoRA: only the layers in front of the last count, and branches do not.
- GPT's 0.02 with layer norm: a normalisation undoes any scale.
- Gradients that vanish because of sigmoid activations at weights of the right size: `vanishing-gradient`.
- Weights of the right size with a tiny learning rate: `lr-too-low`.

## Fix

`nn.init.kaiming_normal_` for ReLU nets, `nn.init.xavier_normal_` for tanh, or simply PyTorch's own default.

## References

- Glorot and Bengio 2010; He et al. 2015; Mishkin and Matas 2016 (all you need is a good init).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import first_place, from_sign, hint, listed, strong
from sickbay.causes.initial import Start, init_place, rescaled, signal, solved, starts
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.facts import Weight
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import mend
from sickbay.signs import Signs

SMALL = 0.2
"""A third of PyTorch's own default (0.58), a seventh of He's (1.4)."""
SEVERAL = 2
"""One small layer is a small step for Adam; two in a row multiply."""
LOST = 0.05
"""A twentieth of the signal arrives. PyTorch's default keeps 0.4 of it per ReLU layer, so that three or four such layers, which train well, keep more."""
GONE = 0.01
TINY = 0.1
"""...of the scale of the input, summed over all values: each output of a matrix with a hundred of them has a hundredth of it at most."""
SOLVED = 0.05
"""A loss that ends at a twentieth of its start did not suffer."""


@cause(
    code="A208",
    level="architecture",
    title="weights start too small",
    why="Every layer shrinks the signal and the gradient, so that the last layer sees no difference between samples and the first ones get no gradient.",
    explains={
        "flat-loss", "slow-descent", "early-plateau", "chance-level", "class-imbalance", "small-gradients", "gradient-decay-with-depth", "gradient-growth-with-depth",
        "update-ratio-low", "update-ratio-high", "val-flat-from-start", "vanishing-gradient", "lr-too-low", "lr-too-high", "dead-units", "dead-relu",
        "saturated-units", "activation-collapse",
    },
    cure="reinit",
)  # fmt: skip
def init_too_small(record: Record, signs: Signs) -> Iterator[Evidence]:
    chain = starts(record)
    hidden = [s for s in chain[:-1] if not s.is_output]
    small = [s for s in hidden if 0 < s.gain < SMALL and not s.normalised and not s.on_a_branch]
    trouble = stuck(signs)
    if len(small) < SEVERAL or 2 * len(small) < len(hidden):
        yield from _tiny(record, signs) if trouble is not None else ()
        return
    left = signal(hidden)
    if left is None or left > LOST or (trouble is None and (left > GONE or solved(record, SOLVED))):
        return
    worst = min(small, key=lambda s: s.gain)
    yield strong(_sizes(worst, small), init_place(record, worst.weight), (0, 0), gain=worst.gain, size=worst.weight.rms, inputs=worst.map.fan_in)
    yield strong(
        f"on the first step the last hidden layer's outputs vary {1 / max(left, 1e-30):.3g} times less from sample to sample than the first one's",
        signal=left,
    )
    if trouble is not None:
        yield hint(trouble.text, steps=trouble.steps)


def _tiny(record: Record, signs: Signs) -> Iterator[Evidence]:
    """One matrix of whatever use, through which nothing comes: no gradient moves the weights."""
    if not signs.has("flat-loss") or not signs.has("update-ratio-low", "small-gradients"):
        return
    tiny = [w for w in record.facts.weights if w.trainable and w.rms > 0 and not w.step and _most(w) < TINY]
    if tiny:
        worst = min(tiny, key=_most)
        values = math.prod(worst.shape)
        yield strong(
            f"{worst.name} starts with values of size {worst.rms:.2g}: a sum over all {values:,} of them would be {_most(worst):.2g} of the scale of what goes in",
            init_place(record, worst),
            (0, 0),
            size=worst.rms,
            inputs=values,
        )
        for sign in signs.named("flat-loss", "update-ratio-low", "small-gradients")[:2]:
            yield from_sign("hint", sign)


def _most(w: Weight) -> float:
    """The gain if every value of the matrix went into one output: no use of it has a larger one."""
    return w.rms * math.sqrt(math.prod(w.shape))


def _sizes(worst: Start, small: list[Start]) -> str:
    others = [s.weight.name for s in small if s is not worst]
    return (
        f"{worst.weight.name} starts with values of size {worst.weight.rms:.2g}, and each of its outputs sums up {worst.map.fan_in}: {worst.gain:.2g} of the "
        f"scale of the input (He: 1.4, PyTorch's own default: 0.6); so do {listed(others, 3)}"
    )


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    diff = rescaled(record, first_place(evidence))
    return mend(
        "draw the weights with a size of about 1 / sqrt(number of inputs)",
        diff,
        'nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")',
        "consent",
    )
