"""Weights start far too large for their number of inputs.

## What happens

Each output of a layer is a sum over its inputs. With weights of size 1 and 128 inputs the sum is eleven times as large as each input, the next
layer multiplies it again, and the first predictions are wild: logits in the thousands, a first loss far above that of guessing, tanh and
sigmoid units at their rails. Training spends its steps on shrinking this noise, or never comes out of it.

## How we know

Weights are read before the first update and compared with the number of inputs that each output sums up: He and Xavier start with a size of 1
to 1.4 over the square root of it. Several times as much, with no normalisation behind it, *and* a first loss of several times that of guessing (or
units that are saturated before the first update), *and* a run that needs a good part of its steps to get down to guessing, or is stuck, or started at five times guessing and
was not solved in the end.

## Looks like it but is not

- Embeddings drawn from N(0, 1): a lookup sums nothing up. (Tied to the output layer, or multiplied with each other, they do.)
- A normalisation right behind the layer undoes any scale.
- Inputs of 0 to 255 give a high first loss with weights of the right size: `unscaled-input`.
- A large first layer of a sine network or of random Fourier features, in a run that starts at a sane loss.

## Fix

`nn.init.kaiming_normal_` for ReLU nets, `nn.init.xavier_normal_` for tanh, or PyTorch's own default; by hand, divide by `fan_in ** 0.5`.

## References

- Glorot and Bengio 2010; He et al. 2015 (initialisation by fan-in and activation).
- Karpathy, A recipe for training neural networks: "verify loss @ init".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import first_place, hint, listed, strong
from sickbay.causes.initial import RECURRENT, Start, guessing, init_place, rescaled, signal, solved, starts, steps_to
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import mend
from sickbay.signs import Signs
from sickbay.signs.curves import end

LARGE = 3.5
"""The largest gain that torch.nn.init recommends is 5/3 (for tanh): more than twice that is nobody's recipe."""
WILD = 2.0
"""He weights in every layer, the last included, give a first loss of about guessing + 1; twice guessing + 1 is beyond any of them."""
ABSURD = 5.0
"""Five times guessing is an accident that leaves its marks (units thrown to where they stay dead or saturated, weights of noise), however soon the loss is back."""
LATE = 0.1
"""A tenth of the run only to come back to where a well-scaled net begins."""
SOLVED = 0.15
"""A loss that ends at a seventh of its start did not suffer much."""
RAILS = 0.5
"""Half of all tanh or sigmoid values within 1 % of their rail before the first update; a net of the right scale has a few per cent there."""


@cause(
    code="A207",
    level="architecture",
    title="weights start too large",
    why="The first predictions are wild, units saturate, and training spends its steps on shrinking noise instead of learning.",
    explains={
        "diverging-loss", "oscillating-loss", "loss-spikes", "gradient-spike", "nonfinite-loss", "nonfinite-gradient", "update-ratio-low", "update-ratio-high",
        "flat-loss", "slow-descent", "early-plateau", "chance-level", "class-imbalance", "dead-units", "saturated-units", "val-flat-from-start", "small-gradients",
        "gradient-growth-with-depth", "gradient-decay-with-depth", "dead-relu", "vanishing-gradient", "lr-too-high", "lr-too-low", "val-rising", "overfitting",
        "saturated-activation", "exploding-gradient", "activation-growth",
    },
    cure="reinit",
)  # fmt: skip
def init_too_large(record: Record, signs: Signs) -> Iterator[Evidence]:
    large = [s for s in starts(record) if s.gain > LARGE and not s.normalised]
    if not large:
        yield from _factors(record) or _recurrent(record, signs)
        return
    trouble = stuck(signs)
    wild, saturated = _wild(record, trouble is not None), _saturated(record)
    unsolved = trouble is not None or not solved(record, SOLVED)
    grown = _grown(record) if guessing(record) is None and unsolved else None
    if wild is None and grown is None and not (saturated and unsolved):
        return
    yield _sizes(record, large)
    yield from (e for e in (wild, grown) if e is not None)
    if saturated:
        yield strong(f"the units of {saturated} are at their rails before the first update, where hardly any gradient passes")
    if trouble is not None:
        yield hint(trouble.text, steps=trouble.steps)


def _sizes(record: Record, large: list[Start]) -> Evidence:
    worst = next(s for s in large if 2 * s.gain >= max(x.gain for x in large))
    fan_in, others = worst.map.fan_in, [s.weight.name for s in large if s is not worst]
    more = f"; so {'do' if len(others) > 1 else 'does'} {listed(others, 3)}" if others else ""
    tied = " (an embedding that is the output layer's weight too)" if worst.weight.layer_kind == "Embedding" else ""
    return strong(
        f"{worst.weight.name}{tied} starts with values of size {worst.weight.rms:.2g}, and each of its outputs sums up {fan_in}: {worst.gain:.3g} times the "
        f"scale of the input (He: 1.4, PyTorch's own default: 0.6){more}",
        init_place(record, worst.weight),
        (0, 0),
        gain=worst.gain,
        size=worst.weight.rms,
        inputs=fan_in,
    )


def _wild(record: Record, ends_in_guessing: bool = False) -> Evidence | None:
    """The first loss is far above that of guessing, and the way back takes a good part of the run; or it is soon back there, and stays."""
    found = guessing(record)
    if found is None or not len(found[0]) or record.facts.run.steps == 0:
        return None
    c, level = found
    first, back = float(c.values[0]), steps_to(c, level)
    soon = back is not None and back < LATE * record.facts.run.steps
    marked = first > ABSURD * level and end(c).value > SOLVED * level
    if first < WILD * level + min(1.0, level) or (soon and not ends_in_guessing and not marked):
        return None
    way = "never gets down to that" if back is None else f"needs {back} of {record.facts.run.steps} steps to get down to that"
    way = "gets down to that, and no further" if soon and ends_in_guessing else way
    return strong(
        f"the first loss is {first:.4g} where guessing costs {level:.3g}, and the run {way}", steps=(0, back or int(c.steps[-1])), first=first
    )


def _grown(record: Record) -> Evidence | None:
    """For losses that cannot be compared with guessing: layer after layer multiplies the signal."""
    growth = signal(starts(record))
    if growth is None or growth < LARGE**2:
        return None
    return strong(
        f"on the first step the last layer's outputs vary {growth:.3g} times as much from sample to sample as the first one's",
        steps=(0, 0),
        growth=growth,
    )


def _saturated(record: Record) -> str:
    """Which squashing units are at their rails on the first step."""
    family = record.family("activation_saturated")
    if not len(family.steps):
        return ""
    at_rails = [name for name, share in zip(family.names, family.values[0], strict=True) if np.isfinite(share) and share > RAILS]
    return listed(at_rails, 2)


def _factors(record: Record) -> list[Evidence]:
    """Embeddings whose inner product is the prediction (matrix factorisation): there the lookup does sum up."""
    tables = [w for w in record.facts.weights if w.layer_kind == "Embedding" and w.trainable and len(w.shape) == 2 and w.shape[1] > 1 and w.rms > 0]
    for head in (h for loss in record.facts.losses for h in loss.heads):
        names = [op.name for op in head.fed_by]
        product = any(a == "sum" and b in ("mul", "rmul") for a, b in itertools.pairwise(names)) or bool({"bmm", "einsum"} & set(names[:2]))
        pair = next(((a, b) for a, b in itertools.combinations(tables, 2) if a.shape[1] == b.shape[1]), None)
        if not product or pair is None or head.target is None or head.input is None:
            continue
        a, b = pair
        size = a.rms * b.rms * a.shape[1] ** 0.5
        wild = _wild(record)
        if wild is not None and size > LARGE * head.target.std and head.input.std > LARGE * head.target.std:
            text = (
                f"{a.name} and {b.name} start with values of size {a.rms:.2g} and {b.rms:.2g}, and the sum of {a.shape[1]} products of them is of size {size:.3g}, "
                f"where the targets vary by {head.target.std:.3g}"
            )
            return [strong(text, init_place(record, a), (0, 0), size=size), wild]
    return []


def _recurrent(record: Record, signs: Signs) -> Iterator[Evidence]:
    """Recurrent layers apply their weights at every time step; what happens inside them is not seen, so the run must be stuck."""
    trouble = stuck(signs)
    for w in record.facts.weights if trouble is not None else ():
        gain = w.rms * w.shape[-1] ** 0.5
        if w.layer_kind in RECURRENT and "weight_hh" in w.name and w.trainable and gain > LARGE and trouble is not None:
            yield strong(
                f"{w.name} starts with values of size {w.rms:.2g} over {w.shape[-1]} inputs: every time step multiplies the state's scale by {gain:.3g}",
                init_place(record, w),
                gain=gain,
            )
            yield hint(trouble.text, steps=trouble.steps)
            return


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    diff = rescaled(record, first_place(evidence))
    return mend(
        "draw the weights with a size of about 1 / sqrt(number of inputs)",
        diff,
        'nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")',
        "consent",
    )
