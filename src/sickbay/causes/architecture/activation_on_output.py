"""The last activation keeps the model from giving the values that the loss asks for.

## What happens

A ReLU as last layer can't give a negative number, a sigmoid nothing outside 0 to 1, a tanh nothing outside -1 to 1. Targets out there
are never reached: the loss stops at a floor, and a ReLU that is pushed below zero stays there without a gradient. Before
`cross_entropy` or `binary_cross_entropy_with_logits` a ReLU cuts off all scores that say "no", a tanh never lets the model be sure.

## How we know

Proof: a bounded activation is the last operation before the loss, and the targets seen lie outside its range: the report tells how many,
and how much of their variance no output can explain (5 % or more is called sick). For losses on logits the activation alone is enough.

## Looks like it but is not

- Targets within the range: prices or counts after ReLU, pixels in 0 to 1 after sigmoid, data scaled to -1 to 1 after tanh.
- An activation that is scaled afterwards (`10 * torch.tanh(x)`), or pooled, or inside the model.
- Softmax or sigmoid before a loss on logits: that is `softmax-before-cross-entropy`.
- A few targets outside: noise, outliers.

## Fix

Let the last layer be linear, or scale the targets into the activation's range.

## References

- Goodfellow, Bengio, Courville 2016, section 6.2.2 (output units follow from the distribution of the targets).
- https://cs231n.github.io/neural-networks-1/ ("output layer neurons most commonly do not have an activation function")
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import first_place, located, proof
from sickbay.causes.registry import cause
from sickbay.facts import Head
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, mend, source_at
from sickbay.script.removing import without
from sickbay.signs import Signs

REGRESSION = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "gaussian_nll_loss", "difference")
ON_LOGITS = ("cross_entropy", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss")
CUTS_LOGITS = ("relu", "relu6", "softplus", "tanh", "hardtanh", "softsign", "lstm", "gru", "rnn_tanh", "rnn_relu")
UNREACHABLE = 0.05
"""Share of the targets' variance outside the range. Of standard-normal targets a tanh misses 15 %, a ReLU 50 %, a sigmoid 51 %;
single outliers and noise at the rails stay below 5 %."""


@cause(
    code="A205",
    level="architecture",
    title="an activation on the output keeps the targets out of reach",
    why="The model cannot give the values that the loss asks for, so the loss stops at a floor however long it trains.",
    explains={
        "flat-loss", "early-plateau", "slow-descent", "chance-level", "small-gradients", "dead-units", "saturated-units", "val-flat-from-start",
        "update-ratio-low", "update-ratio-high", "gradient-decay-with-depth", "dead-relu", "vanishing-gradient", "lr-too-low", "lr-too-high",
        "saturated-activation", "under-capacity", "unscaled-input", "lr-decayed-too-soon", "oscillating-loss",
    },
    cure="linear-output",
)  # fmt: skip
def activation_on_output(record: Record, signs: Signs) -> Iterator[Evidence]:
    for loss in record.facts.losses:
        for head in (*loss.heads, *loss.by_hand):
            yield from _misses(head)
            yield from _cuts_logits(head)


def _misses(head: Head) -> Iterator[Evidence]:
    last = head.last
    if head.function not in REGRESSION or last is None or head.bounds is None or head.target is None or head.unreachable < UNREACHABLE:
        return
    yield proof(
        f"{last.name}{located(last.place)} gives values {_range(head.bounds)}, and feeds {_name(head)}{located(head.called_at)} whose targets go from "
        f"{head.target.minimum:.3g} to {head.target.maximum:.3g}: {head.outside:.0%} of them, and {head.unreachable:.0%} of their variance, are out of reach",
        last.place or head.called_at,
        outside=head.outside,
        unreachable=head.unreachable,
    )


def _cuts_logits(head: Head) -> Iterator[Evidence]:
    if head.function not in ON_LOGITS or not head.fed_by or head.fed_by[0].name not in CUTS_LOGITS or head.bounds is None:
        return
    last, (low, high) = head.fed_by[0], head.bounds
    floor = _floor(head, low, high)
    limit = f"; the loss cannot fall below {floor:.2f}" if floor else ""
    loses = "cannot be negative" if low >= 0 else f"stay {_range(head.bounds)}"
    yield proof(
        f"{last.name}{located(last.place)} is the last operation before {head.function}{located(head.called_at)}: the scores {loses}{limit}",
        last.place or head.called_at,
        None,
        **({"floor": floor} if floor else {}),
    )


def _floor(head: Head, low: float, high: float) -> float:
    """The lowest cross-entropy that scores between these bounds can give."""
    if head.function == "cross_entropy":
        return math.log1p(((head.classes or 2) - 1) * math.exp(low - high))
    if head.target is not None and 0 < head.target.mean < 1:
        yes, no = head.target.mean, 1 - head.target.mean
        return yes * math.log1p(math.exp(-high)) + no * math.log1p(math.exp(low))
    return 0.0


def _range(bounds: tuple[float, float]) -> str:
    low, high = bounds
    if math.isinf(high):
        return f"from {low:g} up"
    return f"up to {high:g}" if math.isinf(low) else f"between {low:g} and {high:g}"


def _name(head: Head) -> str:
    return f"`{head.call}`" if head.function == "difference" and head.call else head.function


def _also_inside(record: Record, place: Place | None, function: str) -> bool:
    """Whether the same line (a loop over layers, a helper, a block that is there several times) is between hidden layers as well: without it the whole net would
    be linear. A net that is called twice in a step runs through its last line twice, too."""
    if place is None:
        return False
    uses = [[a for a in x.activations if a.name == function and a.place is not None and a.place.line == place.line] for x in record.facts.losses]
    return any(len(same) > 1 for same in uses) and _comes_again(source_at(record, place), place)


def _comes_again(source: Source | None, place: Place) -> bool:
    """Whether the text runs through a line several times in one forward pass."""
    statement = source.statement(place.line) if source is not None else None
    if source is None or statement is None:
        return True
    repeats = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp)
    around = source.function(statement)
    owner = source.parents.get(around)
    name = owner.name if isinstance(owner, ast.ClassDef) and getattr(around, "name", "") == "forward" else getattr(around, "name", "")
    calls = source.calls(name) if name else []
    looped = any(isinstance(a, repeats) for c in calls for a in source.ancestors(c))
    return bool(source.loops(statement)) or any(isinstance(n, repeats) for n in ast.walk(statement)) or len(calls) > 1 or looped


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = first_place(evidence)
    source = source_at(record, place)
    heads = [h for x in record.facts.losses for h in (*x.heads, *x.by_hand) if h.fed_by and h.fed_by[0].place == place]
    function = heads[0].fed_by[0].name if heads else "relu"
    if function in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        return Fix("put a linear layer after the recurrent one", "self.out = nn.Linear(hidden_size, outputs)\n...\nreturn self.out(hidden)", "advice")
    if _also_inside(record, place, function):
        return Fix(
            f"leave out the {function} after the last layer only: this line makes the hidden ones too",
            f"# {function} after every layer but the last",
            "advice",
        )
    diff = source.diff(without(source, place.line if place else None, function)) if source is not None else ""
    return mend(
        f"let the last layer be linear: leave out the {function}",
        diff,
        f"# in the model: return the last layer's output without {function}",
        "consent",
    )
