"""Tensors of one operation are of different types (float and double, float and integer) or on different devices.

## What happens

torch does not convert silently. Weights are float32; numbers from numpy or pandas are float64, images are bytes, labels are integers. A batch that was not moved to the
device of the model, a tensor that is made in `forward` without `device=`, a double that meets a float: the operation stops the script.

## How we know

Proof: the exception is one that torch raises for types or devices only. The tensors are still there when it is raised: the report names each with its type and
device, and the one that differs from the model's weights.

## Looks like it but is not

- Labels of the wrong type in a classification loss (`invalid-label`).
- Autocast and loss scaling (`amp-misuse`).
- Types that mix without an exception: torch promotes them.

## Fix

Convert once where the data are made (`.float()`), or move the batch where it enters (`x.to(device)`); make new tensors with `torch.zeros(..., device=x.device)`.

## References

- https://docs.pytorch.org/docs/stable/tensor_attributes.html (dtype, device, type promotion).
- https://docs.pytorch.org/docs/stable/notes/cuda.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from sickbay.causes.crashes import crash_of, died_of, failing_call, origin, says, when
from sickbay.causes.evidence import located
from sickbay.causes.registry import cause
from sickbay.facts import Crash, CrashTensor
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, source_at
from sickbay.signs import Signs

DEVICES = (
    r"Expected all tensors to be on the same device",
    r"Input type \(torch\.(?:cuda\.)?\w+\) and (?:weight|bias) type \(torch\.(?:cuda\.)?\w+\) should be the same",
    r"is on (?:cuda|cpu|meta|mps)[:\d]*, (?:but )?(?:different from|expected)",
    r"Expected object of device type",
    r"indices should be either on cpu or on the same device",
    r"Tensor for argument .* is on (?:CPU|GPU|cpu|cuda)",
    r"is not on the expected device",
    r"Input and (?:parameter|hidden) tensors are not at the same device",
)
TYPES = (
    r"must have the same dtype",
    r"to have the same dtype, but got",
    r"Input type \(.*\) and (?:weight|bias) type \(.*\) should be the same",
    r"expected scalar type \w+ but found \w+",
    r"expected (?:m1 and m2|self and mat2) to have the same dtype",
    r"Expected tensor for argument .* to have (?:one of )?the following scalar types?",
    r"Found dtype \w+ but expected \w+",
    r"result type \w+ can't be cast to the desired output type",
    r"mixed dtype",
    r"tensors used as indices must be long",
    r"index tensors must be long",
    r"(?:gather|scatter)\(\): Expected dtype int\d+",
    r"\"\w+\" not implemented for '(?:Long|Int|Byte|Bool|Short|Char)'",
    r"Only Tensors of floating point and complex dtype can require gradients",
    r"[Cc]an't convert np\.ndarray of type numpy\.object_",
)
_LOSSES = ("cross_entropy", "nll_loss")
_COMPARE = ("binary_cross_entropy", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "kl_div")
CONVERT = {"float32": "float", "float64": "double", "int64": "long", "float16": "half", "bfloat16": "bfloat16"}


@cause(
    code="P330",
    level="procedure",
    title="tensors of different types or devices meet",
    why="torch converts neither types nor devices by itself, so the operation stops the script.",
    explains=set(),
)
def device_mismatch(record: Record, signs: Signs) -> Iterator[Evidence]:
    crash = crash_of(record)
    if crash is None or not _matches(crash) or (crash.operation in _LOSSES and says(crash, r"Long|nll_loss")):
        return
    if record.facts.precision.autocast and says(crash, r"Half|BFloat16|c10::Half"):
        return
    odd = _odd(crash)
    yield died_of(f"{_told(crash, odd)}: {crash.kind} {when(crash)}{located(crash.place)}", crash, _place(crash, odd))


def _matches(crash: Crash) -> bool:
    return any(says(crash, m) for m in (*DEVICES, *TYPES))


def _by_device(crash: Crash) -> bool:
    return len({t.device for t in crash.tensors}) > 1


def _kind(crash: Crash) -> Callable[[CrashTensor], str]:
    by_device = _by_device(crash)
    return lambda t: t.device if by_device else t.dtype


def _odd(crash: Crash) -> CrashTensor | None:
    """The tensor that differs from the model's weights; where none took part, from the others."""
    if _indices(crash):
        return next((t for t in crash.tensors if not t.parameter and t.dtype not in ("int64", "int32", "bool", "uint8")), None)
    of = _kind(crash)
    own = [of(t) for t in crash.tensors if t.parameter]
    usual = own or [of(t) for t in crash.tensors if _by_device(crash) or "float" in t.dtype or len(crash.tensors) == 1]
    if not usual:
        return next(iter(crash.tensors), None)
    counts = Counter(usual)
    common = max(counts, key=lambda kind: (counts[kind], kind == "float32"))  # what torch makes by itself
    differing = [t for t in crash.tensors if not t.parameter and of(t) != common and (_by_device(crash) or _both_matter(t, crash))]
    return differing[0] if differing else None


def _indices(crash: Crash) -> bool:
    """It is about indices, which are integers by right."""
    return says(crash, r"must be long|Expected dtype int\d+|scalar types?: Long") is not None


def _both_matter(t: CrashTensor, crash: Crash) -> bool:
    """Integer tensors beside floats are often indices, and meant to be; not in losses that compare numbers."""
    return (
        "float" in t.dtype
        or crash.operation.startswith(_COMPARE)
        or not any("float" in other.dtype and other is not t and not other.parameter for other in crash.tensors)
    )


def _wanted(crash: Crash, odd: CrashTensor) -> str:
    if _indices(crash):
        return "int64"
    of = _kind(crash)
    others = [of(t) for t in crash.tensors if t is not odd and (t.parameter or not any(x.parameter for x in crash.tensors))]
    return Counter(others).most_common(1)[0][0] if others else ""


def _told(crash: Crash, odd: CrashTensor | None) -> str:
    who = f"layer {crash.layer} ({crash.layer_kind})" if crash.layer else crash.layer_kind or crash.operation or "the operation"
    if odd is None:
        parts = [f"{t.parameter or t.variable or t.role} is {t.dtype} on {t.device}" for t in crash.tensors[:4]]
        return f"{who} was given different types or devices ({'; '.join(parts)})" if parts else f"{who} was given different types or devices"
    name = f"`{odd.variable}`" if odd.variable else f"its {odd.role or 'input'}"
    is_, wanted = (f"on {odd.device}", _wanted(crash, odd)) if _by_device(crash) else (odd.dtype, _wanted(crash, odd))
    rest = "indices must be" if _indices(crash) else "the weights are" if any(t.parameter for t in crash.tensors) else "the other is"
    came = f" ({origin(odd)})" if origin(odd) else ""
    return f"{who} is given {name}, which is {is_}{came}" + (f", while {rest} {'on ' if _by_device(crash) else ''}{wanted}" if wanted else "")


def _place(crash: Crash, odd: CrashTensor | None) -> Place | None:
    """Data are converted where they enter the model; anything else where it was made, if that is known."""
    if odd is not None and odd.entered and crash.entered_at is not None:
        return crash.entered_at
    return crash.place


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    crash = crash_of(record)
    odd = _odd(crash) if crash is not None else None
    if crash is None or odd is None:
        return Fix("convert one of the two: `.to(device)` for devices, `.float()` for types", "x = x.to(device).float()", "advice")
    wanted = _wanted(crash, odd)
    name = odd.variable if odd.variable.isidentifier() else "x"
    if _by_device(crash):
        return Fix(f"move {name} to the device of the model before the model is called", f"{name} = {name}.to({_device(wanted)})", "advice")
    method = CONVERT.get(wanted, "float")
    text = f"convert {name} to {wanted or 'float32'}" + (", once, where the data are made" if odd.entered else "")
    return mend(text, _converted(record, crash, odd, method), f"{name} = {name}.{method}()", "consent")


def _device(wanted: str) -> str:
    return f"{wanted!r}" if wanted in ("cpu", "") else "device"


def _converted(record: Record, crash: Crash, odd: CrashTensor, method: str) -> str:
    """`model(x)` becomes `model(x.float())`."""
    place = _place(crash, odd)
    source = source_at(record, place)
    if source is None or place is None:
        return ""
    found = failing_call(record, crash)
    calls = [found[1]] if found is not None and place == crash.place else [c for c in source.calls(line=place.line) if len(c.args) == 1]
    args = [a for c in calls for a in c.args if not odd.variable or source.segment(a) == odd.variable]
    args = args or [c.args[0] for c in calls if odd.entered and c.args]
    return source.diff(source.replacing(args[0], f"{source.segment(args[0])}.{method}()")) if len(args) == 1 else ""
