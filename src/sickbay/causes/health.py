"""The sentences of runs without a cause: what alarms although no cause explains it, and what good health looks like in numbers."""

from __future__ import annotations

import numpy as np

from sickbay.causes.accuracies import validation_accuracy
from sickbay.causes.parameters import mostly_loaded
from sickbay.causes.remarks import validation_easier
from sickbay.causes.scores import turned_score
from sickbay.causes.shapes import begun_before, first_sign, stands_in_noise, turned_alone, without_bound
from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs import Signs
from sickbay.signs.curves import Curve, Level, curve, end, level, start
from sickbay.signs.losses import adversarial, supervised, training_losses

ENOUGH_STEPS = 100
"""A classifier may sit at chance for its first steps; after a hundred it should have left."""

FEW = 30
"""So few values of a log are told as they are; of more, the level at the start and at the end."""
OVERLAPPING = 6
"""Of fewer steps than this, the level at the start (three values) would hold some of those at the end: LBFGS is done in so few."""

LOOK_AT = {
    "nonfinite-loss": "look at the operation that was first not finite (logarithm, square root, division, exponential)",
    "diverging-loss": "a run with a tenth of the learning rate would tell whether the steps are too large",
    "nonfinite-gradient": "look at operations whose gradient is infinite (square root or norm at 0, division)",
    "chance-level": "training on one small batch only would tell whether this model can learn from these data at all",
    "flat-loss": "training on one small batch only would tell whether this model can learn from these data at all",
    "raised-loss": "look at what changes there: the data, the loss, the model or the learning rate",
    "val-flat-from-start": "compare training and validation data: their preparation, their labels, and whether they have anything in common",
}


def alarm(record: Record, signs: Signs) -> str:
    """Signs that no healthy run shows and that no cause explains: what was seen and what would decide it. "" if there are none."""
    for name, next_look in LOOK_AT.items():
        for sign in signs.named(name):
            if _alarming(record, sign, signs):
                return f"{sign.text}, and no known cause explains it; {next_look}"
    return _unlearned(record)


HALF, MUCH = 0.5, 0.3
"""Of the best accuracy, and in shares of all answers: no healthy evaluation of the same samples ends there, twice in a row."""


def _unlearned(record: Record) -> str:
    """Validation answers that were right once and are wrong at the end, whatever the loss does."""
    right = validation_accuracy(record)
    if right is None or len(right) < 4 or not np.all(np.isfinite(right.values)):
        return ""
    best, last = int(np.argmax(right.values)), float(np.max(right.values[-2:]))
    top = float(right.values[best])
    if last > HALF * top or last > top - MUCH:
        return ""
    return (
        f"validation accuracy was {top:.3g} at step {int(right.steps[best])} and is {float(right.values[-1]):.3g} at the end, and no known cause explains it; "
        "look at what changes in between, and keep the weights of the best evaluation"
    )


def _alarming(record: Record, sign: Sign, signs: Signs) -> bool:
    if sign.name in ("nonfinite-loss", "nonfinite-gradient", "val-flat-from-start"):
        return True
    loss = next((x for c, x in training_losses(record) if c.name == sign.where), None)
    if sign.name == "diverging-loss":
        # The error of a value function grows with the returns as an agent improves: only growth without bound alarms there.
        return bool(sign.numbers["exploding"]) or (supervised(loss) and bool(record.facts.loaders))
    if sign.name == "raised-loss":
        return supervised(loss) and not mostly_loaded(record)
    long_enough = record.facts.run.steps >= ENOUGH_STEPS and not mostly_loaded(record)
    if sign.name == "chance-level":
        return long_enough and supervised(loss) and (signs.has("flat-loss", "slow-descent", "early-plateau") or _guesses(record))
    validation_flat = bool(record.series_like("loss/eval")) and supervised(loss)
    return long_enough and validation_flat and not any(h.classes for h in (loss.heads if loss else ()))


GUESSED = 0.1
"""Accuracy above the share of the commonest class, below which nothing of note is known."""


def _guesses(record: Record) -> bool:
    right, labels = record.series("accuracy/train").values, record.facts.labels
    counts = np.array(labels.histogram if labels is not None else ())
    common = float(counts.max() / counts.sum()) if counts.sum() else 1.0
    return len(right) > 0 and float(np.median(right[-max(3, len(right) // 5) :])) < common + GUESSED and common < 1 - 2 * GUESSED


IN_A_LOG = LOOK_AT | {
    "loss-spikes": "whether the same samples, a burst of gradients or the learning rate throws it up shows only in a run that is watched: `sickbay run`",
    "oscillating-loss": "a run with a tenth of the learning rate would tell whether the steps are too large",
    "alternating-loss": "look at what takes turns there: two kinds of data, samples that come in an order, or a part of the loss that comes and goes",
    "early-plateau": "a run with another learning rate or a larger model would tell whether more can be reached",
    "nonfinite-loss": "`sickbay run` on the script finds the operation and the batch that was first not finite",
}


def of_curves(record: Record, signs: Signs) -> str:
    """What alarms in a log, and what would decide why."""
    sign = first_sign(signs)
    if sign is None and (turned := turned_alone(record)) is not None:
        best = int(np.argmin(turned.values))
        return (
            f"validation loss rises from {turned.values[best]:.4g} at step {turned.steps[best]} to {turned.values[-1]:.4g}, as it does when a model overfits; "
            "the log has no training loss beside it, which would tell that from divergence"
        )
    if sign is None and without_bound(record):
        return (
            "the loss runs away below zero, faster and faster: nothing bounds it; a cross-entropy does that with targets that are no probabilities "
            "(outside 0 to 1) or on outputs that are none, and so does a likelihood whose spread goes to zero"
        )
    if sign is None and (score := turned_score(record)) is not None:
        return (
            f"validation's {score.word} goes from {score.best:.3g} at step {score.step} back to {score.last:.3g} while the training loss falls on, as when a model "
            "overfits; the log has no validation loss, which would tell how far"
        )
    if sign is None and (noisy := stands_in_noise(record)) is not None:
        return (
            f"the loss is no lower at the end than at the beginning ({start(noisy).value:.4g}, {end(noisy).value:.4g}), as far as its noise of {noisy.noise:.2g} lets one see: "
            f"{IN_A_LOG['early-plateau']}"
        )
    if sign is None:
        return "the curves look odd, and they do not say why"
    if sign.name == "flat-loss" and begun_before(record):
        return f"{sign.text}; the log begins in the middle of a run, so what was learned before is not in it: {IN_A_LOG['early-plateau']}"
    return f"{sign.text}; a log does not say why: {IN_A_LOG.get(sign.name, 'watch the script with `sickbay run`')}"


def still_falling(record: Record) -> str:
    """What there is to say of a log that ends while the loss falls as fast as ever."""
    return f"{_losses(record)}, and it fell to the end as fast as it did at first: the run was cut short, or its steps are small; train longer, or try a higher learning rate"


def unclear(record: Record) -> str:
    """Why the curves of a log say nothing, and what would."""
    if len(reward := record.series("reward")):
        gained = curve(reward)
        return f"the reward does not rise ({start(gained).value:.3g} at the start, {end(gained).value:.3g} at the end); how high the loss is says little beside it"
    return "the log holds no training loss whose curve says how training goes; log the loss, or name its column with --map loss=COLUMN"


def describe(record: Record, signs: Signs) -> str:
    """Why a run is called healthy, in numbers."""
    return "; ".join(filter(None, (_losses(record) + _accuracy(record), _ranges(record, signs), validation_easier(record, signs))))


def _accuracy(record: Record) -> str:
    """Where a script evaluates by the share of right answers only."""
    right = validation_accuracy(record)
    if right is None or record.facts.log is not None or any(len(s) for s in record.series_like("loss/eval")):
        return ""
    first, last = float(right.values[0]), float(right.values[-1])
    if len(right) == 1:
        return f", validation accuracy is {last:.3g}"
    if f"{first:.3g}" == f"{last:.3g}":
        return f", validation accuracy is {last:.3g} at the first evaluation and the last"
    return f", validation accuracy {'rose' if last > first else 'went'} from {first:.3g} to {last:.3g}"


def _losses(record: Record) -> str:
    curves = [(c, loss) for c, loss in training_losses(record) if len(c)]
    steps = record.facts.run.steps or record.facts.run.backwards
    if len(reward := record.series("reward")):
        gained = curve(reward)
        return f"the reward went from {start(gained).value:.3g} to {end(gained).value:.3g} over {steps:,} steps"
    if not curves and (alone := [c for s in record.series_like("loss/eval") if len(c := curve(s))]):
        first, last = _ends(record, alone[0])
        return f"validation loss went from {first.value:.3g} to {last.value:.3g} (training loss is not in the log)"
    if not curves:
        return f"nothing is wrong in {steps:,} steps"
    over = f"{record.facts.run.epochs:,} epochs" if record.facts.log is not None and record.facts.log.axis == "epoch" else f"{steps:,} steps"
    if adversarial(record):
        ends = ", ".join(f"{end(c).value:.3g}" for c, _ in curves[:3])
        return f"{len(curves)} losses hold each other in check over {over} (last {ends})"
    c, _ = max(curves, key=lambda pair: len(pair[0]))
    first, last = _ends(record, c)
    verb = "fell" if last.value < first.value - 2 * (first.error + last.error) else "went"
    return f"loss {verb} from {first.value:.3g} to {last.value:.3g} over {over}"


def _ends(record: Record, c: Curve) -> tuple[Level, Level]:
    log = record.facts.log
    if len(c) < (FEW if log is not None else OVERLAPPING):
        return level(c.values[:1], 0.0), level(c.values[-1:], 0.0)
    return level(c.values[:1], 0.0) if log is not None and log.values_are_means else start(c), end(c)


def _ranges(record: Record, signs: Signs) -> str:
    seen = [
        word
        for word, family in (("gradients", "grad_norm"), ("updates", "update_ratio"), ("activations", "activation_dead"))
        if len(record.family(family).steps)
    ]
    if record.facts.log is not None:
        return "its curves show nothing wrong" + _followed(record, signs)
    if not seen:
        return "no cause was found in what was observed"
    words = seen[0] if len(seen) == 1 else f"{', '.join(seen[:-1])} and {seen[-1]}"
    return f"{words} show nothing unusual"


def _followed(record: Record, signs: Signs) -> str:
    if not (record.series_like("loss/eval") and record.series_like("loss/train")):
        return ""
    return ", though validation stays far above training" if signs.has("train-val-gap") else ", and validation follows"
