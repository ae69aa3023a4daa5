"""The model is far surer than it is right (or far less sure).

## What happens

A classifier says 99 % and is right in 80 of 100 cases. Accuracy does not show it; whoever acts on the probabilities (a threshold, a ranking, an expected cost) is misled.

## How we know

The logits and labels of the last evaluation: expected calibration error in ten bins, beside what a calibrated model of the same confidence would show on so many samples. And
dividing all logits by one number, which changes no prediction, takes a large part of the validation loss away. Too little confidence counts only where training has
reached what it asks for (its loss is nearly gone): then it asks for something else than evaluation does, as when a student learns its teacher's answers at a high temperature as
its own at temperature 1. Or where training's targets themselves are that modest: none of them gives any class more than so much (label smoothing of a half), the model's
confidence stays below it, and it is right far more often.

Or the classes are weighed otherwise in training than they come (`pos_weight`, class weights, rows left out or repeated), and the script takes the answers for probabilities all the same: it adds them up,
weighs amounts with them or measures their squared error. A weight of 5 multiplies the odds of every answer by 5. Where the last evaluation is seen, the mean probability of a class beside its share shows it.

An evaluation that only counts right answers is read too, where training hands the model's own output to a cross-entropy: but only for answers that training asks to be so modest.

## Looks like it but is not

- Sampling error of a small validation set.
- Class weights and balanced samples where answers are only ranked or compared with a threshold: that is what they are for.
- A few points of overconfidence, as most networks have (Guo et al. 2017).
- Label smoothing, mixup, focal loss in the usual measure: they make the model less sure on purpose.
- Too short a training, a learning rate that fell too soon, too strong a regularisation: the model is modest, and its training loss says so too.
- A model that memorises its training data: `overfitting` is the cause, and this its consequence.

## Fix

Temperature scaling: divide the logits by a number that is fitted on validation data. Look for what sharpens the logits (a fixed scale, a small temperature, training for too long), or blunts them (a teacher's
softened answers: the student's logits are to be divided by the same temperature in training; label smoothing beyond 0.1 or so). Where classes are weighed, train without the weights, or take their logarithm off the logits.

## References

- Guo, Pleiss, Sun and Weinberger 2017, On calibration of modern neural networks.
- Naeini, Cooper and Hauskrecht 2015, Obtaining well calibrated probabilities using Bayesian binning.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evaluated import HELD_OUT, TRAIN
from sickbay.causes.evidence import hint, located, strong
from sickbay.causes.registry import cause
from sickbay.facts import Calibration, Head
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.as_probabilities import taken_for_probabilities, weighed_at
from sickbay.script.fixing import mend
from sickbay.signs import Signs
from sickbay.signs.curves import end, start
from sickbay.signs.losses import adversarial, judged_losses

ROWS = 200
FAR, GAIN = 0.12, 0.75
"""Expected calibration error, and the loss with the best temperature as a part of the loss. Networks of the time of Guo et al. have errors of 0.04 to 0.16 before any cure: only
beyond most of these, and where one number for all logits would mend a quarter of the loss, is it worth a word."""
NEAR, GREAT_GAIN = 0.06, 0.5
"""...or a smaller error, where the temperature alone takes half of the loss away."""
BEYOND = 3.0
"""...and that many times what a calibrated model would show."""
REST = 0.1
"""Of the steps, that may come after the last evaluation."""
GAP, LAST = 0.3, 5
"""Accuracy that training is ahead of evaluation, in the newest looks: the patients of this cause have 0.1 to 0.25."""
MODEST, MODEST_GAIN, FACTOR = 0.3, 0.25, 0.3
"""Calibration error, part of the loss that is left with the best temperature, and that temperature, of a model that is far too modest: label smoothing of 0.1, mixup and focal
loss leave errors of 0.05 to 0.2."""
MET = 0.05
"""By which the model may be surer than the targets say: outside training, without dropout, it is a little."""
REACHED = 0.05
"""Of the first training loss, and of the validation loss: what is left of a training loss that is nearly gone."""
SHIFTED, TOLD_APART, SURELY = 2.0, 0.1, 6.0
"""A weight that doubles the odds; or a mean probability that is a tenth and half as much again from the share of its class, by six standard errors."""
ON_PURPOSE = re.compile(r"label_smoothing|mixup|cutmix|focal|temperature|\bgamma\b", re.IGNORECASE)


@cause(
    code="E602",
    level="evaluation",
    title="the model's confidence is far from its accuracy",
    why="Its probabilities promise what it does not keep: thresholds, rankings and costs that are based on them are wrong.",
    explains={"val-rising", "train-val-gap"},
    cure=None,
)
def miscalibrated(record: Record, signs: Signs) -> Iterator[Evidence]:
    if adversarial(record):
        return
    if (shifted := _shifted(record)) is not None:
        yield shifted
        return
    probe = record.facts.data_probe
    for c in sorted(probe.calibration if probe is not None else (), key=lambda c: -c.rows):
        if c.rows < ROWS or _of_training(c) or c.accuracy < _guessing(record, c) or not _at_the_end(record, c) or _knows_less(record, c):
            continue
        sure = c.confidence > c.accuracy
        far = (c.error > FAR and c.loss_tempered < GAIN * c.loss) or (c.error > NEAR and c.loss_tempered < GREAT_GAIN * c.loss)
        asked = _asked(record, c) if not sure else None
        soft = (asked.called_at or c.place) if asked is not None else _trained_soft(record, c) if not sure and not c.by_hand else None
        if c.by_hand and asked is None:
            continue
        if far and c.error > BEYOND * c.by_chance and (sure or soft is not None or not _on_purpose(record)):
            say = strong if sure or soft is not None else hint  # too modest is what every model is that could have trained longer
            yield say(
                f"the last evaluation is {100 * c.confidence:.0f} % sure on average and right on {100 * c.accuracy:.0f} % of {c.rows:,} samples "
                f"(expected calibration error {c.error:.2f}; by chance {c.by_chance:.2f})",
                soft or c.place,
                error=c.error,
                temperature=c.temperature,
            )
            yield hint(
                f"with all logits divided by {c.temperature:.2g}, which changes no prediction, the validation loss is {c.loss_tempered:.3g} instead of {c.loss:.3g}"
            )
            if asked is not None:
                yield hint(
                    f"training asks for it: its targets give no class more than {_most(asked):.2g}, and the model's likeliest class gets {c.confidence:.2g}",
                    asked.called_at,
                )
            elif soft is not None:
                yield hint(
                    "the training loss is nearly gone: training asks for such answers, so that its targets (or the scale of its logits) are other than in evaluation"
                )
        return


def _shifted(record: Record) -> Evidence | None:
    """The script takes answers for probabilities, and training shifts the odds of all of them."""
    used = taken_for_probabilities(record)
    if used is None:
        return None
    probe = record.facts.data_probe
    for c in probe.calibration if probe is not None else ():
        apart = abs(c.told - c.seen)
        sure = SURELY * math.sqrt(max(c.seen * (1 - c.seen), 1e-4) / max(c.rows, 1))
        if c.rows < ROWS or _of_training(c) or not _at_the_end(record, c) or apart < max(TOLD_APART, 0.5 * min(c.told, c.seen), sure):
            continue
        return strong(
            f"a class that is {100 * c.seen:.0f} % of the {c.rows:,} samples of the last evaluation gets a probability of {100 * c.told:.0f} % on average, and the script takes these for "
            f"probabilities{located(used)}: training shows or weighs the classes otherwise",
            weighed_at(record) or c.place,
            told=c.told,
            seen=c.seen,
        )
    for head in (h for loss in record.facts.losses for h in loss.heads):
        one_each = bool(head.target_shape) and math.prod(head.target_shape) == head.target_shape[0]
        if head.weights and one_each and min(head.weights) > 0 and (times := max(head.weights) / min(head.weights)) > SHIFTED:
            return strong(
                f"the loss weighs its classes by up to {times:.3g} to 1, which multiplies the odds of all answers by as much, and the script takes these for probabilities{located(used)}",
                weighed_at(record) or head.called_at,
                times=times,
            )
    return None


def _asked(record: Record, c: Calibration) -> Head | None:
    """The training loss, if its targets are all so modest that a model that meets them is far less sure than it is right."""
    heads = [h for loss in record.facts.losses for h in loss.heads]
    modest = [h for h in heads if h.classes == c.classes and 0 < _most(h) <= c.accuracy - MODEST and c.confidence <= _most(h) + MET]
    return modest[0] if modest and len(modest) == len(heads) else None


def _most(head: Head) -> float:
    """What targets give to a class at most; 0 where they are classes, or no probabilities."""
    if head.function != "cross_entropy":
        return 0.0
    t, eps = head.target, head.label_smoothing
    soft = t is not None and not t.whole and t.minimum >= 0 and t.row_sum is not None and max(abs(v - 1) for v in t.row_sum) < 1e-3
    largest = t.maximum if t is not None and soft else 1.0 if eps and t is not None and t.whole else 0.0
    return largest * (1 - eps) + eps / max(head.classes or 1, 1) if largest else 0.0


def _trained_soft(record: Record, c: Calibration) -> Place | None:
    """Where the training loss takes the model's answers, if it is nearly gone while the model is far too modest for evaluation."""
    if c.error < MODEST or c.loss_tempered > MODEST_GAIN * c.loss or c.temperature > FACTOR:
        return None
    for found, loss in judged_losses(record):
        if loss is None or found.steps[-1] < (1 - REST) * record.facts.run.steps or end(found).value > REACHED * min(start(found).value, c.loss):
            continue
        squashed = (op.place for head in loss.heads for op in head.fed_by if op.name in ("log_softmax", "softmax") and op.place is not None)
        return next(squashed, loss.backward_at or c.place)
    return None


def _at_the_end(record: Record, c: Calibration) -> bool:
    """Most of training lay behind it: what a model is like before it is fine-tuned is no finding."""
    return c.step is None or c.step >= (1 - REST) * record.facts.run.steps


def _knows_less(record: Record, c: Calibration) -> bool:
    """It is right far less often than on training's samples: then that is what is wrong, and too much confidence follows from it."""
    trained = record.series("accuracy/train").values[-LAST:]
    return len(trained) > 0 and float(np.median(trained)) - c.accuracy > GAP


def _of_training(c: Calibration) -> bool:
    text = " ".join(t.partition("(")[2] or t for t in c.texts).replace("_", " ")
    return bool(TRAIN.search(text)) and not HELD_OUT.search(text)


def _guessing(record: Record, c: Calibration) -> float:
    """Accuracy that a model must have before its confidence is worth a word: half way from chance to perfect."""
    labels = record.facts.labels
    counts = np.array(labels.histogram if labels is not None else ())
    common = float(counts.max() / counts.sum()) if counts.sum() else 1 / max(c.classes, 2)
    return common + 0.25 * (1 - common)


def _on_purpose(record: Record) -> bool:
    return any(ON_PURPOSE.search(text) for text in record.sources.values())


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    if any({"told", "times"} & e.numbers.keys() for e in evidence):
        return mend(
            "train without the weights (or on classes as they come) where probabilities are wanted, or take the logarithm of the weight off the logits afterwards",
            "",
            "probabilities = torch.sigmoid(logits - math.log(pos_weight))",
        )
    probe = record.facts.data_probe
    if probe is not None and any(_asked(record, c) is not None for c in probe.calibration):
        return mend(
            "train on targets that are surer (label smoothing of 0.1 at most), or fit one temperature on validation data and divide the logits by it",
            "",
            "loss = F.cross_entropy(logits, y, label_smoothing=0.05)  # y: the classes themselves",
        )
    temperature = next((e.numbers["temperature"] for e in evidence if "temperature" in e.numbers), 1.0)
    return mend(
        "fit one temperature on validation data and divide the logits by it; look for what makes the logits so large or small",
        "",
        f"probabilities = torch.softmax(logits / {temperature:.2g}, dim=1)  # the best on this validation set",
    )
