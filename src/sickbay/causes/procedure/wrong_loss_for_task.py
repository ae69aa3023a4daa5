"""The loss function does not fit what the targets are.

## What happens

A class number is a name, not a quantity: with a mean squared error, class 0 is "closer" to class 1 than to class 9, and the best answer
for a doubtful picture of a 0 or an 8 is a 4. `binary_cross_entropy_with_logits` of class numbers above 1 has no lower end.
`cross_entropy` over one output column is always zero. Several labels per sample compete in a softmax that lets only one of them be sure.
Nothing crashes; the loss falls, or stands still, and the metric stays poor.

## How we know

Proof, from the values and shapes that enter the loss: targets outside 0 to 1 in a binary cross-entropy; a softmax or cross-entropy over a
single column; each of K outputs compared with the same class number; negative "probabilities"; fractions cut off by `.long()`; rows
with several ones whose model is read with a threshold; rows with a single one through an absolute difference, whose best answer is the median, 0. Where whole numbers 0..K-1 meet a squared error, the script's own words decide:
it calls them classes and counts exact hits.

## Looks like it but is not

- Counts, ratings and grades are whole numbers too, and a squared error suits them.
- One-hot targets through a squared error (Brier score), 0 and 1 through a squared error (least-squares GAN).
- Soft labels, mixup, label smoothing: rows of probabilities through `cross_entropy`.
- Bags of words and baskets through a softmax (multinomial likelihood): the model is not read with a threshold.
- Padding values (-1, 255) that a mask takes out of the loss again.

## Fix

One class per sample: `cross_entropy` with one output per class. Yes or no, or several labels: `binary_cross_entropy_with_logits`.
Quantities: `mse_loss`.

## References

- Goodfellow, Bengio, Courville 2016, section 6.2.2.
- https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
- https://discuss.pytorch.org/t/what-kind-of-loss-is-better-to-use-in-multilabel-classification/32203
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from sickbay.causes.evidence import against, first_place, hint, located, proof, shape, strong
from sickbay.causes.registry import cause
from sickbay.facts import Head, Values
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Source, called, mend, source_at
from sickbay.script.loss_call import yes_and_no_otherwise
from sickbay.script.removing import renamed
from sickbay.signs import Signs

SQUARED = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "difference")
MARGIN = ("soft_margin_loss", "hinge_embedding_loss")
MODULES = {"cross_entropy": "CrossEntropyLoss", "binary_cross_entropy_with_logits": "BCEWithLogitsLoss"}
"""Losses in whose place another one belongs; of the others the targets are to be changed."""
FEW = 3
"""With two classes, 0 and 1 are a fair regression target (least squares); from three on the order matters."""
SEPARATED = 4.0
"""Mean inputs of different targets lie this many times farther apart (squared) than chance would put them: only then is their order told."""
ORDERED, UNORDERED = 0.5, 0.3
"""Rank correlation. Unordered classes scatter around 0 with a standard deviation of about 0.2 (20 pairs); quantities that a regression can
learn at all are mostly above 0.6."""
SUMS_APART = 0.1
"""Rows of class probabilities sum to 1, up to rounding; a tenth apart is no rounding."""
SPARSE = 0.2
"""Weighted one-hot rows and bags of words are mostly zeros, measured quantities hardly ever are."""


@cause(
    code="P312",
    level="procedure",
    title="the loss does not fit the targets",
    why="The loss asks for something else than what the targets mean, so making it small does not make the predictions good.",
    explains={
        "flat-loss", "early-plateau", "slow-descent", "chance-level", "diverging-loss", "val-flat-from-start", "val-rising", "small-gradients",
        "lr-too-low", "lr-too-high", "overfitting", "vanishing-gradient", "dead-relu", "dead-units", "gradient-growth-with-depth", "update-ratio-high",
        "gradient-decay-with-depth", "update-ratio-low", "oscillating-loss", "loss-spikes", "gradient-spike", "under-capacity", "nonfinite-loss",
        "nonfinite-gradient", "saturated-units", "shape-broadcast", "logits-to-probability-loss", "lr-decayed-too-soon",
    },
    cure="right-loss",
)  # fmt: skip
def wrong_loss_for_task(record: Record, signs: Signs) -> Iterator[Evidence]:
    for loss in record.facts.losses:
        for head in (*loss.heads, *loss.by_hand):
            for e in _of_head(record, head):
                yield replace(e, place=_chosen_at(record, head)) if e.place is not None and e.place == head.called_at else e


def _of_head(record: Record, head: Head) -> Iterator[Evidence]:
    yield from _one_column(head)
    if head.target is not None:
        yield from _binary(head, head.target)
        yield from _not_probabilities(record, head, head.target)
        yield from _margin(head, head.target)
        yield from _class_numbers(record, head, head.target)
        yield from _medians(head, head.target)


def _chosen_at(record: Record, head: Head) -> Place | None:
    """Where the script chose this loss: the one line that makes it, if it is a module and another loss should stand there; else the call."""
    source = source_at(record, head.called_at)
    module = MODULES.get(head.function, "")
    made = source.calls(module) if source is not None and module else []
    if source is None or len(made) != 1 or head.called_at is None or source.calls(head.function, line=head.called_at.line):
        return head.called_at
    return source.place(made[0].lineno)


def _one_column(head: Head) -> Iterator[Evidence]:
    given = head.input
    if head.function == "cross_entropy" and len(head.input_shape) > 1 and head.input_shape[1] == 1:
        yield proof(
            f"cross_entropy{located(head.called_at)} gets one column, {shape(head.input_shape)}: a softmax over one score is always 1, the loss always 0",
            head.called_at,
        )
    elif head.function == "cross_entropy" and len(head.input_shape) == 1 and head.target_shape == head.input_shape and head.input_shape[0] > 1:
        yield proof(
            f"cross_entropy{located(head.called_at)} gets {shape(head.input_shape)} scores and as many targets: it takes the {head.input_shape[0]} samples of "
            "the batch for the classes of one sample",
            head.called_at,
        )
    elif head.fed_by and head.fed_by[0].name == "softmax" and given is not None and given.minimum == given.maximum == 1 and given.count > 1:
        op = head.fed_by[0]
        yield proof(
            f"softmax{located(op.place)} over a single column gives 1 for every sample; {head.function} learns nothing from it",
            op.place or head.called_at,
        )


def _binary(head: Head, target: Values) -> Iterator[Evidence]:
    if head.function != "binary_cross_entropy_with_logits" or yes_and_no_otherwise(head):
        return
    every = head.reduction in ("mean", "sum") and not head.weighted
    measured = not target.whole and target.minimum < 0 and target.maximum > 1
    """On both sides of 0 to 1, with fractions: no mark of what a mask leaves out later."""
    if (every and (target.minimum < 0 or target.maximum > 1)) or measured:
        yield proof(
            f"the targets of binary_cross_entropy_with_logits{located(head.called_at)} go from {target.minimum:.3g} to {target.maximum:.3g}; it is made for 0 to 1, "
            "and outside of that it has no lower end",
            head.called_at,
            lowest=target.minimum,
            highest=target.maximum,
        )


def _not_probabilities(record: Record, head: Head, target: Values) -> Iterator[Evidence]:
    if head.function != "cross_entropy":
        return
    if head.target_source is not None and not head.target_source.whole:
        source = head.target_source
        yield proof(
            f"`{head.call}`{located(head.called_at)} takes quantities ({source.minimum:.3g} to {source.maximum:.3g}, not whole numbers) for class numbers: casting "
            "them to integers cuts their fractions off",
            head.called_at,
        )
    if (
        head.target_shape != head.input_shape
        or not head.target_dtype.startswith(("float", "bfloat", "double"))
        or len(head.input_shape) < 2
        or head.input_shape[1] < 2
    ):
        return
    if target.minimum < 0:
        yield proof(
            f"the targets of cross_entropy{located(head.called_at)} go from {target.minimum:.3g} to {target.maximum:.3g}: neither class numbers nor probabilities",
            head.called_at,
        )
    elif (
        not target.whole
        and target.zeros < SPARSE
        and target.row_sum is not None
        and max(abs(r - 1) for r in target.row_sum) > SUMS_APART
        and not head.target_is_input
    ):
        yield proof(
            f"the targets of cross_entropy{located(head.called_at)} sum to {target.row_sum[0]:.3g} to {target.row_sum[1]:.3g} per sample: quantities, not the "
            "probabilities of classes",
            head.called_at,
        )
    elif target.distinct == (0, 1) and target.row_sum is not None and target.row_sum[1] > 1 and not head.target_is_input:
        text = f"the targets of cross_entropy{located(head.called_at)} hold up to {target.row_sum[1]:.0f} ones per sample; a softmax shares out one certainty among them"
        read = _thresholded(record, head)
        yield (proof if read else strong)(text + (f", and the script reads each output by itself ({read})" if read else ""), head.called_at)


def _margin(head: Head, target: Values) -> Iterator[Evidence]:
    if head.function in MARGIN and target.distinct == (0, 1):
        yield proof(
            f"{head.function}{located(head.called_at)} is made for targets -1 and 1; it gets 0 and 1, and a sample of class 0 teaches it nothing",
            head.called_at,
        )


def _class_numbers(record: Record, head: Head, target: Values) -> Iterator[Evidence]:
    classes = target.distinct
    if head.function not in SQUARED or len(classes) < FEW or classes != tuple(range(len(classes))):
        return
    outputs = head.input_shape[-1] if len(head.input_shape) > 1 else 1
    numbers = f"the class numbers 0 to {classes[-1]}"
    if (
        outputs >= len(classes)
        and head.target_shape in (head.input_shape[:-1], (*head.input_shape[:-1], 1))
        and head.target_shape != head.input_shape
    ):
        yield proof(
            f"{head.function}{located(head.called_at)} compares each of {outputs} outputs with {numbers}: all outputs learn the same number",
            head.called_at,
        )
    elif outputs == 1 and (hits := _exact_hits(record, head)):
        yield from _names(
            record, head, f"{head.function}{located(head.called_at)} treats {numbers} as quantities, though the script counts exact hits (`{hits}`)"
        )


def _medians(head: Head, target: Values) -> Iterator[Evidence]:
    """The best answer to |x - t| is the median: of a column that is 0 for most samples, 0. (The best answer to a squared difference is the mean, a probability.)"""
    rows = len(head.target_shape) == 2 and head.target_shape == head.input_shape and head.target_shape[1] >= FEW
    if head.function == "l1_loss" and rows and target.distinct == (0, 1) and target.row_sum == (1.0, 1.0):
        yield proof(
            f"l1_loss{located(head.called_at)} compares scores with rows of a single 1 among {head.target_shape[1]} columns: unless a class is all but certain, its best "
            "answer is 0 for every class",
            head.called_at,
        )


def _names(record: Record, head: Head, text: str) -> Iterator[Evidence]:
    """Are they names or quantities? What the script calls them, and whether neighbours resemble each other in the data."""
    order = next((o for o in record.facts.class_order if o.separation > SEPARATED), None)
    named = _calls_them_classes(record, head)
    ordered = order is not None and order.correlation > ORDERED
    text = f"{text} and calls them classes (`{named}`)" if named else text
    unordered = order is not None and order.correlation < UNORDERED
    yield (strong if named or unordered else hint)(text, head.called_at)
    if order is not None and unordered:
        yield strong(
            f"in the data the {order.classes} numbers have no order: samples whose numbers are close are not more alike (rank correlation {order.correlation:.2f})",
            correlation=order.correlation,
        )
    if order is not None and ordered:
        yield against(f"the numbers are ordered in the data: samples with close numbers are more alike (rank correlation {order.correlation:.2f})")


# -- what the script itself says ------------------------------------------------------------------------------------


def _thresholded(record: Record, head: Head) -> str:
    """An output passed through a sigmoid, or compared with a number between 0 and 1: labels that do not exclude each other."""
    source = source_at(record, head.called_at)
    for node in ast.walk(source.tree) if source is not None else ():
        if isinstance(node, ast.Call) and called(node) in ("sigmoid", "sigmoid_", "expit", "Sigmoid"):
            return ast.unparse(node)[:60]
        compares = isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Gt, ast.GtE)) and isinstance(node.comparators[0], ast.Constant)
        if compares and isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Constant) and _between(node.comparators[0].value):
            return ast.unparse(node)[:60]
    return ""


def _between(value: object) -> bool:
    return isinstance(value, float) and 0 < value < 1


def _exact_hits(record: Record, head: Head) -> str:
    """`(pred.round() == y)` or `pred.argmax(1) == y` somewhere in the script."""
    source = source_at(record, head.called_at)
    if source is None:
        return ""
    rounded = {
        ast.unparse(t)
        for n in ast.walk(source.tree)
        if isinstance(n, ast.Assign) and _rounds(n.value)
        for t in n.targets
        if isinstance(t, (ast.Name, ast.Attribute))
    }
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq):
            sides = [node.left, *node.comparators]
            if any(_rounds(side) or ast.unparse(side) in rounded for side in sides):
                return ast.unparse(node)[:60]
    return ""


def _rounds(node: ast.AST) -> bool:
    return any(isinstance(n, ast.Call) and called(n) in ("round", "argmax", "rint", "round_") for n in ast.walk(node))


def _calls_them_classes(record: Record, head: Head) -> str:
    """A name of the script that speaks of classes (`n_classes`, `class_names`); "class" itself is Python's own word."""
    source = source_at(record, head.called_at)
    for node in ast.walk(source.tree) if source is not None else ():
        names = (
            [node.id]
            if isinstance(node, ast.Name)
            else [node.attr]
            if isinstance(node, ast.Attribute)
            else [node.arg]
            if isinstance(node, ast.arg)
            else []
        )
        for name in names:
            if any(
                word in name.lower() for word in ("classes", "class_", "num_class", "n_class", "classif", "categories", "species")
            ) and not name.startswith("__"):
                return name
    return ""


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = first_place(evidence)
    source = source_at(record, place)
    head = next((h for x in record.facts.losses for h in (*x.heads, *x.by_hand) if place in (h.called_at, _chosen_at(record, h))), None)
    function = head.function if head is not None else ""
    if function in SQUARED:
        return Fix(
            "classify: one output per class, class numbers as targets",
            "model = ...  # one output per class\nloss = F.cross_entropy(model(x), y.long())",
            "advice",
        )
    if function in MARGIN:
        return Fix("give the targets as -1 and 1", "loss = F.soft_margin_loss(scores, 2 * y - 1)", "advice")
    target = head.target if head is not None else None
    if function == "binary_cross_entropy_with_logits" and target is not None and not target.whole:
        diff = source.diff(_to_squares(source, place.line if place else None)) if source is not None else ""
        return mend("these are quantities: use a regression loss", diff, "loss = F.mse_loss(output, y)", "consent")
    if function == "binary_cross_entropy_with_logits" and target is not None and target.maximum > 1:
        return Fix(
            "classify: one output per class, and cross-entropy",
            "model = ...  # one output per class\nloss = F.cross_entropy(model(x), y.long())",
            "advice",
        )
    if function == "binary_cross_entropy_with_logits":
        return Fix("give the targets as 0 and 1", "y = (y > 0).float()", "advice")
    if target is not None and (target.minimum < 0 or not target.whole or (head is not None and head.target_source is not None)):
        return Fix("these are quantities: use a regression loss and one output", "loss = F.mse_loss(model(x).squeeze(-1), y)", "advice")
    diff = source.diff(_to_binary(source, place.line if place else None)) if source is not None else ""
    return mend("use the loss for yes-or-no targets", diff, "loss = F.binary_cross_entropy_with_logits(scores, y.float())", "consent")


def _to_squares(source: Source, line: int | None) -> Edit | None:
    here = source.calls("binary_cross_entropy_with_logits", line=line)
    if len(here) == 1:
        return renamed(source, here[0], "mse_loss")
    modules = source.calls("BCEWithLogitsLoss")
    return renamed(source, modules[0], "MSELoss") if len(modules) == 1 else None


def _to_binary(source: Source, line: int | None) -> Edit | None:
    here = source.calls("cross_entropy", line=line)
    if len(here) == 1:
        return renamed(source, here[0], "binary_cross_entropy_with_logits")
    modules = source.calls("CrossEntropyLoss")
    return renamed(source, modules[0], "BCEWithLogitsLoss") if len(modules) == 1 and not modules[0].args and not modules[0].keywords else None
