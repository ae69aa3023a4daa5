"""A formula in the loss (or before it) that gives NaN or infinity, or an infinite slope, at values that do occur.

## What happens

`log(0)` is minus infinity, `exp(89)` does not fit a float32, `0 / 0` is NaN, and the slope of `sqrt` at 0 is infinite although its value
is not. A softmax that is sure rounds to exactly 0 or 1, a batch without positives has a sum of 0, two identical vectors have distance 0:
one such sample makes the loss or its gradient NaN, and after the next step all weights are.

## How we know

Proof: the first operation that was given only finite values and gave NaN or infinity, at the first step that was not finite, is a
logarithm, root, division, power or exponential in the script itself, and all weights were finite. Or: the loss is finite, the gradient is
not, and such an operation was given a value at which its slope is infinite. Where that very step was not traced, the operation is taken
from autograd's graph or from an earlier trace.

The pattern alone (`log(softmax(x))`) is told as a possible weakness only: many runs never reach the edge.

## Looks like it but is not

- Weights that had grown without bound before: then the learning rate (or the initialisation) is at fault, and any operation would overflow.
- NaN in the data.
- Minus infinity in an attention mask, which a softmax turns into 0.
- A small constant inside (`log(p + 1e-8)`, `clamp_min`): that is the cure.

## Fix

Use the fused version (`log_softmax`, `logsigmoid`, `binary_cross_entropy_with_logits`, `logsumexp`), or keep the argument away from the edge
with a small constant *inside* the root, logarithm or division.

## References

- Goodfellow, Bengio, Courville 2016, section 4.1 (overflow and underflow).
- https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html
- https://github.com/pytorch/pytorch/issues/6864 (the gradient of sqrt at 0)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import against, first_place, hint, located, proof, strong
from sickbay.causes.fixing import Edit, Source, called, mend, receiver, source_at
from sickbay.causes.nonfinite import guilty
from sickbay.causes.registry import cause
from sickbay.facts import FirstInvalid, Fragile, Loss
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.signs import Signs

LOGARITHMS = ("log", "log2", "log10", "log1p", "xlogy", "logit")
ROOTS = ("sqrt", "rsqrt", "pow", "norm", "linalg_norm", "linalg_vector_norm")
DIVISIONS = ("div", "truediv", "div_", "itruediv", "reciprocal", "rdiv", "rtruediv", "mean", "std", "var", "normalize")
EXPONENTIALS = ("exp", "expm1", "cosh", "sinh", "rpow", "exp2")
OTHERS = ("softmax", "log_softmax", "acos", "asin", "atanh", "arccos", "arcsin", "prod", "mul", "sub", "logsumexp", "lgamma", "tan")
UNSTABLE = (*LOGARITHMS, *ROOTS, *DIVISIONS, *EXPONENTIALS, *OTHERS)
WORDS = {
    "truediv": "division",
    "div": "division",
    "rdiv": "division",
    "rtruediv": "division",
    "itruediv": "division",
    "div_": "division",
    "pow": "power",
}
SQUASHED = ("softmax", "sigmoid")
GROWTH = 100.0
"""Loss or gradient a hundred times their middle before they were not finite: the weights ran away first."""


@cause(
    code="P311",
    level="procedure",
    title="a formula in the loss is numerically unstable",
    why="One sample at the edge makes the loss or its gradient NaN, and after the next step every weight.",
    explains={
        "nonfinite-loss", "nonfinite-gradient", "diverging-loss", "loss-spikes", "gradient-spike", "flat-loss", "chance-level", "dead-units", "dead-relu",
        "lr-too-high", "val-flat-from-start", "val-rising", "update-ratio-high", "vanishing-gradient", "overfitting", "exploding-gradient",
        "gradient-growth-with-depth", "gradient-decay-with-depth", "early-plateau", "slow-descent", "unscaled-input",
    },
    cure="stable-loss",
)  # fmt: skip
def unstable_loss(record: Record, signs: Signs) -> Iterator[Evidence]:
    if guilty(record, "input") is not None or guilty(record, "target") is not None:
        return
    for loss in record.facts.losses:
        first = next(iter(loss.invalid), None)
        if first is None:
            yield from _pattern(loss)
        elif _by_formula(first):
            yield from _operation(record, loss, first)
        elif first.origin in ("parameter", "unknown") and not first.traced:
            yield from _between_looks(record, loss, first)
    if (unused := record.facts.unused_loss) is not None and _by_formula(unused):
        yield from _operation(record, Loss(index=0), unused)


def _by_formula(first: FirstInvalid) -> bool:
    return first.origin == "operation" and first.op in UNSTABLE and not first.in_layer and first.parameters_finite is not False


def _operation(record: Record, loss: Loss, first: FirstInvalid) -> Iterator[Evidence]:
    went_in = f", given values from {first.lowest:.3g} to {first.highest:.3g}" if first.lowest is not None and first.highest is not None else ""
    name = f"`{first.call}`" if first.call else f"a {WORDS.get(first.op, first.op)}"
    if first.backward:
        text = f"the slope of {name}{located(first.place)} is infinite{went_in}; the loss of step {first.step} is finite, its gradient is not"
    else:
        gave = {"nan": "NaN", "inf": "infinity", "-inf": "minus infinity"}.get(first.kind, "NaN or infinity")
        text = f"{name}{located(first.place)} is the first operation that is not finite, at step {first.step}: it gives {gave}{went_in}; all weights were finite"
    grown = _grown(record, loss, first.step)
    yield (hint if grown else proof)(text, first.place, (first.step, first.step))
    if grown:
        yield against(grown)


def _between_looks(record: Record, loss: Loss, first: FirstInvalid) -> Iterator[Evidence]:
    """The step itself was not traced: sudden, from a good level, with an open edge in the formula."""
    weak = sorted((f for f in loss.fragile if not f.guarded and f.op in (*LOGARITHMS, *ROOTS)), key=lambda f: (-f.touched, _number(f.lowest)))
    if not weak or first.step == 0 or _grown(record, loss, first.step):
        return
    seen = f" (its argument was seen as low as {weak[0].lowest:.3g})" if weak[0].lowest is not None else ""
    yield strong(
        f"the loss turned NaN at step {first.step} from a good level, with no growth before; `{weak[0].call}`{located(weak[0].place)} has nothing that keeps it from 0{seen}",
        weak[0].place,
        (first.step, first.step),
    )


def _pattern(loss: Loss) -> Iterator[Evidence]:
    for f in loss.fragile:
        if f.op in LOGARITHMS and not f.guarded and f.made_from is not None and f.made_from.name in SQUASHED:
            yield hint(
                f"`{f.call}`{located(f.place)} takes the logarithm of a {f.made_from.name}, which rounds to 0 when it is sure: lowest seen {_number(f.lowest):.3g}",
                f.place,
            )
            return


def _number(value: float | None) -> float:
    return value if value is not None else 0.0


def _grown(record: Record, loss: Loss, step: int) -> str:
    """Whether loss or gradients had run away before."""
    for name in ("loss/train", "grad_norm"):
        series = record.series(name if loss.index == 0 or name == "grad_norm" else f"{name}@{loss.index}")
        before = np.abs(series.values[(series.steps < step) & np.isfinite(series.values)])
        if len(before) >= 3 and np.median(before) > 0 and before[-1] > GROWTH * np.median(before):
            return f"the {'loss' if name == 'loss/train' else 'gradient norm'} had grown to {before[-1]:.3g} before, {before[-1] / np.median(before):.0f} times its middle"
    return ""


# -- the fix ----------------------------------------------------------------------------------------------------------


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = first_place(evidence)
    op, made = _what(record, place)
    source = source_at(record, place)
    diff = source.diff(_edit(source, place, op, made)) if source is not None and place is not None else ""
    if op in LOGARITHMS and made in SQUASHED:
        fused = "F.log_softmax(scores, dim=1)" if made == "softmax" else "F.logsigmoid(scores)   # log(1 - p) is F.logsigmoid(-scores)"
        return mend(f"take the logarithm of the {made} in one operation", diff, fused, "consent")
    if op in LOGARITHMS:
        return mend("keep the logarithm's argument above zero", diff, "torch.log(x.clamp_min(1e-8))", "consent")
    if op in ROOTS:
        return mend("add a small constant inside the root: its slope at 0 is infinite", diff, "torch.sqrt(x + 1e-8)", "consent")
    if op in EXPONENTIALS:
        return mend(
            "keep the exponential's argument small, or use the fused version",
            diff,
            "torch.softmax(x, dim=1)    # or torch.logsumexp(x, 1), or torch.exp(x.clamp(max=20))",
        )
    if op in DIVISIONS:
        return mend("keep the divisor away from zero", diff, "x / y.clamp_min(1e-8)", "consent")
    return mend("keep the values that enter this operation away from its edge", diff, "x.clamp_min(1e-8)")


def _what(record: Record, place: Place | None) -> tuple[str, str]:
    """The operation at a place, and what made its argument."""
    known: list[Fragile] = [f for x in record.facts.losses for f in x.fragile if f.place == place]
    invalid = [*(i for x in record.facts.losses for i in x.invalid), record.facts.unused_loss]
    first = next((i for i in invalid if i is not None and i.place == place), None)
    op = first.op if first is not None else known[0].op if known else ""
    made = next((f.made_from.name for f in known if f.op == op and f.made_from is not None), "")
    return op, made


def _edit(source: Source, place: Place, op: str, made: str) -> Edit | None:
    """`torch.sqrt(x)` as `torch.sqrt(x + 1e-8)`, `torch.log(F.softmax(z, 1))` as `F.log_softmax(z, 1)`."""
    calls = source.calls(op, line=place.line)
    if len(calls) == 1 and op in (*LOGARITHMS, "sqrt", "rsqrt"):
        call = calls[0]
        method = not call.args
        argument = receiver(call) if method else call.args[0]
        if argument is None:
            return None
        if made == "softmax" and isinstance(argument, ast.Call) and called(argument) == "softmax":
            owner = receiver(argument)
            inner = ", ".join([source.segment(a) for a in argument.args] + [f"{k.arg}={source.segment(k.value)}" for k in argument.keywords])
            return source.replacing(call, f"{source.segment(owner)}.log_softmax({inner})" if owner is not None else f"log_softmax({inner})")
        text = source.segment(argument)
        return source.replacing(argument, f"({text} + 1e-8)" if method else f"{text} + 1e-8")
    if op in DIVISIONS:
        return _divisor(source, place)
    return None


def _divisor(source: Source, place: Place) -> Edit | None:
    statement = source.statement(place.line)
    found = [n for n in ast.walk(statement) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)] if statement is not None else []
    if len(found) != 1:
        return None
    text = source.segment(found[0].right)
    simple = isinstance(found[0].right, (ast.Name, ast.Attribute, ast.Call, ast.Subscript))
    return source.replacing(found[0].right, f"{text if simple else f'({text})'}.clamp_min(1e-8)")
