"""Labels, tokens or other indices are not what the operation accepts: it crashes on them, or learns without end.

## What happens

`cross_entropy` wants class indices from 0 to C-1 as integers, an embedding wants tokens from 0 to its number of rows minus one. Labels that start at 1, a
class too many, -1 for "unknown", floats or one-hot rows in the wrong type make it raise; on a GPU as a device-side assert far from the line that caused it.
`one_hot`, `gather`, `scatter` and indexing refuse such labels in the same way. `binary_cross_entropy_with_logits` refuses nothing: with yes and no written as 1 and 2 (or 0 and 255)
its loss has no lower end, and the model answers yes to everything.

## How we know

Proof: the exception that ended the run is one that PyTorch raises for its targets or indices only. The operation's own arguments are still there
when it is raised: the values that are not legal, how many there are, their rows in the batch and, where a loader tells, their places in the data set. Or the targets of a binary
cross-entropy with logits are two whole numbers, none of them negative, and not 0 and 1.

## Looks like it but is not

- `ignore_index` values are legal and do not crash.
- A list or a data set of the script's own that is read past its end has another message.
- More than two values, fractions or -1 and 1 in a binary cross-entropy: there the loss is the wrong one (`wrong-loss-for-task`).
- Wrong shapes and types of other operations: those are `shape-mismatch` and `device-mismatch`.

## Fix

Make the labels 0..C-1, or give the model as many outputs (the embedding as many rows) as there are.

## References

- https://github.com/pytorch/pytorch/issues/1328
- https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html (class indices, class probabilities, `ignore_index`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.crashes import argument, built_calls, calls_at, changed_number, crash_of, died_of, failing_call, number_place, says
from sickbay.causes.evidence import listed, located, proof
from sickbay.causes.registry import cause
from sickbay.facts import BadIndices, Crash, Head
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, keyword, mend, sources
from sickbay.script.loss_call import yes_and_no_otherwise
from sickbay.script.prepared import made_alone, of_head
from sickbay.signs import Signs

MESSAGES = (
    (r"Target (-?\d+) is out of bounds", "a label is {0}, outside the range of the classes"),
    (r"all elements of target should be between 0 and 1", "binary targets are not between 0 and 1"),
    (r"nll_loss.*not implemented for '?(Float|Double|Int|Short)", "labels have the type {0}; class indices must be int64"),
    (r"expected target dtype to be Long or Byte, but got (\w+)", "labels have the type {0}; class indices must be int64"),
    (
        r"Expected floating point type for target with class probabilities, got (\w+)",
        "one-hot labels have the type {0}; as probabilities they must be floats",
    ),
    (r"multi-target not supported", "labels have one dimension too many; class indices are one number per sample"),
    (r"(?:t >= 0 && t < n_classes|cur_target >= 0 && cur_target < n_classes)", "a label is outside the range of the classes"),
    (r"Class values must be (?:smaller than num_classes|non-negative)", "a label is outside the range of the classes"),
    (r"one_hot is only applicable to index tensor", "labels for one_hot are not int64"),
)
"""What torch says of targets only."""
INDICES = (r"index out of range in self", r"index (-?\d+) is out of bounds for dimension \d+ with size (\d+)")
"""What torch says of all indices: a finding only where the indices themselves were seen to be out of range."""
OUTPUTS = {"Conv1d": "out_channels", "Conv2d": "out_channels", "Conv3d": "out_channels"}
VOID = (-1, 255)
NOUNS = {"embedding": "token", "gather": "index", "index": "index", "scatter_": "index", "scatter": "index", "index_select": "index"}


@cause(
    code="D105",
    level="data",
    title="labels or indices are outside what the operation accepts",
    why="The operation is made for others: it refuses them, so that training stops, or has no lower end with them, so that training runs away.",
    explains={
        "nonfinite-loss", "nonfinite-gradient", "diverging-loss", "oscillating-loss", "loss-spikes", "gradient-spike", "saturated-units", "dead-units", "chance-level",
        "update-ratio-high", "update-ratio-low", "gradient-growth-with-depth", "val-rising", "val-flat-from-start", "lr-too-high", "lr-too-low", "overfitting", "dead-relu",
    },
)  # fmt: skip
def invalid_label(record: Record, signs: Signs) -> Iterator[Evidence]:
    crash = crash_of(record)
    said = _said(crash) if crash is not None else ""
    if crash is not None and said:
        yield died_of(f"{said}{_room(record, crash)}{_whose(crash.indices)}: {crash.kind}{located(crash.place)}", crash, _place(record, crash))
    elif (head := _other_names(record)) is not None and head.target is not None:
        no, yes = head.target.distinct
        yield proof(
            f"the labels of binary_cross_entropy_with_logits{located(head.called_at)} are {no} and {yes}; it is made for 0 and 1, and outside of that it has no lower end",
            made_alone(of_head(record, head)) or head.called_at,
            no=no,
            yes=yes,
        )


def _other_names(record: Record) -> Head | None:
    """A loss for yes or no whose labels call them otherwise."""
    return next((h for loss in record.facts.losses for h in loss.heads if yes_and_no_otherwise(h)), None)


def _said(crash: Crash) -> str:
    bad = crash.indices
    if bad is not None and bad.count and any(says(crash, m) for m in (*INDICES, MESSAGES[0][0], MESSAGES[-2][0])):
        return _values(bad, crash)
    for pattern, meaning in MESSAGES:
        if (match := says(crash, pattern)) is not None:
            return meaning.format(*match.groups())
    if says(crash, r"expected scalar type Long but found (\w+)") and crash.operation in ("", "cross_entropy", "nll_loss"):
        found = says(crash, r"expected scalar type Long but found (\w+)")
        return f"labels have the type {found[1] if found else ''}; class indices must be int64"
    return ""


def _values(bad: BadIndices, crash: Crash) -> str:
    noun, values = _noun(bad), [f"{v:g}" for v in bad.values]
    who = f"{noun} {values[0]}" if len(values) == 1 else f"{_plural(noun)} {listed(values, 8)}"
    named = f" of `{bad.variable}`" if bad.variable else ""
    many = f", {bad.count:,} of {bad.total:,}" if bad.count > 1 else ""
    place = f"{bad.function} in layer {crash.layer}" if bad.function == "embedding" and crash.layer else bad.function
    legal = f" ({place} accepts 0 to {bad.allowed - 1}{_ignored(bad)})" if bad.allowed else ""
    return f"{who}{named} {'is' if len(values) == 1 else 'are'} out of range{legal}{many}"


def _noun(bad: BadIndices) -> str:
    return NOUNS.get(bad.function, "label")


def _plural(noun: str) -> str:
    return "indices" if noun == "index" else f"{noun}s"


def _ignored(bad: BadIndices) -> str:
    negative = [v for v in bad.values if v < 0]
    return f", and {bad.ignored} is ignored" if negative and bad.ignored is not None else ""


def _room(record: Record, crash: Crash) -> str:
    if crash.indices is not None and crash.indices.count:
        return f"; this batch holds {crash.indices.lowest:g} to {crash.indices.highest:g}" if crash.indices.allowed else ""
    outputs = next((h.classes for x in record.facts.losses for h in x.heads if h.classes), None)
    return f"; the model has {outputs} outputs (labels 0 to {outputs - 1})" if outputs and "range" in _said(crash) else ""


def _whose(bad: BadIndices | None) -> str:
    if bad is None or not bad.rows:
        return ""
    if bad.samples:
        return f"; {_some('sample', bad.samples)} of the data set ({_some('row', bad.rows)} of the batch)"
    return f"; {_some('row', bad.rows)} of the batch"


def _some(noun: str, numbers: Sequence[int]) -> str:
    return f"{noun}{'s' if len(numbers) > 1 else ''} {listed([str(n) for n in numbers], 8)}"


def _too_few(bad: BadIndices | None) -> bool:
    return bad is not None and bad.count > 0 and bad.highest >= bad.allowed > 0 and bad.lowest >= 0


def _place(record: Record, crash: Crash) -> Place | None:
    """A layer with too few rows or outputs is mended where their number is written; anything else where it was refused."""
    bad = crash.indices
    if bad is not None and _void(bad) is not None and (loss := _loss_made(record)) is not None:
        return loss[0].place(loss[1].lineno)
    if bad is None or not _too_few(bad) or _from_one(bad):
        return crash.place
    if bad.function == "embedding":
        return number_place(built_calls(record, crash), 0, "num_embeddings", bad.allowed) or crash.place
    calls = calls_at(record, bad.outputs_at, bad.outputs_kind)
    return number_place(calls, 1, OUTPUTS.get(bad.outputs_kind, "out_features"), bad.allowed) or crash.place


def _void(bad: BadIndices) -> int | None:
    """What stands for “no label” by custom (-1; 255 in masks that are stored as bytes), where nothing else is out of range."""
    marks = [int(v) for v in bad.values if v in VOID]
    return marks[0] if bad.function in ("cross_entropy", "nll_loss") and len(marks) == len(bad.values) == 1 else None


def _loss_made(record: Record) -> tuple[Source, ast.Call] | None:
    """The only loss of this kind that the script makes as an object."""
    found = [(source, call) for source in sources(record) for call in source.calls("CrossEntropyLoss", "NLLLoss")]
    return found[0] if len(found) == 1 and keyword(found[0][1], "ignore_index") is None else None


def _from_one(bad: BadIndices) -> bool:
    """Labels 1 to C instead of 0 to C-1 (tokens begin at 1 where 0 is for padding)."""
    return bad.function != "embedding" and bad.count > 0 and bad.lowest >= 1 and bad.highest == bad.allowed


# -- the fix --------------------------------------------------------------------------------------------------------


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    crash = crash_of(record)
    if crash is None:
        yes = next((e.numbers["yes"] for e in evidence if "yes" in e.numbers), 1)
        return Fix("give the labels as 0 and 1", f"y = (y == {yes:g}).float()  # the one that is to count as yes", "advice")
    bad = crash.indices
    name = bad.variable if bad is not None and bad.variable.isidentifier() else "y"
    if bad is not None and bad.function == "embedding":
        return _more_rows(record, crash, bad)
    if "class probabilities" in crash.message:
        return _target(record, crash, "give class indices instead of one-hot rows", "{0}.argmax(dim=1)", name)
    if "multi-target" in crash.message:
        wide = bad is not None and len(bad.shape) == 2 and bad.shape[1] == 1
        text, form = "give one class index per sample", "{0}.squeeze(1)" if wide else "{0}.argmax(dim=1)"
        return _target(record, crash, text, form, name)
    if bad is not None and not bad.whole:
        return Fix("the targets are real numbers, not classes: use a regression loss", f"loss = F.mse_loss(output, {name})", "advice")
    if "Long" in crash.message or "not implemented" in crash.message or "index tensor" in crash.message:
        return _target(record, crash, "give class indices as int64", "{0}.long()", name)
    if bad is not None and _from_one(bad):
        return _target(record, crash, f"the labels count from 1 (1 to {bad.allowed}): subtract 1", "{0} - 1", name)
    if bad is not None and (mark := _void(bad)) is not None:
        return _ignore(record, crash, mark)
    if bad is not None and _too_few(bad):
        return _more_outputs(record, bad)
    snippet = "y = y - y.min()  # labels that start at 1\nassert 0 <= y.min() and y.max() < n_classes"
    return Fix("make the labels 0..C-1, or give the model one output per class", snippet, "advice")


def _target(record: Record, crash: Crash, text: str, form: str, name: str) -> Fix:
    """Change the target where it goes into the loss."""
    found = failing_call(record, crash)
    diff = ""
    if found is not None and crash.indices is not None and crash.indices.function in ("cross_entropy", "nll_loss", "one_hot"):
        source, call = found
        target = argument(call, 0 if crash.indices.function == "one_hot" else 1, "target")
        if target is not None:
            diff = source.diff(source.replacing(target, form.format(source.segment(target))))
    return mend(text, diff, f"{name} = {form.format(name)}", "consent")


def _ignore(record: Record, crash: Crash, mark: int) -> Fix:
    found, made = failing_call(record, crash), _loss_made(record)
    diff = ""
    if found is not None and found[1].args and found[1].keywords == [] and crash.call.startswith(("F.", "torch.", "nn.functional")):
        source, call = found
        diff = source.diff(source.giving(call, "ignore_index", str(mark)))
    elif made is not None:
        diff = made[0].diff(made[0].giving(made[1], "ignore_index", str(mark)))
    text = f"if {mark} stands for “no label”, tell the loss to leave it out (otherwise give those samples a class)"
    return mend(text, diff, f"nn.CrossEntropyLoss(ignore_index={mark})", "consent")


def _more_rows(record: Record, crash: Crash, bad: BadIndices) -> Fix:
    rows = int(bad.highest) + 1
    if not _too_few(bad):
        return Fix("tokens must not be negative: give padding and unknown words a token of their own (0, with padding_idx=0)", "", "advice")
    found = built_calls(record, crash)
    diff = changed_number(found[0][0], argument(found[0][1], 0, "num_embeddings"), bad.allowed, rows) if len(found) == 1 else ""
    text = f"give the embedding a row for every token: at least {rows:,} (this batch's largest token is {bad.highest:g})"
    return mend(text, diff, f"nn.Embedding({rows}, ...)", "consent")


def _more_outputs(record: Record, bad: BadIndices) -> Fix:
    count = int(bad.highest) + 1
    calls = calls_at(record, bad.outputs_at, bad.outputs_kind)
    diff = (
        changed_number(calls[0][0], argument(calls[0][1], 1, OUTPUTS.get(bad.outputs_kind, "out_features")), bad.allowed, count)
        if len(calls) == 1
        else ""
    )
    layer = f"layer {bad.outputs}" if bad.outputs else "the last layer"
    text = f"give {layer} {count} outputs instead of {bad.allowed}, or leave those classes out of the data"
    return mend(text, diff, f"n_classes = {count}", "consent")
