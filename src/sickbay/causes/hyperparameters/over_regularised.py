"""The model is held down harder than the data can pull it up: dropout too high, weight decay too high, or a penalty too heavy.

## What happens

Regularisers take something away in training: dropout silences units, weight decay pulls every weight towards zero, label smoothing blurs the
targets. A little of it helps on new data. Too much of it, and what is left cannot even fit the training data: the loss stands high from
early on, in training and in validation, and more epochs do not help.

## How we know

- dropout-too-high: layers drop more than seven in ten of their inputs in training, the training loss stays above two fifths of its start,
  and the same model in eval mode, with dropout off, is clearly better than in training (or three in twenty and fewer units are left). Or layers drop three quarters and more, and evaluation gets worse while
  training gets better: that looks like overfitting, but what is dropped so hard cannot memorise; evaluation asks a net that was never trained. Or layers that drop seven in ten and more stand before layers so
  narrow that few units are left, and steps that together are longer than the weights are large have not made these larger, while the loss stands high: each step undoes what the last one did for other units.
- weight-decay-too-high: an optimizer with weight decay has brought the weights of the typical layer below half of the size that they began with,
  while the loss stands high, or rises again (a little is enough, if it goes on to the end): they are not trained, they are shrunk. In healthy runs weights keep their size or grow (in 116 healthy scripts of
  the ward, with decays from 1e-4 to 0.1, the typical layer never fell below 0.8 of its first size). Or the loss stands high and has stopped to fall, and what an
  unusually large decay adds to the gradient of the typical layer is a third of that gradient and more (of usual decays it is about a hundredth).

- penalty-too-heavy: the same of a term that the script adds to its loss (a sum of |w| or w²: the graph shows that nothing but weights goes into it). The
  weights of the typical layer are below half of their first size, and the rest of the loss, which is what the data ask for, stands high.

The strength alone is no evidence: the same number is right for one model and far too much for another.

## Looks like it but is not

- Dropout of 0.5 and a training loss above the validation loss: usual, and fine.
- A large decay on a model that learns: what counts is that the weights vanish and the loss stands.
- The same rate before one wide layer: enough units are left in each step, and it may be the best there is on noisy data.
- Losses whose lowest value nobody knows (Cox's partial likelihood, Poisson's): that they stand far above zero says nothing, and weights that a decay has made small may be right for the data.
- Weights that shrink while the loss falls: pruning by decay, factorised or normalised layers.
- Learning rates, dead units, wrong losses: they hold the loss up as well, and are found by themselves.

## Fix

Turn the regulariser off, see that the model can fit the training data, and bring it back in small steps: dropout 0.1 to 0.5, weight decay
1e-4 (SGD) to 1e-2 (AdamW).

## References

- Srivastava et al. 2014, Dropout (0.5 for hidden units, 0.2 for inputs); Loshchilov and Hutter 2019, Decoupled weight decay regularization.
- Li et al. 2019, Understanding the disharmony between dropout and batch normalization by variance shift.
- Karpathy 2019, A recipe for training neural networks (overfit first, regularise then).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.dropouts import EXTREME, NARROW, dropouts, variance_added
from sickbay.causes.evidence import from_sign, hint, listed, strong
from sickbay.causes.rates import decay_written, main_optimizer
from sickbay.causes.registry import cause
from sickbay.facts import Loss
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, number, sources
from sickbay.script.naming import named_numbers
from sickbay.script.penalties import penalty_of, strength
from sickbay.script.written import Written, changed, place_of, written
from sickbay.signs import Signs
from sickbay.signs.curves import Curve, curve, end, smooth, start, trend_share
from sickbay.signs.layers import nanmedian, weights
from sickbay.signs.losses import ends_at_zero, judged_losses
from sickbay.signs.update_ratio_low import reach

MINIMUM_STEPS = 50
HIGH = 0.4
"""The loss ends above two fifths of its start: what is fitted well is far below."""
HIGH_AND_SHRUNK, DONE = 0.15, 0.1
"""...or above 0.15 of it and done falling, where the weights have been shrunk to half: no healthy run shows that."""
RATE = 0.7
"""Dropout above this is in no published recipe for hidden layers; 0.5 to 0.6 is strong already."""
MOSTLY_DROPPED = 0.75
"""From here on the units that are left count four times and more in training: in eval mode the layers behind see sums with far less spread than those they were trained on (Li et al. 2019, variance shift)."""
BETTER = 0.8
"""Loss in eval mode against training loss: dropout costs a fifth and more."""
WON_MORE = 1.25
"""...or of what was won since the first step: a loss with a floor of its own (tags, pixels, texts) hardly falls to four fifths of another."""
AS_LARGE = 1.0
"""All steps together, laid end to end, beside the weights' size: healthy runs reach 1.3 times and more (`causes/unfinished.py`)."""
SHRUNK = 0.5
"""Size of the typical layer's weights against their first: see above."""
NEVER_SO_SMALL, LEARNED, LOST = 0.8, 0.8, 1.3
"""...or below the smallest of these healthy runs, where a loss that had come down by a fifth has risen by a third again: with a schedule that lowers the rate, what pulls at the weights wins over what trains them."""
CREPT, ERRORS = 1.15, 3.0
"""...or below half of it, where the level of the loss has crept up by a seventh, beyond what its noise gives (`_creeps_back`)."""
UNUSUAL, PULLS = 0.01, 0.3
"""...or a decay of twenty times the largest usual one (5e-4 for SGD) that is a third of the gradient's own size and more in the typical layer; with usual ones it is a hundredth."""
NOT_GROWN, PULLS_AT_SMALL = 0.9, 0.15
"""...or a seventh of it, where the weights have become smaller besides: what is trained grows."""
STOPPED = 0.96
"""...and the loss has stopped if its last quarter lies less than 4 % below the one before, whatever share of a small descent that is."""
ADDED_TO_THE_GRADIENT = frozenset("SGD Adam NAdam RAdam Adamax RMSprop Adagrad Adadelta".split())
SMOOTHED = 0.4
WEAKER = 100
DROPOUT_NAMES = ("p", "dropout", "drop", "p_drop", "dropout_rate", "drop_rate", "dropout_p", "drop_prob")
DROPOUT_CALLS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout")
OTHERWISE = ("nonfinite-loss", "diverging-loss", "update-ratio-low")


@cause(
    code="H411",
    level="hyperparameters",
    title="the model is regularised too hard",
    why="Dropout, weight decay or a penalty takes away more than training can put in, so the model cannot even fit its training data.",
    explains={
        "early-plateau", "slow-descent", "flat-loss", "chance-level", "small-gradients", "gradient-decay-with-depth", "vanishing-gradient", "under-capacity", "dead-units",
        "oscillating-loss", "val-below-train", "underfitting-short-training", "overfitting", "val-rising", "train-val-gap", "class-imbalance", "majority-class-predictor",
        "activation-collapse", "weight-drift",
    },
    cure="no-regularisation",
)  # fmt: skip
def over_regularised(record: Record, signs: Signs) -> Iterator[Evidence]:
    stands, loss = _longest(record)
    if stands is None or signs.has(*OTHERWISE):
        return
    tells = ends_at_zero(loss)
    ledger = [
        *([*_dropout(record, stands)] or _few_left(record, stands) if tells else ()),
        *_other_net(record, signs),
        *_decay(record, stands, tells=tells),
        *(_penalty(record, stands) if tells else ()),
    ]
    if not ledger:
        return
    yield from ledger
    yield hint(f"the training loss began at {start(stands).value:.3g} and is still {end(stands).value:.3g} at the end")
    smoothing = max((h.label_smoothing for loss in record.facts.losses for h in loss.heads), default=0.0)
    if smoothing >= SMOOTHED:
        yield hint(f"label smoothing of {number(smoothing)} blurs the targets besides")
    for sign in signs.named("chance-level", "flat-loss", "early-plateau")[:1]:
        yield from_sign("hint", sign)


def _longest(record: Record) -> tuple[Curve | None, Loss | None]:
    curves = [(c, loss) for c, loss in judged_losses(record) if len(c) >= MINIMUM_STEPS and c.nonfinite == 0]
    return max(curves, key=lambda pair: len(pair[0]), default=(None, None))


def _above(c: Curve, share: float) -> bool:
    return end(c).value > share * start(c).value > 0


# -- dropout ----------------------------------------------------------------------------------------------------------


def _dropout(record: Record, c: Curve) -> Iterator[Evidence]:
    high = [(name, p) for name, p in dropouts(record) if p >= RATE]
    modes = record.facts.modes
    if not high or modes.training_in_eval or not _above(c, HIGH):
        return
    most = max(p for _, p in high)
    off = _evaluated(record)
    first, last = start(c).value, end(c).value
    better = off is not None and not modes.evaluation_in_train and (off < BETTER * last or first - off > WON_MORE * (first - last) > 0)
    if not better and most < EXTREME:
        return
    told = f", and with dropout off the same model has a loss of {off:.3g} instead of {end(c).value:.3g}" if better and off is not None else ""
    yield strong(
        f"dropout-too-high: {most:.0%} of what comes in is dropped in every training step ({listed([name for name, _ in high])}){told}",
        place_of(_dropout_written(record, most)) or _dropout_called(record, most) or _masked_at(record, most),
        rate=most,
    )


def _other_net(record: Record, signs: Signs) -> Iterator[Evidence]:
    """Three quarters and more are dropped, and evaluation, with dropout off, goes up while training goes down. Such a net cannot memorise: what training fits are the few units that are left, many times as loud, and evaluation asks another net."""
    most = max((p for _, p in dropouts(record)), default=0.0)
    modes = record.facts.modes
    if most < MOSTLY_DROPPED or modes.training_in_eval or modes.evaluation_in_train or not signs.has("train-val-gap"):
        return
    for sign in signs.named("val-rising")[:1]:
        yield strong(
            f"dropout-too-high: {most:.0%} of what comes in is dropped in every training step, and the net without dropout, which evaluation asks, is another one: {sign.text}",
            place_of(_dropout_written(record, most)) or _dropout_called(record, most) or _masked_at(record, most),
            rate=most,
        )


def _few_left(record: Record, c: Curve) -> Iterator[Evidence]:
    """Too few units are left in narrow layers: steps that would make the weights several times as large lead nowhere."""
    high = [(name, p) for name, p in dropouts(record) if p >= RATE]
    shrunk, (_, whole_run), added = _shrunk(record), reach(record), variance_added(record)
    if not high or record.facts.modes.training_in_eval or not _above(c, HIGH) or added < NARROW or shrunk is None:
        return
    if shrunk <= 1.0 and whole_run > AS_LARGE:
        most = max(p for _, p in high)
        yield strong(
            f"dropout-too-high: {most:.0%} of what comes in is dropped in every training step ({listed([name for name, _ in high])}), and so few units are left in these layers that sums over them are off by "
            f"{math.sqrt(added):.0%}; steps that together are {whole_run:.2g} times as long as the weights are large have left those of the typical layer at {shrunk:.2g} of their first size",
            place_of(_dropout_written(record, most)) or _dropout_called(record, most),
            rate=most,
        )


def _evaluated(record: Record) -> float | None:
    found = [curve(s) for s in record.series_like("loss/eval")]
    lasts = [float(np.median(c.values[-2:])) for c in found if len(c)]
    return min(lasts, default=None)


def _dropout_called(record: Record, rate: float) -> Place | None:
    """`nn.Dropout(KEEP)`: the only line that drops by a name which holds this number."""
    found = {
        (source, call.lineno)
        for source in sources(record)
        for call in source.calls(*DROPOUT_CALLS)
        for given in (*call.args[:2], *(k.value for k in call.keywords))
        if isinstance(given, (ast.Name, ast.Attribute))
        and any(n.value == rate for n in named_numbers(source, given.id if isinstance(given, ast.Name) else given.attr))
    }
    source, line = found.pop() if len(found) == 1 else (None, 0)
    return source.place(line) if source is not None else None


def _masked_at(record: Record, rate: float) -> Place | None:
    """The line that drops by hand."""
    return next((m.place for loss in record.facts.losses for m in loss.masks if m.rate == rate), None)


def _dropout_written(record: Record, rate: float) -> Written | None:
    return written(record, rate, (*DROPOUT_NAMES, *map(str.upper, DROPOUT_NAMES)), DROPOUT_CALLS)


# -- weight decay -----------------------------------------------------------------------------------------------------


def _decay(record: Record, c: Curve, *, tells: bool) -> Iterator[Evidence]:
    """`tells`: whether the height of the loss says how much is left."""
    optimizer = main_optimizer(record)
    decay = max((g.weight_decay or 0.0 for g in optimizer.groups), default=0.0) if optimizer is not None else 0.0
    shrunk = _shrunk(record)
    stands = tells and (_above(c, HIGH) or (_above(c, HIGH_AND_SHRUNK) and trend_share(c) < DONE))
    if optimizer is None or decay <= 0 or shrunk is None:
        return
    place = place_of(decay_written(record, decay)) or optimizer.built_at
    if (shrunk <= SHRUNK and (stands or (decay >= UNUSUAL and _creeps_back(c)))) or (shrunk <= NEVER_SO_SMALL and _lost_again(c)):
        yield strong(
            f"weight-decay-too-high: {optimizer.kind} with weight_decay={number(decay)} has shrunk the weights of the typical layer to {shrunk:.2g} of their first size",
            place,
            decay=decay,
            shrunk=shrunk,
        )
    elif (
        stands
        and _done(c)
        and optimizer.kind in ADDED_TO_THE_GRADIENT
        and decay >= UNUSUAL
        and (pull := _pull(record, decay)) > (PULLS if shrunk > NOT_GROWN else PULLS_AT_SMALL)
    ):
        yield strong(
            f"weight-decay-too-high: in the typical layer {optimizer.kind} with weight_decay={number(decay)} adds {pull:.2g} times the gradient's own size to it, towards zero",
            place,
            decay=decay,
            pull=pull,
        )


def _done(c: Curve) -> bool:
    """The loss has stopped to fall: its second half made less than a tenth of the descent, or its last quarter lies hardly below the one before."""
    before, last = (float(np.mean(part)) for part in np.array_split(c.values, 4)[2:])
    return trend_share(c) < DONE or last > STOPPED * before


def _lost_again(c: Curve) -> bool:
    """What was learned is lost again: the loss rises to the end from a level that was far below its start."""
    lowest = float(np.min(smooth(c.values, max(5, len(c) // 20))))
    return lowest < LEARNED * start(c).value and end(c).value > LOST * lowest + 3 * c.noise


def _creeps_back(c: Curve) -> bool:
    """The same of a loss that rises slowly, by less than single batches differ: its level over a twentieth of the run does, and has not come down since the middle."""
    width = max(5, len(c) // 20)
    levels = smooth(c.values, width)
    lowest, middle, last = float(np.min(levels)), float(np.median(levels[len(c) // 2 - width : len(c) // 2 + width])), end(c)
    error = math.hypot(last.error, c.noise / math.sqrt(width))
    return lowest < LEARNED * start(c).value and last.value > max(CREPT * lowest + ERRORS * error, middle)


def _pull(record: Record, decay: float) -> float:
    """What the decay adds to the gradient, in sizes of the gradient itself: the typical layer, the typical step."""
    sizes, gradients = _own(record, "weight_norm"), _own(record, "grad_norm")
    if sizes.shape != gradients.shape or len(sizes) < 3:
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        found = float(nanmedian(nanmedian(decay * sizes / gradients, axis=0)[None, :], axis=1)[0])
    return found if np.isfinite(found) else 0.0


def _shrunk(record: Record) -> float | None:
    """Size of the weights at the end against the beginning, in the median layer."""
    values = _own(record, "weight_norm")
    if len(values) < 3:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = nanmedian(values[-max(1, len(values) // 10) :], axis=0) / values[0]
    found = float(nanmedian(ratio[None, :], axis=1)[0])
    return found if np.isfinite(found) else None


def _own(record: Record, family: str) -> np.ndarray:
    """Frames x weights of what the main optimizer trains (a teacher that was trained before is not among them), from the first frame that holds any."""
    columns, optimizer = weights(record, record.family(family)), main_optimizer(record)
    held = set(optimizer.parameters) if optimizer is not None else set()
    own = [j for j, p in enumerate(columns.parameters) if p.name in held or not held]
    values = columns.values[:, own]
    return values[np.isfinite(values).any(axis=1)] if own else values[:0]


# -- penalties --------------------------------------------------------------------------------------------------------


def _penalty(record: Record, c: Curve) -> Iterator[Evidence]:
    penalty, shrunk = penalty_of(record), _shrunk(record)
    if penalty is None or shrunk is None or shrunk > SHRUNK or not _done(c):
        return
    first, last = penalty.rest
    if first <= 0 or last < HIGH_AND_SHRUNK * first:
        return
    yield strong(
        f"penalty-too-heavy: `{penalty.call}`, which is made from weights alone, was {penalty.first / penalty.first_loss:.0%} of the first loss; it has shrunk the "
        f"weights of the typical layer to {shrunk:.2g} of their first size, while the rest of the loss is {last:.3g} (step {penalty.step}) and began at {first:.3g}",
        place_of(strength(record, penalty)) or penalty.place,
        penalty=penalty.last,
        shrunk=shrunk,
    )


# -- the fix ----------------------------------------------------------------------------------------------------------


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    numbers = next((e.numbers for e in evidence if {"decay", "rate", "penalty"} & e.numbers.keys()), {})
    if "penalty" in numbers and (penalty := penalty_of(record)) is not None:
        found = strength(record, penalty)
        weaker = number(found[1].value / WEAKER) if found is not None and isinstance(found[1].value, (int, float)) else ""
        text = "turn the penalty off, see that the model fits the training data, and bring it back a hundred times weaker"
        return mend(text, changed(found, weaker) if weaker else "", "loss = fit + 1e-5 * penalty", "consent")
    if "decay" in numbers:
        text = "turn weight decay off, see that the model fits the training data, and bring it back in small steps (1e-4 for SGD, 1e-2 for AdamW)"
        return mend(text, changed(decay_written(record, numbers["decay"]), "1e-4"), "weight_decay=1e-4", "consent")
    text = "turn dropout down to 0.1 to 0.5, and first to 0 to see that the model can fit the training data"
    return mend(text, changed(_dropout_written(record, numbers.get("rate", 0.0)), "0.2"), "nn.Dropout(0.2)", "consent")
