"""Labels are not what the loss function accepts, and the run crashed on it.

## What happens

`cross_entropy` wants class indices from 0 to C-1 as integers. Labels that start at 1, a class too many, -1 for "unknown", floats or
one-hot rows in the wrong type make it raise; on a GPU as a device-side assert far from the line that caused it.

## How we know

Proof: the exception that ended the run is one that PyTorch raises for its targets only.

## Looks like it but is not

- An index error of an embedding (a token outside the vocabulary) has another message.
- `ignore_index` values are legal and do not crash.

## Fix

Make the labels 0..C-1, or give the model as many outputs as there are classes.

## References

- https://github.com/pytorch/pytorch/issues/1328
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import located, proof
from sickbay.causes.registry import cause
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.signs import Signs

MESSAGES = (
    (r"Target (-?\d+) is out of bounds", "a label is {0}, outside the range of the classes"),
    (r"all elements of target should be between 0 and 1", "binary targets are not between 0 and 1"),
    (r"nll_loss.*not implemented for '?(Float|Double|Int)", "labels have the type {0}; class indices must be int64"),
    (r"expected target dtype to be Long or Byte, but got (\w+)", "labels have the type {0}; class indices must be int64"),
    (
        r"Expected floating point type for target with class probabilities, got (\w+)",
        "one-hot labels have the type {0}; as probabilities they must be floats",
    ),
    (r"expected scalar type Long but found (\w+)", "labels have the type {0}; class indices must be int64"),
    (r"multi-target not supported", "labels have one dimension too many; class indices are one number per sample"),
    (r"(?:t >= 0 && t < n_classes|cur_target >= 0 && cur_target < n_classes)", "a label is outside the range of the classes"),
    (r"Class values must be (?:smaller than num_classes|non-negative)", "a label is outside the range of the classes"),
)


@cause(
    code="D105",
    level="data",
    title="labels are not valid for the loss",
    why="The loss function refuses them, so training stops at the first such batch.",
    explains={"nonfinite-loss"},
)
def invalid_label(record: Record, signs: Signs) -> Iterator[Evidence]:
    crash = record.facts.crash
    if crash is None:
        return
    for pattern, meaning in MESSAGES:
        match = re.search(pattern, crash.message)
        if match:
            said = meaning.format(*match.groups())
            outputs = next((h.classes for x in record.facts.losses for h in x.heads if h.classes), None)
            room = f"; the model has {outputs} outputs (labels 0 to {outputs - 1})" if outputs and "out" in meaning else ""
            yield proof(f"{said}{room}: {crash.kind}{located(crash.place)}", crash.place, (crash.step, crash.step))
            return


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    message = record.facts.crash.message if record.facts.crash else ""
    if "class probabilities" in message:
        return Fix("give class indices instead of one-hot rows", "y = y.argmax(dim=1)", "advice")
    if "Long" in message or "not implemented" in message:
        return Fix("give class indices as int64", "y = y.long()", "advice")
    if "multi-target" in message:
        return Fix("give one class index per sample", "y = y.squeeze(1)      # or y.argmax(dim=1) for one-hot rows", "advice")
    snippet = "y = y - y.min()  # labels that start at 1\nassert 0 <= y.min() and y.max() < n_classes"
    return Fix("make the labels 0..C-1, or give the model one output per class", snippet, "advice")
