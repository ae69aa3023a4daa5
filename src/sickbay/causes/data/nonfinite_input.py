"""The data that enter the model hold NaN or infinity.

## What happens

One NaN in one sample makes the output NaN, the loss NaN, every gradient NaN, and after the next step every weight. From
then on nothing is left to train. It comes from empty cells of a table, a division by a standard deviation of zero, the
logarithm of zero (silence in audio), or a broken file.

## How we know

Proof: each batch is checked where it enters the model. A batch that holds NaN or infinity and whose own loss is not
finite, before any other value was non-finite, is the origin. The report names the rows, the columns and, where the loader
tells, the sample numbers.

## Looks like it but is not

- The model handles missing values (masks them, or fills them): the loss stays finite, so nothing is said.
- Minus infinity in an attention mask is legal: the loss stays finite.
- The loss was non-finite *before* such an input came (a simulation or generated input that the model itself broke).
- Non-finite values that arise inside the model, from finite inputs.

## Fix

Find where the values come from and fill, clamp or drop them there. Removing them in the loop is the second-best place.

## References

- CS231n, Babysitting the learning process: check the data first.
- https://github.com/keras-team/keras/issues/6921 (asks for the batch that produced NaN).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import at
from sickbay.causes.nonfinite import WORDS, base_name, columns_of, guilty, tell
from sickbay.causes.registry import cause
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import mend
from sickbay.script.nonfinite_origin import how, mended, origin
from sickbay.signs import Signs


@cause(
    code="D101",
    level="data",
    title="the input holds NaN or infinity",
    why="One such value makes the loss, all gradients and, with the next step, all weights NaN; nothing can be learned after that.",
    explains={
        "nonfinite-loss", "nonfinite-gradient", "nonfinite-weight", "diverging-loss", "flat-loss", "dead-units", "loss-spikes", "gradient-spike", "chance-level",
        "lr-too-high", "dead-relu", "vanishing-gradient", "overfitting", "unscaled-input", "update-ratio-high", "val-flat-from-start",
        "nonfinite-target",
    },
    cure="drop-nonfinite",
)  # fmt: skip
def nonfinite_input(record: Record, signs: Signs) -> Iterator[Evidence]:
    batch = guilty(record, "input")
    if batch is not None:
        yield from tell(record, batch)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    batch = guilty(record, "input")
    made = origin(record, batch) if batch is not None else None
    name = base_name(batch.variable) if batch is not None else "x"
    columns = f" ({columns_of(batch)})" if batch is not None and columns_of(batch) else ""
    word = WORDS.get(batch.kind, "NaN") if batch is not None else "NaN"
    if diff := mended(made):
        return mend(f"keep {at(made.place if made is not None else None)} from making {word}{columns}{how(made)}", diff, "", "consent")
    if batch is not None and batch.kind in ("inf", "-inf"):
        snippet = "# where the data are made: keep logarithms and divisions away from zero\n# torch.log(x.clamp_min(1e-10)),  x / std.clamp_min(1e-8)"
    elif batch is not None and batch.columns_total and batch.count * batch.columns_total == batch.total * len(batch.columns):
        snippet = "# a column that never varies has std 0, and 0 / 0 is NaN\nstd = std.clamp_min(1e-8)"
    else:
        snippet = f"good = torch.isfinite({name}).flatten(1).all(dim=1)  # keep the rows without NaN, or fill them with the column's median"
    return Fix(f"remove or fill the {word} values where the data are prepared{columns}, before training", snippet, "advice")
