"""Samples of a batch meet in the model: a prediction depends on which other samples happen to be beside it.

## What happens

A tensor is read in the wrong order (`view` where a transpose is due), a softmax or mean runs over dimension 0, or a layer that
expects (time, batch, features) gets (batch, time, features). Nothing crashes, since the shapes fit. Each sample's prediction is then made from
pieces of other samples, so the model learns little or nothing, and scores differently for every batch size.

## How we know

Proof, by experiment: on a copy of the model, in eval mode and without gradients, one sample of a real batch is replaced by another. Only its
own prediction may change. If others change (for two different samples, and bit for bit the same when nothing is replaced), the passes
are compared operation by operation: the first one in which the change leaves its sample is the place.

## Looks like it but is not

- Batch norm, also one made by hand (mean and spread over the batch): in eval mode it does not mix, or it is meant to.
- Losses over pairs of samples (contrastive learning): they are outside the model, or give one score for each pair.
- Graphs, sets and single long sequences, whose rows are meant to meet: tested only where rows are known to be samples (a DataLoader,
  an index vector, pictures, next-token data).

## Fix

`transpose`/`permute` before `view`, the right `dim`, `batch_first=True`.

## References

- Karpathy 2019, A recipe for training neural networks ("use backprop to chart dependencies").
- https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html and MultiheadAttention (batch_first is False by default).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import located, proof, shape, strong
from sickbay.causes.registry import cause
from sickbay.facts import BatchMixing
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Source, called, keyword, mend, receiver, source_at
from sickbay.signs import Signs

BATCH_FIRST = ("LSTM", "GRU", "RNN", "MultiheadAttention", "TransformerEncoderLayer", "TransformerDecoderLayer", "Transformer")


@cause(
    code="A211",
    level="architecture",
    title="samples of a batch are mixed inside the model",
    why="Each prediction is made from pieces of other samples, so what the model learns is mostly noise and changes with the batch.",
    explains={
        "flat-loss", "chance-level", "slow-descent", "early-plateau", "val-flat-from-start", "val-rising", "train-val-gap", "oscillating-loss",
        "lr-too-low", "overfitting", "vanishing-gradient", "under-capacity",
    },
)  # fmt: skip
def batch_mixing(record: Record, signs: Signs) -> Iterator[Evidence]:
    for found in record.facts.probes.mixing:
        place = _place(record, found)
        others = found.samples - 1
        effect = (
            f"changed the predictions for {found.changed} of the {others} others"
            if found.changed
            else "changed no prediction at all, not even its own, while inside the model it reached the others"
        )
        yield proof(
            f"replacing one sample of a batch of {found.samples} by another {effect} (on a copy of {found.model or 'the model'} at step {found.step}, in eval mode)",
            place,
            (found.step, found.step),
            samples=found.samples,
            changed=found.changed,
            effect=found.effect,
        )
        what = f"`{found.call}`" if found.call else found.op
        yield strong(f"samples first meet in {what}{located(place)}, which is given {shape(found.shape)}", place)


def _place(record: Record, found: BatchMixing) -> Place | None:
    """A TransformerEncoder copies its layer: the mistake is where that layer is made."""
    source = source_at(record, found.place)
    if source is not None and found.layer_kind in ("TransformerEncoder", "TransformerDecoder"):
        layers = [c for c in source.calls(f"{found.layer_kind}Layer") if keyword(c, "batch_first") is None]
        if len(layers) == 1:
            return Place(source.file, layers[0].lineno, found.place.layer if found.place else None, source.lines[layers[0].lineno - 1].strip())
    return found.place


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    found = next(iter(record.facts.probes.mixing), BatchMixing())
    place = _place(record, found)
    source = source_at(record, place)
    edit = _edit(source, place.line, found) if source is not None and place is not None else None
    diff = source.diff(edit) if source is not None and edit is not None else ""
    if found.op in ("lstm", "gru", "rnn_tanh", "rnn_relu", "multi_head_attention_forward", "scaled_dot_product_attention"):
        return mend("tell the layer that the batch comes first", diff, "batch_first=True", "consent")
    if found.op in ("view", "reshape", "flatten", "unflatten"):
        return mend("move dimensions with transpose or permute; view only cuts the same memory anew", diff, "x.transpose(0, 1)", "consent")
    return mend(f"{found.op} must run within a sample, not over the batch (dimension 0)", diff, "dim=1", "consent")


def _edit(source: Source, line: int | None, found: BatchMixing) -> Edit | None:
    for call in source.calls(*BATCH_FIRST, line=line):
        given = keyword(call, "batch_first")
        if given is not None:
            return source.replacing(given.value, "True")
        end = source.replacing(call, "").end - 1
        return Edit(end, end, ", batch_first=True" if call.args or call.keywords else "batch_first=True")
    for call in source.calls(found.op, line=line):
        owner = receiver(call)
        if found.op in ("view", "reshape") and owner is not None and (swap := _swapped(found)):
            return source.replacing(call, f"{source.segment(owner)}.transpose({swap[0]}, {swap[1]})")
        if (dim := _dimension(call)) is not None:
            return source.replacing(dim, "1")
    return None


def _swapped(found: BatchMixing) -> tuple[int, int] | None:
    """The two dimensions that the user wanted to swap, if the result's shape says so."""
    if len(found.shape) != len(found.result) or sorted(found.shape) != sorted(found.result):
        return None
    moved = [i for i, (a, b) in enumerate(zip(found.shape, found.result, strict=True)) if a != b]
    return (moved[0], moved[1]) if len(moved) == 2 else None


def _dimension(call: ast.Call) -> ast.expr | None:
    """The argument that says dimension 0: `dim=0`, `F.softmax(x, 0)`, `x.softmax(0)`."""
    given = keyword(call, "dim") or keyword(call, "axis")
    candidates = [given.value] if given is not None else list(call.args)
    return next((a for a in candidates if isinstance(a, ast.Constant) and a.value == 0 and called(call)), None)
