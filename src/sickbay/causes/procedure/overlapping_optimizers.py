"""Two optimizers hold the same parameters and both step on one gradient.

## What happens

Each optimizer moves the tensors that it holds. Where two of them hold the same ones and step after one backward pass, the same gradient is applied twice:
the learning rate of these tensors is the sum of both, momentum and running averages of either know nothing of the other's moves, and weight decay
counts twice.

## How we know

Proof: both optimizers hold the same tensors (by identity), and between their steps there was neither a backward pass nor a zero_grad, on most steps.

## Looks like it but is not

- Optimizers that take turns, each after a backward pass of its own (GANs, actor and critic, alternating tasks): each has its own gradient.
- Different optimizers for different parameters.
- One tied tensor among many in both.

## Fix

Give every parameter to one optimizer; other learning rates or weight decays are what parameter groups are for.

## References

- https://docs.pytorch.org/docs/stable/optim.html#per-parameter-options
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import listed, located, proof, times
from sickbay.causes.registry import cause
from sickbay.facts import Optimizer
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, source_at
from sickbay.script.moving import statement_at, without
from sickbay.signs import Signs

MOST_STEPS = 0.5
"""On more than half of its steps: what happens once (a warm-up, a change of optimizers) is no habit."""
MUCH = 0.3
"""Share of the smaller optimizer's tensors; one tied embedding among many layers is less."""
ENOUGH = 5


@cause(
    code="P322",
    level="procedure",
    title="two optimizers move the same parameters",
    why="One gradient is applied twice: these parameters take longer steps than either learning rate says, and neither optimizer's memory is right.",
    explains={
        "oscillating-loss", "loss-spikes", "slow-descent", "early-plateau", "flat-loss", "update-ratio-high", "lr-too-high", "diverging-loss",
        "gradient-spike", "chance-level", "dead-units", "dead-relu", "overfitting", "val-rising", "exploding-gradient", "saturated-units",
    },
    cure="one-optimizer-each",
)  # fmt: skip
def overlapping_optimizers(record: Record, signs: Signs) -> Iterator[Evidence]:
    for second, first in _pairs(record):
        same = first.built_at == second.built_at and first.kind == second.kind
        name = (
            f"two {first.kind}s{located(first.built_at)}"
            if same
            else f"{second.kind}{located(second.built_at)} and {first.kind}{located(first.built_at)}"
        )
        whole = len(second.shared) == len(second.parameters)
        what = f"all {len(second.shared)}" if whole else f"{len(second.shared)} of {len(second.parameters)}"
        text = (
            f"{name} both hold {listed(second.shared, 3)} ({what} parameters of the first), and both step on the same gradient: "
            f"{times(second.twice, 'time')} in {second.observed_steps:,} steps seen"
        )
        yield proof(text, second.stepped_at or second.built_at, twice=second.twice, shared=len(second.shared))


def _pairs(record: Record) -> Iterator[tuple[Optimizer, Optimizer]]:
    """An optimizer that steps on used gradients, and the one that used them."""
    known = {o.index: o for o in record.facts.optimizers}
    for o in known.values():
        other = known.get(o.shares_with) if o.shares_with is not None else None
        if other is None or o.twice < max(ENOUGH, MOST_STEPS * o.observed_steps):
            continue
        if len(o.shared) >= MUCH * min(len(o.parameters), len(other.parameters)):
            yield o, other


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    pair = next(_pairs(record), None)
    text = "give every parameter to one optimizer; use parameter groups for different learning rates"
    snippet = "optimizer = torch.optim.Adam([{'params': body}, {'params': head, 'lr': 1e-2}])"
    source = source_at(record, pair[0].stepped_at) if pair is not None else None
    if pair is None or source is None or len(pair[0].shared) < len(pair[0].parameters):
        return mend(text, "", snippet, "consent")
    statement = statement_at(source, pair[0].stepped_at)
    removal = without(source, statement) if statement is not None else None
    diff = source.diff(removal) if removal is not None else ""
    alone = ": without this step its parameters are still trained by the other optimizer" if diff else ""
    return mend(text + alone, diff, snippet, "consent")
