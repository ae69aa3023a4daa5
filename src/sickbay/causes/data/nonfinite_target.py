"""The targets hold NaN or infinity.

## What happens

The loss compares the prediction with NaN or infinity, so it is not finite itself, and neither are the gradients. Typical
sources: the logarithm of a count of zero, a label column with empty cells, a ratio with a zero denominator.

## How we know

Proof: the targets of each known loss function are checked where they enter it. A target with NaN or infinity whose own
loss is not finite, before anything else was non-finite, is the origin.

## Looks like it but is not

- Missing targets that are masked out of the loss: the loss stays finite, so nothing is said.
- Targets made by the model itself (bootstrapping, distillation) that became NaN after the loss did.

## Fix

Repair the transformation of the targets: `log1p` for counts, drop the rows without a label, or mask them in the loss.

## References

- https://github.com/prs-eth/Marigold/issues/111 (NaN and infinity in the ground truth).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sickbay.causes.nonfinite import WORDS, guilty, tell
from sickbay.causes.registry import cause
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import mend
from sickbay.script.nonfinite_origin import how, mended, origin
from sickbay.signs import Signs


@cause(
    code="D102",
    level="data",
    title="the targets hold NaN or infinity",
    why="The loss of every batch with such a target is NaN or infinite, and its gradients break the weights.",
    explains={
        "nonfinite-loss", "nonfinite-gradient", "nonfinite-weight", "diverging-loss", "flat-loss", "dead-units", "loss-spikes", "gradient-spike", "chance-level",
        "lr-too-high", "dead-relu", "vanishing-gradient", "overfitting", "update-ratio-high", "val-flat-from-start",
    },
    cure="drop-nonfinite",
)  # fmt: skip
def nonfinite_target(record: Record, signs: Signs) -> Iterator[Evidence]:
    batch = guilty(record, "target")
    if batch is not None:
        yield from tell(record, batch)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    batch = guilty(record, "target")
    word = WORDS.get(batch.kind, "NaN") if batch is not None else "NaN"
    made = origin(record, batch) if batch is not None else None
    text = f"remove the {word} values where the targets are prepared"
    if diff := mended(made):
        return mend(text + how(made) + (" (invert predictions with expm1)" if "log1p" in diff else ""), diff, "", "consent")
    return mend(text, "", "good = torch.isfinite(y)  # keep only samples with a finite target")
