"""NaN or infinite values come up in training, and the script hides them.

## What happens

`nan_to_num`, `torch.where(torch.isnan(...))` or `if torch.isnan(loss): continue` make the symptom go away. The values still come up: samples
are left out without anyone knowing which, gradients lose their direction, and once the weights themselves are NaN every step is skipped while
the script runs on to its end. The loss curve shows none of it.

## How we know

Proof: on the way to the loss a value that depends on the model was not finite, and what came out of the next operation was; or a loss was not
finite and got no backward pass; or the norm of a gradient was not finite and no step followed. The report tells how often, and
which operation the values came from.

## Looks like it but is not

- Gaps in the data that are filled or masked before they meet the model.
- A check that never finds anything.
- `GradScaler` leaves out steps with infinite gradients by design.
- One or two steps left out of thousands.
- Minus infinity in attention masks, and infinities that the script itself writes and asks for: impossible paths of a recursion in log space, the start of
  a search for the least.

## Fix

Find the operation that makes the values and mend that; then the mask has nothing to do.

## References

- https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.detect_anomaly
- Chowdhery et al. 2022 (PaLM), section 5.1: steps are skipped a few times in a whole run, by restarting, and told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import first_place, located, proof, strong, times
from sickbay.causes.registry import cause
from sickbay.facts import Masked
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.checked import CHECKS, decided_at, guard
from sickbay.script.fixing import source_at
from sickbay.script.stable import mended
from sickbay.signs import Signs

MODEL_INPUT = ("linear", "conv1d", "conv2d", "conv3d", "matmul", "addmm", "mm", "bmm", "lstm", "gru", "embedding", "layer_norm", "batch_norm", "mul")
RARE = 0.01
"""Up to one step in a hundred may be left out: large runs with a guard against spikes do that a few times in many thousand steps."""
_REPLACES = "replaces gradients that are not finite,"


@cause(
    code="P313",
    level="procedure",
    title="NaN values are hidden instead of mended",
    why="Samples and steps are lost without a word, and what makes the values goes on making them.",
    explains={
        "unstable-loss", "nonfinite-loss", "nonfinite-gradient", "nonfinite-weight", "flat-loss", "chance-level", "early-plateau", "slow-descent", "dead-units", "dead-relu",
        "val-flat-from-start", "lr-too-low", "lr-too-high", "update-ratio-low", "loss-spikes", "gradient-spike", "vanishing-gradient", "overfitting",
        "small-gradients", "gradient-decay-with-depth", "diverging-loss", "missing-optimizer-step", "unused-parameters",
    },
)  # fmt: skip
def masked_nan(record: Record, signs: Signs) -> Iterator[Evidence]:
    for loss in record.facts.losses:
        for mask in loss.masked:
            yield from _left_out(record, mask) if mask.way == "skipped" else _replaced(mask, signs)
    for mask in record.facts.masked:
        yield from _left_out(record, mask)


def _replaced(mask: Masked, signs: Signs) -> Iterator[Evidence]:
    # Missing targets may be masked out of the loss on purpose, as long as the gradient stays finite.
    on_purpose = mask.origin == "data" and mask.origin_op not in MODEL_INPUT and not signs.has("nonfinite-gradient", "nonfinite-loss")
    if not mask.times or on_purpose:
        return
    came = {
        "operation": f", from {mask.origin_op}{located(mask.origin_at)}",
        "parameter": ": the weights themselves are not finite",
        "data": f": the data are not finite where they enter {mask.origin_op}{located(mask.origin_at)}",
    }.get(mask.origin, "")
    yield proof(
        f"`{mask.call or mask.op}`{located(mask.place)} hides values that are not finite, in {mask.times} of {times(mask.looks, 'step')} looked at{came}",
        mask.place,
        (mask.first, mask.last),
        hidden=mask.times,
        looked=mask.looks,
    )


def _left_out(record: Record, mask: Masked) -> Iterator[Evidence]:
    share = mask.times / max(mask.looks, 1)
    if mask.way == "gradient":
        if mask.times:
            decided = decided_at(record, mask.place) if mask.op in CHECKS else None
            does = f"finds gradients that are not finite, and{located(decided)} they are passed over," if decided is not None else _REPLACES
            yield proof(
                f"`{mask.call or mask.op}`{located(mask.place)} {does} in {mask.times} of {times(mask.looks, 'step')} looked at"
                f"{f'; the slope of {mask.origin_op}{located(mask.origin_at)} is infinite' if mask.origin_op else ''}",
                decided or mask.place,
                (mask.first, mask.last),
                hidden=mask.times,
            )
        return
    guard, place = _guard(record, mask)
    if mask.times < 2 or share < RARE or (mask.op == "forward" and not guard):
        return
    where = f" (`{guard}`)" if guard else ""
    came = {
        "parameter": "; the weights themselves are not finite",
        "data": "; the data are not finite",
        "operation": f"; it comes from {mask.origin_op}{located(mask.origin_at)}" if mask.origin_op else "; data and weights are finite",
    }
    if mask.way == "dropped":
        text = f"the gradient's norm is not finite in {mask.times} of {times(mask.looks, 'step')}, and no optimizer step follows{where}{came['operation'] if mask.origin_op else ''}"
    elif mask.op == "forward":
        text = f"{mask.times} forward passes of training get no backward pass, beside {times(mask.looks, 'step')} that do{where}"
    else:
        text = f"the loss is not finite in {mask.times} of {times(mask.looks, 'step')}, and gets no backward pass{where}{came.get(mask.origin, '')}"
    yield (strong if mask.op == "forward" else proof)(text, place, (mask.first, mask.last), left_out=mask.times, seen=mask.looks)


def _guard(record: Record, mask: Masked) -> tuple[str, Place | None]:
    """The `if` that asks whether a value is finite, in the file of the step, and its place (else that of the step)."""
    branch, source = guard(record, mask.place), source_at(record, mask.place)
    if branch is None or source is None:
        return "", mask.place
    return f"if {ast.unparse(branch.test)}"[:80], source.place(branch.lineno)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = first_place(evidence)
    snippet = "with torch.autograd.detect_anomaly():  # names the operation; then mend that one\n    loss.backward()"
    masks = [*(m for x in record.facts.losses for m in x.masked), *record.facts.masked]
    masks.sort(key=lambda m: (m.place != place, not m.times, not m.origin_op))
    mask = next((m for m in masks if m.place == place or m.times), None)
    if mask is not None and mask.origin == "data":
        snippet = "bad = ~torch.isfinite(x).flatten(1).all(dim=1)  # which samples? drop or fill them where the data are prepared"
    elif mask is not None and mask.origin == "operation" and mask.origin_op:
        at_its_edge = mended(source_at(record, mask.origin_at), mask.origin_at, mask.origin_op, "", "", mask.way in ("gradient", "dropped"))
        text = f"mend {mask.origin_op}{located(mask.origin_at)} instead of hiding what it gives: {at_its_edge.text}"
        return Fix(text, at_its_edge.diff, at_its_edge.safety)
    return Fix("mend the operation that makes the values instead of hiding what it gives", snippet, "advice")
