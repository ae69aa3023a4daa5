"""Probabilities are fed to a loss that expects logits.

## What happens

`cross_entropy` and `binary_cross_entropy_with_logits` apply their own softmax or sigmoid. Given probabilities, they squash a second
time: scores between 0 and 1 can never become certain, so the loss has a floor (1.46 for ten classes instead of 0), gradients
are small, and training is slow and ends early. It never crashes, and accuracy even rises for a while.

## How we know

Proof: in the graph of the loss the output of a softmax (or sigmoid) goes straight into the loss's own log-softmax (or sigmoid).

## Looks like it but is not

- `log_softmax` before `nll_loss` is right, and a second `log_softmax` changes nothing.
- Softmax inside the model (attention, gates) with layers after it.
- Softmax for metrics or in the forward pass at evaluation only: it is not behind the training loss.
- Softmax of a teacher as soft target: it enters as target, not as prediction.

## Fix

Return logits from the model and apply softmax only where probabilities are shown.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html ("should contain the unnormalized logits")
- https://github.com/pytorch/pytorch/issues/55902
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import first_place, located, proof
from sickbay.causes.registry import cause
from sickbay.facts import Loss, Op
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, source_at
from sickbay.script.removing import without
from sickbay.signs import Signs

SQUASHING = ("softmax", "sigmoid", "softmin")
EXPECT_LOGITS = ("cross_entropy", "binary_cross_entropy_with_logits", "log_softmax", "multilabel_soft_margin_loss")


@cause(
    code="P301",
    level="procedure",
    title="softmax before a loss that expects logits",
    why="The loss squashes its input a second time: it cannot come near zero, gradients are small, and the model learns slowly and stops early.",
    explains={
        "slow-descent", "flat-loss", "early-plateau", "chance-level", "small-gradients", "lr-too-low", "vanishing-gradient", "saturated-units",
        "gradient-decay-with-depth", "update-ratio-low", "val-flat-from-start",
    },
    cure="feed-logits",
)  # fmt: skip
def softmax_before_cross_entropy(record: Record, signs: Signs) -> Iterator[Evidence]:
    seen: set[tuple[str, str]] = set()
    for loss in record.facts.losses:
        for inner, outer in _pairs(loss):
            key = (located(inner.place), outer.name)
            if key in seen:
                continue
            seen.add(key)
            floor = _floor(inner, outer)
            limit = f"; the loss cannot fall below {floor:.2f}" if floor else ""
            place = _used(record, inner.place)
            text = f"{inner.name}{located(place)} feeds {outer.name}{located(outer.place)}, which expects logits{limit}"
            yield proof(text, place, None, **({"floor": floor} if floor else {}))


def _used(record: Record, place: Place | None) -> Place | None:
    """Of a function of the script's own that is just that (`def softmax(z)`), the only line that calls it: there is nothing wrong with the function."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    if source is None or statement is None:
        return place
    name = getattr(source.function(statement), "name", "")
    calls = source.calls(name) if any(word in name.lower() for word in SQUASHING) else []
    return source.place(calls[0].lineno) if len(calls) == 1 else place


def _pairs(loss: Loss) -> Iterator[tuple[Op, Op]]:
    for pair in loss.squashed:
        if pair.inner.name in SQUASHING:
            yield pair.inner, pair.outer
    for head in loss.heads:
        if head.function in EXPECT_LOGITS and head.fed_by and head.fed_by[0].name in SQUASHING and not loss.squashed:
            yield head.fed_by[0], Op(name=head.function, place=head.called_at)


def _floor(inner: Op, outer: Op) -> float | None:
    """The lowest value the loss can take: the right class at 1, all others at 0."""
    if inner.name == "softmax" and outer.name in ("cross_entropy", "log_softmax") and len(inner.shape) > 1 and inner.shape[1] > 1:
        return math.log(math.e + inner.shape[1] - 1) - 1
    return None


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = first_place(evidence)
    source = source_at(record, place)
    diff = source.diff(without(source, place.line if place else None, *SQUASHING, held=("prob", "sm"))) if source is not None else ""
    text = "give the loss the logits; apply softmax only where probabilities are shown or sampled"
    return mend(text, diff, "loss = F.cross_entropy(logits, y)  # logits: the output before softmax", "consent")
