"""A layer's ReLU units never fire: the layer passes nothing on and cannot learn its way back.

## What happens

A ReLU whose input is negative for every sample outputs zero and has zero gradient, so its weights never change again. It happens
at the start (a large negative bias, a bad initialisation, inputs that are all negative) or after an update that was too
large. When nearly a whole layer is dead, everything in front of it is cut off from the loss.

## How we know

The share of *units* that fired for no sample over a window of batches, for each activation. Nine in ten or more, to the end of
the run, together with weights whose gradient is exactly zero, is strong evidence; so is half of them with a loss that is stuck. Whether they were dead at step 0 or died
after an update tells an initialisation from a learning rate.

## Looks like it but is not

- Half of all *elements* being zero is how ReLU works in a healthy net.
- Some dead units in a wide net that learns well.
- Units that died under updates of a tenth of the weights and more: the learning rate is the cause, this is its consequence.

## Fix

Dead at the start: remove the negative bias or re-initialise (He). Died later: a lower learning rate. LeakyReLU or GELU keep a gradient.

## References

- He et al. 2015, Delving deep into rectifiers; Maas et al. 2013 (leaky ReLU); Lu et al. 2019, Dying ReLU and initialization.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sickbay.causes.evidence import against, first_place, from_sign, hint, strong
from sickbay.causes.initial import init_place
from sickbay.causes.rates import rate_place, scaled
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, mend, receiver, source_at, sources
from sickbay.signs import Signs
from sickbay.signs.layers import nanmedian, weights

NEARLY_ALL = 0.9
ONE_SIDED = 0.5
"""The mean over the root mean square: near zero for every symmetric way of drawing, 0.87 for uniform numbers of one sign."""


@cause(
    code="A201",
    level="architecture",
    title="ReLU units are dead",
    why="A dead unit outputs zero and gets no gradient, so it never recovers, and whatever lies in front of a dead layer stops learning.",
    explains={
        "dead-units", "flat-loss", "early-plateau", "chance-level", "class-imbalance", "small-gradients", "gradient-decay-with-depth", "slow-descent",
        "val-flat-from-start", "vanishing-gradient", "lr-too-low", "update-ratio-low", "activation-collapse",
    },
    cure="leaky-relu",
)  # fmt: skip
def dead_relu(record: Record, signs: Signs) -> Iterator[Evidence]:
    dead = sorted(signs.named("dead-units"), key=lambda s: -s.numbers["share"])
    if not dead:
        return
    worst, trouble, silent = dead[0], stuck(signs), _without_gradient(record)
    if worst.numbers["share"] < NEARLY_ALL and trouble is None:
        return
    place = _made_at(record, worst.numbers["at_start"] >= NEARLY_ALL, worst.where)
    if worst.numbers["share"] >= NEARLY_ALL and silent:
        yield from_sign("strong", worst, place)
        yield strong(f"{silent} weight matrices get a gradient of exactly zero: nothing passes the dead layer", weights=silent)
    elif trouble is not None and worst.numbers["share"] < NEARLY_ALL and signs.has("update-ratio-low"):
        yield from_sign("hint", worst, place)
        yield against("the steps are far too small to have killed units: what keeps them small comes first")
    elif trouble is not None:
        yield from_sign("strong", worst, place)
        yield hint(trouble.text, steps=trouble.steps)
    else:
        yield from_sign("hint", worst, place)
        yield against("the training loss falls all the same, so the dead layer does not stop the model from learning")
    if len(dead) > 1:
        yield hint(f"{len(dead) - 1} more layers have over half of their units dead", layers=len(dead))
    if worst.numbers["at_start"] >= NEARLY_ALL and (trouble is not None or silent):
        yield strong("the units were dead before the first update: the initialisation, the bias or the inputs, not the learning rate", place)


def _made_at(record: Record, at_start: bool, layer: str | None) -> Place:
    """Where units that never fire were made: the line that fills the biases, draws the weights or works out what they are given; where updates killed them, that of the learning rate."""
    found = _biases_set(record) or _weights_drawn(record) or _rectified_at(record, layer) if at_start else rate_place(record)
    return replace(found, layer=layer) if found is not None else Place(layer=layer)


def _rectified_at(record: Record, layer: str | None) -> Place | None:
    """The line of the rectifier itself, where it is called as a function: what it is given is worked out there."""
    found = [x.place for loss in record.facts.losses for x in loss.activations if x.name in ("relu", "relu_", "relu6") and x.place is not None]
    same = [p for p in found if p.layer and p.layer == layer] or found
    return same[0] if len({(p.file, p.line) for p in same}) == 1 else None


def _biases_set(record: Record) -> Place | None:
    """The only line that gives biases a value of the script's own."""
    found = [source.place(value.lineno) for source in sources(record) for value in _values_of_biases(source)]
    return found[0] if len(found) == 1 else None


def _values_of_biases(source: Source, line: int | None = None) -> Iterator[ast.expr]:
    """The values other than 0 that biases are filled with."""
    for call in (c for c in source.calls("constant_", "fill_", line=line) if c.args):
        filled, value = call.args[0] if called(call) == "constant_" else receiver(call), call.args[-1]
        zero = isinstance(value, ast.Constant) and value.value == 0
        if filled is not None and "bias" in ast.unparse(filled) and not zero:
            yield value


def _weights_drawn(record: Record) -> Place | None:
    """The line that draws weights which are mostly negative, as no usual way of drawing them does."""
    places = [init_place(record, w) for w in record.facts.weights if w.trainable and w.mean < -ONE_SIDED * w.rms]
    return next((p for p in places if p is not None), None)


def _without_gradient(record: Record) -> int:
    """How many weights end with a gradient of exactly zero, if that is a third or more of them (fewer: a dead side branch)."""
    columns = weights(record, record.family("grad_norm"))
    if len(columns.steps) < 4:
        return 0
    late = nanmedian(columns.values[-max(2, len(columns.steps) // 4) :], axis=0)
    zero = int((late == 0).sum())
    return zero if zero and zero >= len(late) / 3 else 0


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    early = any("before the first update" in e.text for e in evidence)
    place = first_place(evidence)
    if not early and place is not None and place.line is not None:
        return scaled(record, 0.1, "try a tenth of the learning rate, so that no update throws units out of reach; LeakyReLU keeps them alive")
    if diff := _biases_at_zero(record, place):
        return mend("start these biases at 0; a prior belongs into the last layer only", diff, "nn.init.zeros_(layer.bias)", "consent")
    text = "repair the initialisation (bias at 0, weights of both signs) or use LeakyReLU" if early else "use LeakyReLU, or a lower learning rate"
    return mend(text, _leaky(record), "nn.LeakyReLU(0.01)  # in place of nn.ReLU()", "consent")


def _biases_at_zero(record: Record, place: Place | None) -> str:
    source = source_at(record, place)
    values = list(_values_of_biases(source, place.line)) if source is not None and place is not None and place.line is not None else []
    return source.diff(source.replacing(values[0], "0.0")) if source is not None and len(values) == 1 else ""


def _leaky(record: Record) -> str:
    """The diff that puts LeakyReLU in the place of the first ReLU."""
    place = next((x.place for loss in record.facts.losses for x in loss.activations if x.name == "relu" and x.place), None)
    source = source_at(record, place)
    if source is None or place is None:
        return ""
    calls = [c for c in source.calls("ReLU", "relu", line=place.line) if ast.unparse(c.func) in ("nn.ReLU", "torch.nn.ReLU", "F.relu", "torch.relu")]
    edits = [source.replacing(c.func, "nn.LeakyReLU" if "ReLU" in ast.unparse(c.func) else "F.leaky_relu") for c in calls]
    known = edits and ("import torch.nn.functional as F" in source.text or "nn.ReLU" in ast.unparse(calls[0].func))
    return source.diff(*edits) if known else ""
