"""Two shapes do not fit: a layer is given another size than it was made for, or prediction and target differ in size.

## What happens

A layer is made for a fixed number of features or channels. When the layer before it gives another number (after a change of the image size, a
convolution without padding, a forgotten flatten, a transposed batch), or when the predictions are not as many as the targets, the operation cannot be computed and
the script stops, usually in its first step or at the last, smaller batch.

## How we know

Proof: the exception is one that torch raises for sizes only. The layer, its weights and what came in are still there when it is raised, and on traced steps
the operation and the line that made the input: the report names the layer, what it expects, what it got and from where.

## Looks like it but is not

- Labels outside the classes and indices out of range (`invalid-label`).
- Shapes that differ but broadcast: nothing crashes there (`shape-broadcast`).
- Checkpoints whose weights have other sizes: these fail while they are loaded.
- A batch norm that refuses a batch of one sample (`batchnorm-tiny-batch`).

## Fix

Write the number that comes into the layer that expects another; print the shape once before the line that fails.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html and torch.nn.Conv2d (shapes of input and weight).
- https://docs.pytorch.org/docs/stable/notes/broadcasting.html
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sickbay.causes.crashes import argument, built_calls, changed_number, crash_of, died_of, number_place, origin, says, when
from sickbay.causes.evidence import located, shape
from sickbay.causes.registry import cause
from sickbay.facts import Crash, CrashTensor
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.asked_for import asked_for
from sickbay.script.fixing import mend, receiver, source_at
from sickbay.signs import Signs

MESSAGES = (
    r"mat1 and mat2 shapes cannot be multiplied",
    r"size mismatch, got",
    r"inconsistent tensor size",
    r"mat1 dim 1 must match mat2 dim 0",
    r"expected input\[.*\] to have \d+ channels, but got \d+ channels",
    r"Given groups=\d+, (?:expected )?weight",
    r"Given transposed=",
    r"Expected \dD (?:\(unbatched\) )?or \dD (?:\(batched\) )?input",
    r"[Ee]xpected (?:\dD|\d-dimensional).*(?:input|target|tensor)",
    r"expected \dD(?: or \dD)* input \(got",
    r"running_mean should contain \d+ elements not \d+",
    r"Expected weight to be a vector of size equal to the number of channels",
    r"Given normalized_shape=",
    r"The size of tensor a \(\d+\) must match the size of tensor b",
    r"The expanded size of the tensor",
    r"Expected input batch_size \(\d+\) to match target batch_size",
    r"Expected target size",
    r"Using a target size .* that is different to the input size",
    r"Target size .* must be the same as input size",
    r"input and target shapes do not match",
    r"input\.size\(-1\) must be equal to input_size",
    r"[Ee]xpected hidden(?:\[\d\])? size",
    r"input has inconsistent (?:input|hidden)_size",
    r"input must have \d dimensions",
    r"(?:For batched|For unbatched) .*hx",
    r"shape '\[.*\]' is invalid for input of size",
    r"Sizes of tensors must match except in dimension",
    r"Tensors must have same number of dimensions",
    r"Expected size for first two dimensions of batch2",
    r"batch1 and batch2 must have same number of batches",
    r"was expecting embedding dimension of \d+, but got",
    r"key's sequence and batch dims .* do not match",
    r"The shape of the (?:2D |3D )?(?:attn_)?mask",
    r"The shape of the mask .* does not match the shape of the indexed tensor",
    r"einsum\(\): (?:subscript|operands do not broadcast|the number of subscripts)",
    r"Output size is too small",
    r"Kernel size can't be greater than actual input size",
    r"only batches of spatial targets supported",
    r"the batch number of src and tgt must be equal",
    r"the feature number of src and tgt must be equal",
    r"shape mismatch: (?:value tensor|indexing tensors)",
    r"view size is not compatible",
)
"""What torch says of sizes only, by operation."""
NOT_HERE = (r"Error\(s\) in loading state_dict", r"more than 1 value per channel")
WIDTHS = {
    "Linear": ("in_features", 0), "LazyLinear": ("in_features", 0), "Conv1d": ("in_channels", 0), "Conv2d": ("in_channels", 0), "Conv3d": ("in_channels", 0),
    "ConvTranspose1d": ("in_channels", 0), "ConvTranspose2d": ("in_channels", 0), "ConvTranspose3d": ("in_channels", 0), "BatchNorm1d": ("num_features", 0),
    "BatchNorm2d": ("num_features", 0), "BatchNorm3d": ("num_features", 0), "InstanceNorm1d": ("num_features", 0), "InstanceNorm2d": ("num_features", 0),
    "LayerNorm": ("normalized_shape", 0), "GroupNorm": ("num_channels", 1), "LSTM": ("input_size", 0), "GRU": ("input_size", 0), "RNN": ("input_size", 0),
    "LSTMCell": ("input_size", 0), "GRUCell": ("input_size", 0), "RNNCell": ("input_size", 0), "MultiheadAttention": ("embed_dim", 0),
}  # fmt: skip
"""The argument of a layer that says how wide its input is, and its position."""
_NUMBERS = (
    (r"cannot be multiplied \(\d+x(?P<got>\d+) and (?P<wanted>\d+)x\d+\)"),
    (r"to have (?P<wanted>\d+) channels, but got (?P<got>\d+) channels"),
    (r"running_mean should contain (?P<got>\d+) elements not (?P<wanted>\d+)"),
    (r"normalized_shape=\[(?P<wanted>\d+)\].*got input of size\s*\[(?:\d+, )*(?P<got>\d+)\]"),
    (r"equal to input_size\. Expected (?P<wanted>\d+), got (?P<got>\d+)"),
    (r"inconsistent input_size: got (?P<got>\d+),? expected (?P<wanted>\d+)"),
    (r"embedding dimension of (?P<wanted>\d+), but got (?P<got>\d+)"),
    (r"Expected number of channels.*got input of shape \[\d+, (?P<got>\d+).*num_groups"),
)
_BATCH = r"Expected input batch_size \((\d+)\) to match target batch_size \((\d+)\)"


@dataclass(frozen=True)
class Width:
    """A layer's expected and actual input width."""

    wanted: int
    got: int


@cause(
    code="A220",
    level="architecture",
    title="shapes do not fit together",
    why="The operation cannot be computed on these sizes, so the script stops there.",
    explains=set(),
)
def shape_mismatch(record: Record, signs: Signs) -> Iterator[Evidence]:
    crash = crash_of(record)
    if crash is None or not any(says(crash, m) for m in MESSAGES) or any(says(crash, m) for m in NOT_HERE):
        return
    width = _width(crash)
    place = _layer_place(record, crash, width) if width is not None and crash.layer_kind in WIDTHS else crash.reshaped_at
    yield died_of(f"{_told(crash, width)}: {crash.kind} {when(crash)}{located(crash.place)}", crash, place)


def _layer_place(record: Record, crash: Crash, width: Width) -> Place | None:
    name, position = WIDTHS[crash.layer_kind]
    written = number_place(built_calls(record, crash), position, name, width.wanted)
    return written or asked_for(record, crash.layer, crash.layer_built_at) or crash.layer_built_at


def _width(crash: Crash) -> Width | None:
    for pattern in _NUMBERS:
        if (found := says(crash, pattern)) is not None and "wanted" in found.groupdict():
            return Width(int(found["wanted"]), int(found["got"]))
    return None


def _told(crash: Crash, width: Width | None) -> str:
    given = _given(crash)
    came = f" of shape {shape(given.shape)}" if given is not None else ""
    since = f" ({origin(given)})" if given is not None and origin(given) else ""
    if width is not None and crash.layer_kind:
        name = f"layer {crash.layer}" if crash.layer else "the model"
        name += f" ({crash.layer_text or crash.layer_kind})"
        built = located(crash.layer_built_at, ", made at")
        return f"{name}{built} expects {width.wanted} {_noun(crash)} and is given {width.got}, in an input{came}{since}"
    if (batch := says(crash, _BATCH)) is not None:
        lost = f"; {crash.reshaped_by}{located(crash.reshaped_at)} made it something else than the batch" if crash.reshaped_at is not None else ""
        return f"{batch[1]} predictions for {batch[2]} targets, predictions{came}{since}{lost}"
    who = (
        f"layer {crash.layer} ({crash.layer_kind})"
        if crash.layer and crash.operation in ("", crash.layer_kind)
        else crash.operation or "the operation"
    )
    own = [t for t in crash.tensors if not t.parameter or not crash.layer_kind][:4]
    shapes = [f"{t.variable or t.role or 'one'} {shape(t.shape)}{f' {origin(t)}' if origin(t) else ''}" for t in own]
    sizes = f" ({'; '.join(shapes)})" if shapes else ""
    return f"{who} cannot take these sizes{sizes}: “{_first_line(crash.message)}”"


def _name(crash: Crash) -> str:
    return f"layer {crash.layer}" if crash.layer else f"the {crash.layer_kind}"


def _noun(crash: Crash) -> str:
    return "channels" if "Conv" in crash.layer_kind or crash.layer_kind in ("BatchNorm2d", "BatchNorm3d", "GroupNorm") else "features"


def _first_line(message: str) -> str:
    return re.sub(r"^\w+: ", "", message.strip().splitlines()[0])[:160]


def _given(crash: Crash) -> CrashTensor | None:
    """What came in: the tensor that torch calls input (or the first that is no weight)."""
    data = [t for t in crash.tensors if not t.parameter]
    return next((t for t in data if t.role in ("input", "x", "query", "src")), data[0] if data else None)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    crash = crash_of(record)
    if crash is None:
        return Fix("make the sizes equal")
    width = _width(crash)
    if width is not None and crash.layer_kind in WIDTHS:
        return _rewidth(record, crash, width)
    if says(crash, _BATCH):
        text, snippet = "keep the batch as the first dimension: flatten everything after it", "x = x.flatten(1)      # instead of x.view(-1, n)"
        return mend(text, _flattened(record, crash.reshaped_at), snippet, "consent")
    if says(crash, r"Expected target size"):
        return Fix("cross_entropy wants the classes in dimension 1", "F.cross_entropy(output.transpose(1, 2), target)", "advice")
    if says(crash, r"[Tt]arget size"):
        return Fix("give prediction and target the same shape", "loss = criterion(output.squeeze(1), target)", "advice")
    if says(crash, r"is invalid for input of size|view size"):
        return Fix("let the batch size come from the data, not from a constant", "x = x.view(x.size(0), -1)", "advice")
    if says(crash, r"[Ee]xpected hidden"):
        return Fix(
            "make the hidden state for the batch that is there (the last one may be smaller)",
            "h = torch.zeros(num_layers, x.size(0), hidden_size)",
            "advice",
        )
    return Fix("print both shapes before this line and make them agree", "print(a.shape, b.shape)", "advice")


def _flattened(record: Record, place: Place | None) -> str:
    """`x.view(-1, 48)` as `x.flatten(1)`."""
    source = source_at(record, place)
    calls = [c for c in source.calls("view", "reshape", line=place.line) if len(c.args) == 2] if source is not None and place is not None else []
    owner = receiver(calls[0]) if len(calls) == 1 and ast.unparse(calls[0].args[0]) == "-1" else None
    return source.diff(source.replacing(calls[0], f"{source.segment(owner)}.flatten(1)")) if source is not None and owner is not None else ""


def _rewidth(record: Record, crash: Crash, width: Width) -> Fix:
    name, position = WIDTHS[crash.layer_kind]
    diffs = [changed_number(source, argument(call, position, name), width.wanted, width.got) for source, call in built_calls(record, crash)]
    possible = [d for d in diffs if d]
    diff = possible[0] if len(possible) == 1 else ""
    given = _given(crash)
    since = f", or make layer {given.made_in} give {width.wanted}" if given is not None and given.made_in else ""
    text = f"make {_name(crash)} for what it is given: {name}={width.got} instead of {width.wanted}{since}"
    return mend(text, diff, f"nn.{crash.layer_kind}({width.got}, ...)", "consent")
