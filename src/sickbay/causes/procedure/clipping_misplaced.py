"""Gradients are clipped at a moment, or on tensors, where it has no effect on the step.

## What happens

Clipping has to stand between the last `backward()` and `optimizer.step()`, on the tensors that the optimizer steps. Before backward there is nothing to
clip; after the step the gradients have been used. Given another model's parameters, or a generator that was read before, it runs and does
nothing. Training is as unprotected as without it, which shows where it was needed: spikes, exploding recurrent nets, NaN.

## How we know

Proof: the order of clip, backward and step is seen on every watched step, as are the tensors that clipping is given and those that the
following step moves.

## Looks like it but is not

- Clipping after each micro-batch or before an optimizer of several: in time for the step that follows.
- Clipping only a part of the model, or only one of two networks.
- `max_norm=inf` to log the norm: not a clip.
- Clipping before `scaler.unscale_`: in time, but on scaled gradients; that is `amp-misuse`.

## Fix

`clip_grad_norm_(model.parameters(), limit)` right before `optimizer.step()`.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html
- Pascanu, Mikolov, Bengio 2013 (on the difficulty of training recurrent neural networks).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import located, proof
from sickbay.causes.registry import cause
from sickbay.facts import Clipping
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, mend, source_at
from sickbay.script.moving import statement_at, without
from sickbay.signs import Signs

MINIMUM = 3
"""Steps on which it was seen: a single call out of order may be a warm-up or a leftover."""
NEARLY_ALL = 0.9


@cause(
    code="P316",
    level="procedure",
    title="gradient clipping has no effect where it stands",
    why="The step uses the gradients as they are, so the outliers that clipping was meant for go straight into the weights.",
    explains={
        "gradient-spike", "loss-spikes", "diverging-loss", "oscillating-loss", "nonfinite-loss", "nonfinite-gradient", "update-ratio-high", "lr-too-high", "dead-units",
        "saturated-units", "dead-relu", "flat-loss", "chance-level", "early-plateau", "val-flat-from-start", "gradient-growth-with-depth", "slow-descent",
        "masked-nan",
    },
    cure="clip-before-step",
)  # fmt: skip
def clipping_misplaced(record: Record, signs: Signs) -> Iterator[Evidence]:
    for c in record.facts.clippings:
        if text := _fault(record, c):
            yield proof(text, c.place, calls=c.calls, in_time=c.in_time)


def _fault(record: Record, c: Clipping) -> str:
    seen = c.in_time + c.too_early + c.too_late
    if seen < MINIMUM:
        return ""
    limit = f" to {c.limit:g}" if c.limit is not None else ""
    if c.too_late >= NEARLY_ALL * seen:
        return f"gradients are clipped{limit}{located(c.place)} after the step has used them, on {c.too_late:,} of {seen:,} steps"
    if c.too_early + c.too_late >= NEARLY_ALL * seen:
        nothing = "; there is no gradient yet" if c.empty >= NEARLY_ALL * c.looks > 0 else ""
        return f"gradients are clipped{limit}{located(c.place)} before the backward that makes them, on {c.too_early + c.too_late:,} of {seen:,} steps{nothing}"
    if c.in_time < NEARLY_ALL * seen or c.looks < MINIMUM:
        return ""
    if c.tensors == 0 and c.empty >= NEARLY_ALL * c.looks:
        return (
            f"clipping{located(c.place)} is given no tensors at all (a generator that was read before is empty), on {c.empty:,} of {c.looks:,} looks"
        )
    if c.foreign >= MINIMUM and not c.shared:
        nothing = " and have no gradient" if c.empty >= NEARLY_ALL * c.looks else ""
        return f"the {c.tensors or 0} tensors that are clipped{located(c.place)} are none of those that the optimizer then steps{nothing} ({c.foreign:,} looks)"
    return ""


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    for c in record.facts.clippings:
        if not _fault(record, c):
            continue
        if c.too_early + c.too_late == 0:
            return Fix("clip the parameters that the optimizer steps", "torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)", "advice")
        stepped = next((o.stepped_at for o in record.facts.optimizers if o.stepped_at is not None), None)
        source = source_at(record, c.place)
        diff = _moved(source, c.place, stepped) if source is not None else ""
        return mend("clip between backward and step", diff, "loss.backward()\nclip_grad_norm_(model.parameters(), max_norm)\noptimizer.step()")
    return Fix("clip between backward and step", "clip_grad_norm_(model.parameters(), max_norm)  # right before optimizer.step()")


def _moved(source: Source, clip: Place | None, step: Place | None) -> str:
    statement, target = statement_at(source, clip), statement_at(source, step)
    if statement is None or target is None or clip is None or step is None or clip.file != step.file:
        return ""
    removal = without(source, statement)
    if removal is None or source.function(statement) is not source.function(target):
        return ""
    return source.diff(removal, source.before(target, source.segment(statement)))
