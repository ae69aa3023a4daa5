"""Sigmoid or tanh units sit at their rails, where hardly any gradient passes.

## What happens

A tanh is flat beyond about 3, a sigmoid beyond 5. When what goes in is much larger (a sum over many terms, a steep slope, a large bias), nearly all
outputs are -1, 0 or 1 whatever the input. Their gradient is a few per cent or nothing, so the layers in front learn slowly or not at all.

## How we know

The share of a layer's outputs within 1 % of a rail. Nine in ten and more to the end of the run, and as many already before the first update, is
strong evidence while the loss has not come down: no learning rate has caused that. Units that went to the rails later count only when the loss is stuck.

## Looks like it but is not

- The output of a classifier that has become certain: the last activation before the loss is left out, and it is not there at the start.
- Gates that are open or shut for good reason in a run that learns: no finding once the loss is down to a tenth of its start.
- Weights that start too large, inputs far from unit scale: those are found by themselves, and explain this.
- Updates that throw units to the rails: the learning rate.

## Fix

Bring what enters the activation to unit scale (mean instead of sum, normalisation, bias 0, slope 1), or use ReLU or GELU.

## References

- LeCun, Bottou, Orr, Müller 1998, Efficient BackProp, section 4.4; Glorot and Bengio 2010, section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import against, from_sign, hint
from sickbay.causes.initial import starts
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.facts import Op
from sickbay.nouns import Evidence, Fix, Place, Sign
from sickbay.record.reader import Record
from sickbay.script.fixing import called, mend, source_at
from sickbay.signs import Signs
from sickbay.signs.curves import end, start
from sickbay.signs.losses import judged_losses

SQUASHING = ("tanh", "sigmoid", "hardtanh", "hardsigmoid")
FROM_THE_START = 0.8
"""Unit-scale inputs leave a few per cent of a tanh at its rails; four in five before any update is the structure, not chance."""
SOLVED = 0.1
"""A loss at a tenth of its start: whatever the units do, they do not stop the model."""
LARGE = 3.5
"""Gain of a weight from which `init-too-large` speaks."""


@cause(
    code="A213",
    level="architecture",
    title="units are saturated",
    why="At the rails of a sigmoid or tanh hardly any gradient passes, so everything in front of it learns slowly or not at all.",
    explains={
        "saturated-units", "flat-loss", "chance-level", "class-imbalance", "slow-descent", "early-plateau", "small-gradients", "gradient-decay-with-depth", "val-flat-from-start",
        "vanishing-gradient", "lr-too-low", "update-ratio-low", "under-capacity",
    },
    cure="normalise-before-activation",
)  # fmt: skip
def saturated_activation(record: Record, signs: Signs) -> Iterator[Evidence]:
    hidden = sorted((s for s in signs.named("saturated-units") if not _is_output(record, s)), key=lambda s: -s.numbers["at_start"])
    if not hidden or _solved(record):
        return
    worst, trouble = hidden[0], stuck(signs)
    if worst.numbers["at_start"] >= FROM_THE_START:
        yield from_sign("strong", worst, _place(record, worst))
        yield hint("they were there before the first update: what enters the activation is too large, not the learning rate")
    elif trouble is not None and not signs.has("update-ratio-high", "diverging-loss"):
        yield from_sign("strong", worst, _place(record, worst))
    else:
        return
    if trouble is not None:
        yield hint(trouble.text, steps=trouble.steps)
    if len(hidden) > 1:
        yield hint(f"{len(hidden) - 1} more activations are at their rails", layers=len(hidden))
    large = [s.weight.name for s in starts(record) if s.gain > LARGE and not s.normalised]
    if large:
        yield against(f"{large[0]} itself starts far too large, which would explain it")


def _solved(record: Record) -> bool:
    curves = [c for c, _ in judged_losses(record)]
    return bool(curves) and all(end(c).value < SOLVED * start(c).value for c in curves)


def _op(record: Record, sign: Sign) -> Op | None:
    """The activation behind a sign: by its layer, else the first of its kind."""
    where = sign.where or ""
    kind = where.rpartition(".")[2]
    ops = [x for loss in record.facts.losses for x in loss.activations if x.name in SQUASHING]
    by_layer = [x for x in ops if x.place is not None and x.place.layer and where in (x.place.layer, f"{x.place.layer}.{x.name}")]
    inside = [x for x in ops if x.name == kind and x.place is not None and x.place.layer and where.startswith(f"{x.place.layer}.")]
    return next(iter([*by_layer, *inside, *(x for x in ops if x.name == kind), *ops]), None)


def _place(record: Record, sign: Sign) -> Place:
    op = _op(record, sign)
    return op.place if op is not None and op.place is not None else Place(layer=sign.where)


def _is_output(record: Record, sign: Sign) -> bool:
    """Nothing but the loss comes after it."""
    op = _op(record, sign)
    last = [h.fed_by[0] for loss in record.facts.losses for h in loss.heads if h.fed_by]
    return op is not None and any(x.name == op.name and x.place == op.place for x in last)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = next((e.place for e in evidence if e.place is not None), None)
    source = source_at(record, place)
    diff = ""
    if source is not None and place is not None:
        calls = [c for c in source.calls(*SQUASHING, line=place.line) if len(c.args) == 1 and called(c)]
        if len(calls) == 1 and "import torch.nn.functional as F" in source.text:
            inside = source.segment(calls[0].args[0])
            if inside.isidentifier():
                diff = source.diff(source.replacing(calls[0].args[0], f"F.layer_norm({inside}, {inside}.shape[-1:])"))
    text = "bring what enters the activation to unit scale: a mean instead of a sum, a normalisation layer, a smaller slope or bias"
    return mend(text, diff, "h = torch.tanh(norm(h))  # norm = nn.LayerNorm(width)", "consent")
