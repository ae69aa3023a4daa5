"""Which training losses can be judged by their curve, and what is known of the loss behind each curve."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.facts import Head, Loss
from sickbay.nouns import Series
from sickbay.record.reader import Record
from sickbay.signs.curves import Curve, curve

SUPERVISED = frozenset(
    "cross_entropy nll_loss binary_cross_entropy binary_cross_entropy_with_logits mse_loss l1_loss smooth_l1_loss huber_loss "
    "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss soft_margin_loss poisson_nll_loss gaussian_nll_loss ctc_loss".split()
)
"""Losses that compare a prediction with a given target and that training is meant to bring down."""


def training_losses(record: Record) -> Iterator[tuple[Curve, Loss | None]]:
    """Each training loss's curve with the facts of the place that computes it."""
    known = {loss.index: loss for loss in record.facts.losses}
    for series in record.series_like("loss/train"):
        if len(series):
            yield curve(series), known.get(index(series))


def judged_losses(record: Record) -> Iterator[tuple[Curve, Loss | None]]:
    """The training losses that ought to fall: not one of several that work against each other, and never negative.

    The losses of a GAN rise and fall with their opponent; policy gradients and log-likelihoods of densities cross zero,
    so that neither their height nor their trend says how well training goes.
    """
    contested = adversarial(record)
    for c, loss in training_losses(record):
        if not contested and len(c) and float(np.min(c.values)) >= 0:
            yield c, loss


def alone(record: Record) -> list[Curve]:
    """The validation losses of a log that has no training loss: then they are all there is to be judged.

    An error that was made of an accuracy is none of them: it stands where a good model stands, so that standing says nothing.
    """
    log = record.facts.log
    if log is None or adversarial(record) or any(len(s) for s in record.series_like("loss/train")):
        return []
    scores = {t.columns for t in log.taken if t.series.startswith(("accuracy/", "score/"))}
    errors = {t.series for t in log.taken if t.columns in scores}
    found = [curve(s) for s in record.series_like("loss/eval") if s.name not in errors]
    return [c for c in found if len(c) and c.nonfinite == 0 and float(np.min(c.values)) >= 0]


def enough(record: Record, steps: int, values: int = 8) -> int:
    """How many values of a curve a sign needs: `steps` of a run that was watched step by step; `values` of a log, whose values are
    means over epochs or logging intervals and hold as much as hundreds of steps."""
    return steps if record.facts.log is None else min(steps, values)


def adversarial(record: Record) -> bool:
    """Whether two losses with different optimizers are trained side by side (GAN, actor and critic)."""
    if record.facts.log is not None:
        return record.facts.log.contested
    spans = {index(s): (int(s.steps[0]), int(s.steps[-1])) for s in record.series_like("loss/train") if len(s)}
    owned = [x for x in record.facts.losses if x.optimizers]
    for i, a in enumerate(owned):
        for b in owned[i + 1 :]:
            if not set(a.optimizers) & set(b.optimizers) and _overlap(spans.get(a.index), spans.get(b.index)):
                return True
    return False


def _overlap(a: tuple[int, int] | None, b: tuple[int, int] | None) -> bool:
    # Without curves nothing shows that they take turns one after the other: assume side by side, the silent side.
    return a is None or b is None or max(a[0], b[0]) < min(a[1], b[1])


def index(series: Series) -> int:
    """The number of the loss or optimizer a series belongs to: 2 for "loss/train@2", 0 for "loss/train"."""
    tail = series.name.rpartition("@")[2]
    return int(tail) if "@" in series.name and tail.isdigit() else 0


def supervised(loss: Loss | None) -> bool:
    """Whether every part of the loss compares predictions with targets that are given, and is averaged plainly. The error against a target network
    rises and falls with what that network says."""
    return (
        loss is not None
        and bool(loss.heads)
        and all(h.function in SUPERVISED and h.reduction in ("mean", "sum") and not h.target_is_learned for h in loss.heads)
    )


LIKELIHOODS = frozenset({"poisson_nll_loss", "gaussian_nll_loss"})
"""They end where the noise of the data puts them, above zero or below."""
DIFFERENCES = frozenset(
    "mean nanmean sum add sub rsub mul div neg pow square abs sqrt norm clamp clamp_min clamp_max relu where maximum minimum max min log log1p log2 cosh softplus logsigmoid sigmoid log_softmax softmax "
    "logsumexp gather getitem select index_select masked_select squeeze unsqueeze view reshape flatten permute transpose expand stack cat detach float double long to type arange one_hot".split()
)
"""What losses are made of that are zero where every answer is right: differences, logarithms of a share, hinges."""
WEIGHTS = frozenset(
    "linear matmul mm bmm addmm einsum embedding conv1d conv2d conv3d conv_transpose1d conv_transpose2d lstm gru rnn_tanh dropout alpha_dropout".split()
)
"""...up to the operation that gives the answers: the last one of the model."""


def ends_at_zero(loss: Loss | None) -> bool:
    """Whether the loss could come to zero, as far as that is known, so that its height says how much is left. A partial likelihood (Cox) sorts the rows and compares each with all that come after it:
    what is left of it at best depends on the batch and the data; so does a likelihood of counts."""
    if loss is None:
        return True
    if loss.heads:
        return not any(h.function in LIKELIHOODS for h in loss.heads)
    names = [op.name for op in loss.operations]
    model = next((i for i, name in enumerate(names) if name in WEIGHTS), len(names))
    return all(name in DIFFERENCES for name in names[:model]) if model else True


def is_cross_entropy(head: Head) -> bool:
    """In one call, or as the negative log-likelihood of log-probabilities."""
    return head.function == "cross_entropy" or (head.function == "nll_loss" and not head.raw)


YES_OR_NO = frozenset({"binary_cross_entropy_with_logits", "binary_cross_entropy"})


def chance_loss(record: Record, head: Head) -> float | None:
    """The loss of the best constant prediction: entropy of the labels, each counted by its weight (ln C if their shares are not known)."""
    if head.reduction != "mean" or head.label_smoothing:
        return None
    if head.function in YES_OR_NO and head.target_shape and math.prod(head.target_shape) == head.target_shape[0]:
        return _yes_or_no(record, head.weights)
    if is_cross_entropy(head) and head.classes and head.classes > 1 and head.target_dtype in ("", "int64", "torch.int64"):
        return _entropy(record, head.classes, head.weights)
    return None


def _yes_or_no(record: Record, weights: Sequence[float]) -> float | None:
    """`pos_weight` counts each yes so many times and divides by the number of answers all the same."""
    counts = _counts(record, 2)
    if not weights:
        return _entropy(record, 2)
    shares = counts / counts.sum() * np.array(weights) if counts is not None else None
    return float(shares.sum() * _entropy(record, 2, weights)) if shares is not None else None


def _entropy(record: Record, classes: int, weights: Sequence[float] = ()) -> float:
    counts = _counts(record, classes)
    if counts is None:
        return math.log(classes)
    counted = counts * np.array(weights) if len(weights) == classes else counts
    p = counted[counted > 0] / counted.sum()
    return float(-(p * np.log(p)).sum())


def _counts(record: Record, classes: int) -> np.ndarray | None:
    """Labels of each class; None if too few were counted."""
    labels = record.facts.labels
    counts = np.array(labels.histogram if labels else (), dtype=float)
    return counts if len(counts) == classes and counts.sum() >= 10 * classes else None
