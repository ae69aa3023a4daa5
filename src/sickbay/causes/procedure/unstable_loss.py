"""A formula in the loss (or before it) that gives NaN or infinity, or an infinite slope, at values that do occur.

## What happens

`log(0)` is minus infinity, `exp(89)` does not fit a float32, `0 / 0` is NaN, and the slope of `sqrt` at 0 is infinite although its value
is not. A softmax that is sure rounds to exactly 0 or 1, a batch without positives has a sum of 0, two identical vectors have distance 0:
one such sample makes the loss or its gradient NaN, and after the next step all weights are.

## How we know

Proof: the first operation that was given only finite values and gave NaN or infinity, at the first step that was not finite, is a
logarithm, root, division, power, exponential or the like (a mean over nothing, the spread of one sample, a softmax whose row is all masked, a CTC loss of a target that is too long), and all
weights were finite. Or: the loss is finite, the gradient is not, and such an operation was given a value at which its slope is infinite. On a step
that was not traced the operation is found in autograd's graph, by the values that it keeps, and its line by laying the graph over that of an
earlier, traced step. The report names the values that went in, and the rows of the batch that carry them.

The pattern alone (`log(softmax(x))`) is told as a possible weakness only: many runs never reach the edge.

## Looks like it but is not

- Numbers that had grown to 1e10 and more before they were multiplied or summed: they ran away before this operation.
- Half precision, where the same operation on the same values would fit float32 (`amp-misuse`).
- Weights that had grown without bound before: then the learning rate (or the initialisation) is at fault, and any operation would overflow.
- NaN in the data.
- Minus infinity in an attention mask, which a softmax turns into 0.
- A small constant inside (`log(p + 1e-8)`, `clamp_min`): that is the cure.
- Infinities that a mask leaves in what `log_softmax` gives, beside rows that are finite: only NaN counts then.

## Fix

Use the fused version (`log_softmax`, `logsigmoid`, `binary_cross_entropy_with_logits`, `logsumexp`), or keep the argument away from the edge
with a small constant *inside* the root, logarithm or division.

## References

- Goodfellow, Bengio, Courville 2016, section 4.1 (overflow and underflow).
- https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html
- https://github.com/pytorch/pytorch/issues/6864 (the gradient of sqrt at 0)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import against, first_place, hint, listed, located, proof, strong
from sickbay.causes.nonfinite import guilty, in_half, lost_guard, weights_ran_away
from sickbay.causes.registry import cause
from sickbay.facts import FirstInvalid, Fragile, Loss
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import source_at
from sickbay.script.stable import ALIGNMENTS, ARCS, DIVISIONS, EXPONENTIALS, LOGARITHMS, MEANS, ROOTS, SOFTMAXES, SPREADS, SQUASHED, mended
from sickbay.signs import Signs

PRODUCTS = ("mul", "imul", "rmul", "add", "sub", "sum", "prod", "cumprod", "cumsum", "square", "dot", "mse_loss", "pow", "addcmul")
"""Operations that give infinity from finite values only when those are enormous."""
OTHERS = ("logsumexp", "logaddexp", "lgamma", "tan", "atan2", "addcdiv", "cdist", "pairwise_distance", "cosine_similarity", "gaussian_nll_loss")
UNSTABLE = (*ALIGNMENTS, *LOGARITHMS, *ROOTS, *DIVISIONS, *SPREADS, *EXPONENTIALS, *ARCS, *SOFTMAXES, *MEANS, *PRODUCTS, *OTHERS)
LAYERS_THAT_FAIL = ("multi_head_attention_forward", "scaled_dot_product_attention")
"""Torch's own layers that give NaN for finite values: attention whose keys are all masked."""
WORDS = {
    "truediv": "division",
    "div": "division",
    "rdiv": "division",
    "rtruediv": "division",
    "itruediv": "division",
    "div_": "division",
    "pow": "power",
}
GROWTH = 100.0
"""Loss or gradient a hundred times their middle before they were not finite: the weights ran away first."""
ENORMOUS = 1e10
"""Products and sums of smaller numbers fit float32 (3e38): where they overflow, something ran away before."""


@cause(
    code="P311",
    level="procedure",
    title="a formula in the loss is numerically unstable",
    why="One sample at the edge makes the loss or its gradient NaN, and after the next step every weight.",
    explains={
        "nonfinite-loss", "nonfinite-gradient", "nonfinite-weight", "diverging-loss", "loss-spikes", "gradient-spike", "flat-loss", "chance-level", "dead-units",
        "dead-relu", "lr-too-high", "val-flat-from-start", "val-rising", "update-ratio-high", "vanishing-gradient", "overfitting", "exploding-gradient",
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
        elif (_by_formula(first) or _from_exponential(loss, first)) and lost_guard(loss, first) is None:
            yield from _operation(record, loss, first)
        elif (first.origin == "unknown" and first.backward and first.parameters_finite) or (
            first.origin == "parameter" and first.step == 0 and _first_update_unseen(record)
        ):
            yield from _steepest(loss, first)
        elif first.origin in ("parameter", "unknown") and not first.traced and not first.backward:
            yield from _between_looks(record, loss, first)
    if (unused := record.facts.unused_loss) is not None and _by_formula(unused):
        yield from _operation(record, Loss(index=0), unused)


def _by_formula(first: FirstInvalid) -> bool:
    if first.origin != "operation" or first.op not in UNSTABLE or first.parameters_finite is False or in_half(first):
        return False
    if first.in_layer:
        return first.op in LAYERS_THAT_FAIL and first.kind == "nan"
    return not (first.op in (*PRODUCTS, *MEANS) and max(abs(first.lowest or 0.0), abs(first.highest or 0.0)) > ENORMOUS)


def _from_exponential(loss: Loss, first: FirstInvalid) -> bool:
    """A sum that overflows because an exponential before it almost did: no weight had to run away for that."""
    if first.origin != "operation" or first.op not in (*PRODUCTS, *MEANS) or first.parameters_finite is False or in_half(first):
        return False
    return any(f.op in EXPONENTIALS and not f.guarded and first.op in f.feeds for f in loss.fragile)


def _first_update_unseen(record: Record) -> bool:
    """Trained by `torch.autograd.grad` alone: only its second call on the same tensors shows that it trains, and by then the first has moved them."""
    run = record.facts.run
    return not record.facts.optimizers and run.autograd_grad_calls > run.backwards > 0


def _steepest(loss: Loss, first: FirstInvalid) -> Iterator[Evidence]:
    """The step was not traced (a script without modules, at its very first): one line alone can have an infinite slope."""
    begins = (
        f"the loss of step {first.step} is finite, its gradient is not (of {listed(first.parameters, 3)})"
        if first.backward
        else "the very first gradients made the weights not finite"
    )
    steep = {f.place: f for f in loss.fragile if not f.guarded and f.op in ("sqrt", "rsqrt", *ARCS)}
    if len(steep) == 1:
        ((place, f),) = steep.items()
        yield strong(
            f"{begins}: `{f.call}`{located(place)} is the one operation on the way whose slope can be infinite, and nothing keeps it from there",
            place,
            (first.step, first.step),
        )


def _operation(record: Record, loss: Loss, first: FirstInvalid) -> Iterator[Evidence]:
    went_in = f", given values from {first.lowest:.3g} to {first.highest:.3g}" if first.lowest is not None and first.highest is not None else ""
    went_in += _carried(first)
    name = f"`{first.call}`" if first.call else f"a {WORDS.get(first.op, first.op)}"
    if first.backward:
        text = f"the slope of {name}{located(first.place)} is infinite{went_in}; the loss of step {first.step} is finite, its gradient is not"
    else:
        gave = {"nan": "NaN", "inf": "infinity", "-inf": "minus infinity"}.get(first.kind, "NaN or infinity")
        text = f"{name}{located(first.place)} is the first operation that is not finite, at step {first.step}: it gives {gave}{went_in}; all weights were finite"
    grown = _grown(record, loss, first.step) or weights_ran_away(record)
    yield (hint if grown else proof)(text, first.place, (first.step, first.step))
    if grown:
        yield against(grown)


def _carried(first: FirstInvalid) -> str:
    """ " (row 4 of the batch)"."""
    earlier = f", {first.passes_ago} backward {'pass' if first.passes_ago == 1 else 'passes'} before the last of the step" if first.passes_ago else ""
    if first.samples:
        return f" ({'sample' if len(first.samples) == 1 else 'samples'} {listed([str(i) for i in first.samples])} of the data set{earlier})"
    if first.rows:
        return (
            f" ({'row' if len(first.rows) == 1 else 'rows'} {listed([str(i) for i in first.rows])} of {'its' if earlier else 'the'} batch{earlier})"
        )
    return f" (in {first.count:,} of {first.total:,} elements, first at {list(first.where)})" if first.where else ""


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
    op, call, made, first = _what(record, place)
    backward = first is not None and first.backward
    negative = first is not None and first.lowest is not None and first.lowest < 0
    return mended(source_at(record, place), place, op, call, made, backward, negative)


def _what(record: Record, place: Place | None) -> tuple[str, str, str, FirstInvalid | None]:
    """The operation at a place, its text, what made its argument, and what is known of the value that was first not finite there."""
    known: list[Fragile] = [f for x in record.facts.losses for f in x.fragile if f.place == place]
    invalid = [*(i for x in record.facts.losses for i in x.invalid), record.facts.unused_loss]
    first = next((i for i in invalid if i is not None and i.place == place), None)
    op, call = (first.op, first.call) if first is not None else (known[0].op, known[0].call) if known else ("", "")
    made = next((f.made_from.name for f in known if f.op == op and f.made_from is not None), "")
    return op, call, made, first
