"""Raw scores are fed to a loss that expects probabilities or their logarithms.

## What happens

`nll_loss` and `kl_div` want log-probabilities, `binary_cross_entropy` and formulas with `log(p)` want probabilities. They apply no
softmax or sigmoid of their own. `nll_loss` of raw scores is just minus the score of the right class: the model makes all
scores large, the loss falls below zero and on for ever, and nothing is learned. `log` of a raw score is NaN as soon as one is negative;
`binary_cross_entropy` raises.

## How we know

Proof: what enters the loss can't be what it expects. A log-probability is never above zero; a layer's own output, with no sigmoid
or softmax after it, is no probability. The values and the operation that made them are both seen.

## Looks like it but is not

- `cross_entropy` and `binary_cross_entropy_with_logits` take raw scores.
- Scores that enter the loss by another way too (`nll_loss(z, y) + logsumexp(z)` is cross-entropy by hand).
- Logarithms of probabilities that do not quite sum to one (a small constant inside, averages over models).
- `log` of a predicted rate, variance or scale, which the loss uses beside its logarithm, and errors between logarithms.

## Fix

Use the loss that takes raw scores (`cross_entropy`, `binary_cross_entropy_with_logits`), or apply `log_softmax` or `sigmoid` first.

## References

- https://docs.pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html ("expected to contain log-probabilities of each class")
- https://discuss.pytorch.org/t/negative-nll-loss/7113
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import first_place, hint, located, proof, strong
from sickbay.causes.registry import cause
from sickbay.facts import Fragile, Head, Loss
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Source, called, mend, source_at
from sickbay.script.removing import renamed
from sickbay.signs import Signs

LOGARITHMS = ("log", "log2", "log10", "log1p", "log_softmax", "logsigmoid", "logsumexp")
ABOVE_ZERO = 1e-3
"""No logarithm of a probability is above zero; rounding puts some there by about 1e-6."""
REFUSED = "all elements of input should be between 0 and 1"
UNBOUNDED = ("relu", "leaky_relu", "elu", "gelu", "silu", "tanh", "softplus", "selu")
AS_PROBABILITY = frozenset(
    "mul rmul neg mean sum gather nll_loss kl_div div truediv dot matmul mv take_along_dim nansum nanmean where masked_fill".split()
)
"""What one does with log(p): weigh it with the target, pick the right class, add up. Differences of logarithms are another loss."""
FITTING = {
    "nll_loss": "cross_entropy",
    "NLLLoss": "CrossEntropyLoss",
    "binary_cross_entropy": "binary_cross_entropy_with_logits",
    "BCELoss": "BCEWithLogitsLoss",
}


@cause(
    code="P310",
    level="procedure",
    title="raw scores fed to a loss that expects probabilities",
    why="The loss takes the scores for (log-)probabilities: it can fall for ever without anything being learned, or is NaN at once.",
    explains={
        "diverging-loss", "nonfinite-loss", "nonfinite-gradient", "flat-loss", "early-plateau", "slow-descent", "chance-level", "val-flat-from-start",
        "val-rising", "loss-spikes", "gradient-spike", "oscillating-loss", "small-gradients", "update-ratio-high", "dead-units", "saturated-units",
        "gradient-growth-with-depth", "gradient-decay-with-depth", "lr-too-high", "lr-too-low", "overfitting", "dead-relu", "vanishing-gradient",
        "unstable-loss", "masked-nan", "activation-on-output", "invalid-label", "exploding-gradient", "saturated-activation",
    },
    cure="apply-log-softmax",
)  # fmt: skip
def logits_to_probability_loss(record: Record, signs: Signs) -> Iterator[Evidence]:
    for loss in record.facts.losses:
        found = [*_heads(record, loss), *_by_hand(loss)]
        yield from found
        lowest = float(np.nanmin(values)) if found and len(values := _values(record, loss)) else 0.0
        if lowest < 0 and any(h.function in ("nll_loss", "kl_div") for h in loss.heads):
            yield hint(f"the loss falls to {lowest:.3g}; of log-probabilities it can't fall below zero", lowest=lowest)
    yield from _refused(record)


def _values(record: Record, loss: Loss) -> np.ndarray:
    values = record.series("loss/train" if loss.index == 0 else f"loss/train@{loss.index}").values
    return values[np.isfinite(values)]


def _chosen_at(record: Record, head: Head) -> Place | None:
    """Where the loss is made, if it is a module that several lines call (training and evaluation), or none but a library, and another one takes these
    scores: one change mends them all. Else the call."""
    source = source_at(record, head.called_at)
    made = source.calls(head.module) if source is not None and head.module in FITTING else []
    if source is None or len(made) != 1 or (head.fed_by and head.fed_by[0].name == "softmax"):
        return head.called_at
    around = source.parents.get(made[0])
    names = {n.attr if isinstance(n, ast.Attribute) else n.id for n in getattr(around, "targets", ()) if isinstance(n, (ast.Name, ast.Attribute))}
    callers = {c.lineno for c in source.calls(*names)} if names else set()
    called = head.called_at.line if head.called_at is not None else 0
    return source.place(made[0].lineno) if len(callers) > 1 or called not in callers else head.called_at


def _heads(record: Record, loss: Loss) -> Iterator[Evidence]:
    for head in loss.heads:
        made = head.fed_by[0].name if head.fed_by else ""
        if head.function in ("nll_loss", "kl_div") and head.input is not None and made not in LOGARITHMS and not head.shared_input:
            if head.input.maximum > ABOVE_ZERO:
                yield proof(
                    f"{head.function}{located(head.called_at)} expects log-probabilities, which are never above zero; it gets {_what(head)} up to "
                    f"{head.input.maximum:.3g}{_made(head)}",
                    _chosen_at(record, head),
                    highest=head.input.maximum,
                    lowest=head.input.minimum,
                )
        elif head.function == "binary_cross_entropy" and (head.raw or made in UNBOUNDED):
            yield proof(
                f"binary_cross_entropy{located(head.called_at)} expects probabilities; it gets raw scores{_made(head)}", _chosen_at(record, head)
            )


def _what(head: Head) -> str:
    rows = head.input.row_sum if head.input is not None else None
    whole = rows is not None and abs(rows[0] - 1) < 1e-3 and abs(rows[1] - 1) < 1e-3 and head.input is not None and head.input.minimum >= 0
    return "probabilities (rows that sum to 1)" if whole else "raw scores"


def _made(head: Head) -> str:
    return f", made by {head.fed_by[0].name}{located(head.fed_by[0].place)}" if head.fed_by else ""


def _by_hand(loss: Loss) -> Iterator[Evidence]:
    for log in _of_raw_scores(loss):
        limit = " (clamped: where it is cut off, no gradient passes)" if log.guarded else ""
        values = f"; its argument reached {log.lowest:.3g}" if log.touched and log.lowest is not None else ""
        made = f"{log.made_from.name}{located(log.made_from.place)}" if log.made_from else "a layer"
        yield proof(f"`{log.call}`{located(log.place)} takes the raw output of {made} for a probability{limit}{values}", log.place)


def _of_raw_scores(loss: Loss) -> list[Fragile]:
    """Logarithms of a layer's own output: with log(1 - p) beside log(p), or where only logarithms use it, as log-likelihoods."""
    logs = [f for f in loss.fragile if f.op in ("log", "log2", "log10") and f.raw]
    both = {f.made_from for f in logs if f.complement} & {f.made_from for f in logs if not f.complement}
    plain = [f for f in logs if f.alone and (f.guarded or f.touched) and f.feeds and set(f.feeds) <= AS_PROBABILITY]
    return [f for f in logs if f.made_from in both or f in plain][:2]


def _refused(record: Record) -> Iterator[Evidence]:
    """binary_cross_entropy raised. It does so for NaN too, so what fed it decides."""
    crash, head = record.facts.crash, record.facts.refused
    if crash is None or REFUSED not in crash.message:
        return
    made = head.fed_by[0].name if head is not None and head.fed_by else ""
    if head is not None and (head.raw or made in UNBOUNDED):
        yield proof(
            f"binary_cross_entropy{located(crash.place)} refuses its input: it is not between 0 and 1 but raw scores{_made(head)}", crash.place
        )
    elif not made and crash.step == 0:
        yield strong(f"binary_cross_entropy{located(crash.place)} refuses its very first input: it is not between 0 and 1", crash.place)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = first_place(evidence)
    source = source_at(record, place)
    head = next((h for x in record.facts.losses for h in x.heads if place in (h.called_at, _chosen_at(record, h))), record.facts.refused)
    function = head.function if head is not None else ""
    diff = source.diff(_edit(source, place.line if place else None, head)) if source is not None and head is not None else ""
    if function == "kl_div":
        return mend("give kl_div log-probabilities", diff, "loss = F.kl_div(F.log_softmax(scores, dim=1), target, reduction='batchmean')", "consent")
    if function == "nll_loss":
        return mend("use the loss that takes raw scores, or apply log_softmax first", diff, "loss = F.cross_entropy(scores, y)", "consent")
    return mend("use the loss that takes raw scores, or apply sigmoid first", diff, "loss = F.binary_cross_entropy_with_logits(scores, y)", "consent")


def _edit(source: Source, line: int | None, head: Head) -> Edit | None:
    if head.fed_by and head.fed_by[0].name == "softmax":
        softmax = head.fed_by[0].place
        if softmax is None or softmax.line is None or softmax.file != source.file:
            return None
        calls = source.calls("softmax", "Softmax", line=softmax.line)
        if len(calls) != 1:
            return None
        return renamed(source, calls[0], "log_softmax" if called(calls[0]) == "softmax" else "LogSoftmax")
    if head.function == "kl_div":
        calls = source.calls("kl_div", line=line)
        return source.replacing(calls[0].args[0], f"F.log_softmax({source.segment(calls[0].args[0])}, dim=1)") if calls and calls[0].args else None
    names = (head.function,) if source.calls(head.function, line=line) else (head.module or {"nll_loss": "NLLLoss"}.get(head.function, "BCELoss"),)
    calls = source.calls(*names, line=line) or source.calls(*names)
    return renamed(source, calls[0], FITTING[called(calls[0])]) if len(calls) == 1 and called(calls[0]) in FITTING else None
