"""Batch norm takes its statistics from so few values that they are mostly noise.

## What happens

In training, batch norm subtracts the mean and divides by the spread of the batch. Taken from two values the result is always -1 and +1,
whatever they were; from four, the spread is off by half on average. The network learns on this noise, while in evaluation the running averages are
used, with which it was never trained: evaluation is far worse than training, and differs from one time to the next.

## How we know

Counted in training passes: how many samples (and values per channel) each batch-norm layer takes a mean and a variance from. Two values are proof by
arithmetic, as long as the loss is not down. At most four values, or at most two samples where a channel has several positions, count together with an
evaluation loss that stays far above the training loss from early on, or a loss that is stuck.

## Looks like it but is not

- Small batches whose evaluation agrees with training: nothing is wrong then.
- Feature maps: the positions of a picture count too, unless there are hardly any pictures.
- A last, smaller batch of an epoch: the median over batches counts.
- Overfitting: there the gap opens late, while training goes on falling.

## Fix

Larger batches, or a norm that does not look at the batch: GroupNorm, LayerNorm, InstanceNorm.

## References

- Ioffe and Szegedy 2015; Ioffe 2017, Batch renormalization; Wu and He 2018, Group normalization, figure 1 (error against batch size).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sickbay.causes.evidence import hint, listed, proof, strong
from sickbay.causes.registry import cause
from sickbay.causes.stuck import stuck
from sickbay.facts import BatchStatistics
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, source_at
from sickbay.signs import Signs
from sickbay.signs.curves import end, start
from sickbay.signs.losses import judged_losses
from sickbay.signs.validation import comparisons

FEW_VALUES = 4
"""The spread of n values is off by 1/sqrt(2 (n - 1)) of itself: 0.7 for two, 0.4 for four, 0.13 for 32."""
FEW_SAMPLES = 2
"""Positions of one picture are alike: with two pictures the statistics are those of these two."""
COIN = 2
"""Two values: no number of their distance is left after normalising."""
UNSOLVED = 0.3
"""...which is told while the loss is above this part of its start."""
APART = 1.5
"""Evaluation at one and a half times the training loss, in the median over the run."""
EARLY = 0.34
"""...and so already in the first third of the evaluations, before anything is memorised."""


@cause(
    code="A215",
    level="architecture",
    title="batch norm sees too few samples",
    why="Means and spreads of a handful of values are mostly noise, and evaluation uses averages that the network was never trained with.",
    explains={
        "train-val-gap", "val-rising", "val-flat-from-start", "overfitting", "flat-loss", "chance-level", "early-plateau", "slow-descent", "oscillating-loss",
        "loss-spikes", "under-capacity", "lr-too-low", "val-noisy",
    },
    cure="group-norm",
)  # fmt: skip
def batchnorm_tiny_batch(record: Record, signs: Signs) -> Iterator[Evidence]:
    tiny = [b for b in record.facts.probes.batch_norms if _tiny(b)]
    if not tiny:
        return
    apart, trouble = _apart(record), stuck(signs)
    worst = min(tiny, key=lambda b: (b.smallest, b.samples))
    if worst.smallest <= COIN and _unsolved(record):
        yield proof(
            f"of two values, (value - mean) / spread is -1 and +1 whatever they were: {worst.layer} passes on which was larger, no more", worst.place
        )
    elif apart is None and trouble is None:
        return
    more = f"; so do {listed([b.layer for b in tiny if b is not worst], 3)}" if len(tiny) > 1 else ""
    yield strong(
        f"{worst.layer} ({worst.kind}) takes each mean and variance from {worst.smallest} values of {worst.samples} samples{more}",
        worst.place,
        values=worst.smallest,
        samples=worst.samples,
    )
    if apart is not None:
        yield strong(
            f"evaluation, which uses running averages, gives {apart[1]:.3g} where training gives {apart[0]:.3g}, from early on", train=apart[0]
        )
    if trouble is not None:
        yield hint(trouble.text, steps=trouble.steps)


def _tiny(b: BatchStatistics) -> bool:
    return b.smallest <= FEW_VALUES or b.samples <= FEW_SAMPLES


def _unsolved(record: Record) -> bool:
    return any(end(c).value > UNSOLVED * start(c).value for c, _ in judged_losses(record))


def _apart(record: Record) -> tuple[float, float] | None:
    """Median training and evaluation loss, where they are far apart from early on."""
    for c in comparisons(record):
        level = np.asarray(c.train_level)
        known = np.isfinite(level)
        if c.comparable and known.sum() >= 3:
            ratio = c.validation.values[known] / np.maximum(level[known], 1e-12)
            early = ratio[: max(1, int(EARLY * len(ratio)))]
            gap = float(np.median(c.validation.values[known] - level[known]))
            if float(np.median(ratio)) > APART and float(np.median(early)) > APART and gap > 0.05 * c.begin:
                return float(np.median(level[known])), float(np.median(c.validation.values[known]))
    return None


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = next((e.place for e in evidence if e.place is not None), None)
    source = source_at(record, place)
    diff = ""
    if source is not None and place is not None:
        calls = [c for c in source.calls("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", line=place.line) if c.args]
        edits = [source.replacing(c, f"{source.segment(c.func).rpartition('.')[0] or 'nn'}.GroupNorm(1, {source.segment(c.args[0])})") for c in calls]
        diff = source.diff(*edits) if edits else ""
    return mend(
        "use a larger batch, or a norm that does not look at the batch",
        diff,
        "nn.GroupNorm(8, channels)  # in place of nn.BatchNorm2d(channels)",
        "consent",
    )
