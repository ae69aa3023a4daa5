"""A few samples are broken, and the loss jumps whenever one of them comes.

## What happens

A wrong unit, a sentinel such as -999, a decimal point lost, a file that was cut short: such a sample costs more than all others of its batch together. Its gradient throws the
weights off, the loss jumps and needs some steps to come back, in every epoch anew. With clipping or Adam the run survives it, and is worse for it.

## How we know

Whenever the loss jumps far above its running level, the batch is looked at: which samples it holds, and whether values of their inputs or targets lie far (ten ranges) outside what
other batches hold. Proof: the same outlying samples are there again when the loss jumps again. Strong: every jump comes with such a value; or the same few samples come with jumps
higher than the loss of the untrained model, more often than chance allows (told as a probability). Where such samples are so many that the loss never settles, the inputs themselves tell: of up
to 3,000 that are kept in memory while the run goes on, a few hold values ten times and more as far from the middle as all others, with nothing in between.

## Looks like it but is not

- Losses that jump by nature: adversarial and reinforcement training, policy gradients, heavy-tailed targets whose large values form one continuous tail.
- Jumps when the learning rate goes up (restarts), or with the last, smaller batch of an epoch.
- Hard or rare samples with ordinary values: the loss rises, but not above that of an untrained model.
- Hard samples of a class that the loss weights (`pos_weight`, `weight`): one of them then costs what many others do.
- A learning rate that is too high: the jumps come with any batch.

## Fix

Look at the samples that are named; repair or drop them. A robust loss (Huber) or clipping is the second best: it hides them.

## References

- Huber 1964, Robust estimation of a location parameter.
- Chowdhery et al. 2022 (PaLM), section 5.1: loss spikes, and training again without the batches at the spikes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from sickbay.causes.data.unscaled_input import suffering
from sickbay.causes.evidence import from_sign, hint, listed, proof, strong, times
from sickbay.causes.registry import cause
from sickbay.facts import LossSpike, Outlier, Outlying, Spikes
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.fixing import mend
from sickbay.script.loss_call import loss_call, weighted
from sickbay.script.taken_over import taken_over
from sickbay.signs import Signs
from sickbay.signs.curves import Curve, start
from sickbay.signs.loss_spikes import isolated, jumps
from sickbay.signs.losses import index, judged_losses

CHANCE = 1e-3
"""Probability that there is a sample, or a set of so many, that so many of the jumps' batches hold by chance: one false call in a thousand runs that have jumps at all."""
MOST_SHARED = 16
FEW = 0.25
"""The same samples, not the same batches in the same order: the shared ones are at most this share of a batch."""
MOST = 0.8
"""Share of the jumps that must hold an outlier: otherwise something else makes the loss jump."""
HALF = 0.5
"""...where the same outliers come again."""
TAIL = 0.15
"""Share of the jumps whose batch also holds values in between the ordinary and the outlying: more, and these are the end of one long tail."""
SMALL = 0.6
"""A batch of fewer rows than this share of the usual ones has a noisier mean."""
SLIP = 50.0
"""Ranges beyond all others: a decimal point or unit that slipped puts values a hundred or a thousand times out, a sentinel (-999) is the same in every sample."""
TAIL_VALUES = 3
FELT = 1.5
"""Times the usual gradient norm. Losses that grow linearly (L1, Huber, log-cosh) pull no harder at a value the farther it is out."""
FASTER = 1.5
"""The learning rate went up by this factor within the steps before: a restart."""
RATE_STEPS = 10
BESIDE = frozenset(
    "activation-collapse activation-growth loader-wait majority-level memory-growth rank-divergence rank-lag step-time-drift val-noisy weight-drift".split()
)
"""Signs of the machine, and of illnesses that a few values far out do not bring about: they do not say that the run suffers from them."""


@cause(
    code="D110",
    level="data",
    title="the loss jumps whenever certain broken samples come",
    why="Each of them throws the weights off for some steps, in every epoch anew, and pulls the model towards values that are not real.",
    explains={
        "loss-spikes", "gradient-spike", "oscillating-loss", "update-ratio-high", "lr-too-high", "unscaled-input", "exploding-gradient", "diverging-loss", "clipping-too-tight",
        "missing-warmup",
    },
    cure="drop-samples",
)  # fmt: skip
def corrupt_samples(record: Record, signs: Signs) -> Iterator[Evidence]:
    known, taken = record.facts.spikes, taken_over(record)
    if known is not None and taken is not None:
        known = replace(known, place=taken)
    if record.facts.log is not None:
        yield from (from_sign("hint", sign) for sign in signs.named("loss-spikes")[:1])
    for c, loss in judged_losses(record):
        number = loss.index if loss is not None else index(record.series(c.name))
        if known is not None:
            yield from _examine(record, known, c, [s for s in known.kept if s.loss == number])
    if (far := _far_out(record)) is not None and record.facts.data_probe is not None:
        # A model may be made for such values (a sentinel that it masks): without a sign that the run suffers, this is only worth a look.
        told = strong if any(s.name not in BESIDE for s in signs) or suffering(record, signs) else hint
        yield told(
            f"{far.found:,} of {far.rows:,} training samples hold values at least {far.times:,.0f} times as far from the middle as any other sample",
            taken or record.facts.data_probe.place,
            found=far.found,
        )
        if far.indices:
            yield hint(f"these are samples {listed([str(i) for i in far.indices], 12)}")


def _far_out(record: Record) -> Outlying | None:
    probe = record.facts.data_probe
    return probe.outlying if probe is not None else None


def _examine(record: Record, known: Spikes, c: Curve, spikes: Sequence[LossSpike]) -> Iterator[Evidence]:
    back, all_jumps = {int(s) for s in c.steps[isolated(c)]}, {int(s) for s in c.steps[jumps(c)]}
    real = [s for s in spikes if s.step in all_jumps and not _small(s, known) and not _restart(record, s)]
    spikes = [s for s in real if s.step in back]
    compared = [s for s in spikes if s.compared]
    if sum(s.between > 0 for s in compared) > TAIL * len(compared):
        return
    outlying = [s for s in spikes if s.outliers]
    again = _again(outlying)
    if again and len(outlying) >= HALF * len(compared):
        found = _same_outliers(known, spikes, outlying, again)
        yield hint(found.text, found.place, found.steps) if _borne(record, outlying) else found
    elif len(outlying) >= 2 and len(outlying) >= MOST * len(compared):
        say = hint if _clipped_tail(record, outlying) else strong
        yield say(
            f"the loss jumps at {_steps(outlying)} (to {_peak(outlying):.3g}; usual {_usual(outlying):.3g}), each time with a batch that holds a value far outside of all others: {_told(outlying)}",
            known.place,
            (outlying[0].step, outlying[-1].step),
        )
    elif not outlying and (shared := _recurring(record, c, spikes)) is not None:
        samples, count, chance = shared
        named = f"samples ({listed([str(s) for s in samples], 6)})" if any(s.samples for s in spikes) else times(len(samples), "sample")
        yield strong(
            f"the same {named} are in the batch at {count} of {len(spikes)} jumps of the loss ({_steps(spikes)}), "
            f"each higher than the untrained model's {start(c).value:.3g}; so few samples are in so many of them by chance with a probability of {chance:.1g}",
            known.place,
            (spikes[0].step, spikes[-1].step),
            chance=chance,
        )
    first = real[0] if real else None
    if first is not None and not spikes and first.outliers:
        yield strong(
            f"the loss jumped from {first.usual:.3g} to {first.value:.3g} at step {first.step} and did not come back, with a batch that holds {_told([first])}",
            known.place,
        )
    if (again or len(outlying) >= 2) and (norms := _norms(record, outlying)):
        yield hint(norms)


def _borne(record: Record, outlying: Sequence[LossSpike]) -> bool:
    """Rare large values that are real, under a loss that bounds their pull: none is far enough out for a slip of units, none comes twice, and gradients do not feel them."""
    by_sample = {_who(s, o): o for s in outlying for o in s.outliers}
    values = [o.value for o in by_sample.values()]
    ratio = _felt(record, outlying)
    return len(set(values)) == len(values) and max(o.ranges for o in by_sample.values()) < SLIP and ratio is not None and ratio < FELT


def _clipped_tail(record: Record, outlying: Sequence[LossSpike]) -> bool:
    """Rare large targets that are real (claims, prices), under clipping that bounds their pull: each is another value, as in a tail; a slip or a sentinel comes again."""
    found = [o for s in outlying for o in s.outliers]
    values = {o.value for o in found}
    return bool(record.facts.clippings) and len(found) >= TAIL_VALUES and len(values) == len(found) and all(o.role == "target" for o in found)


# -- which jumps count ----------------------------------------------------------------------------------------------


def _small(s: LossSpike, known: Spikes) -> bool:
    return bool(known.usual_rows and s.rows) and s.rows < SMALL * known.usual_rows


def _restart(record: Record, s: LossSpike) -> bool:
    for series in record.series_like("lr"):
        before = series.values[(series.steps >= s.step - RATE_STEPS) & (series.steps <= s.step)]
        if len(before) > 1 and np.max(before) > FASTER * np.min(before):
            return True
    return False


# -- the same samples -----------------------------------------------------------------------------------------------


def _who(s: LossSpike, o: Outlier) -> int | None:
    """What an outlying row is known by from one epoch to the next."""
    return o.sample if o.sample is not None else s.marks[o.row] if o.row < len(s.marks) else None


def _again(spikes: Sequence[LossSpike]) -> list[int]:
    """The outlying samples that came with two jumps or more, in different epochs where those are known."""
    met: dict[int, set[int]] = {}
    for s in spikes:
        for o in s.outliers:
            if (who := _who(s, o)) is not None:
                met.setdefault(who, set()).add(s.epoch if s.epoch >= 0 else s.step)
    return [who for who, when in met.items() if len(when) >= 2]


def _same_outliers(known: Spikes, spikes: Sequence[LossSpike], outlying: Sequence[LossSpike], again: list[int]) -> Evidence:
    by_index = any(o.sample is not None for s in outlying for o in s.outliers)
    who = f"sample{'s' if len(again) > 1 else ''} {listed([str(w) for w in again], 8)}" if by_index else times(len(again), "sample")
    held = [s for s in outlying if any(_who(s, o) in again for o in s.outliers)]
    return proof(
        f"the loss jumps {times(len(spikes), 'time')} (to {_peak(spikes):.3g}; usual {_usual(spikes):.3g}), and at {len(held)} of them, {_steps(held)}, "
        f"the batch holds the same {who}: {_told(held)}",
        known.place,
        (held[0].step, held[-1].step),
        jumps=len(spikes),
        samples=len(again),
    )


def _recurring(record: Record, c: Curve, spikes: Sequence[LossSpike]) -> tuple[list[int], int, float] | None:
    """Samples with ordinary values that are in (nearly) all batches at jumps higher than an untrained model's loss, and how probable that is by chance."""
    indexed = any(s.samples for s in spikes)
    batches = [set(s.samples if indexed else s.marks) for s in spikes if (s.samples if indexed else s.marks)]
    if len(batches) < 3 or min(s.value for s in spikes) <= start(c).value or _weighs(record):
        return None
    shared: list[int] = []
    left = batches
    while left and len(shared) < MOST_SHARED:
        sample, count = Counter(x for held in left for x in held).most_common(1)[0]
        if count < 2:
            break
        shared.append(sample)
        left = [held for held in left if sample not in held]
    rows, total = float(np.mean([len(b) for b in batches])), _training_samples(record) or len(set.union(*batches))
    met = len(batches) - len(left)
    chance = math.comb(total, len(shared)) * _tail(len(batches), met, 1 - (1 - min(rows / total, 1.0)) ** len(shared))
    if not shared or met < MOST * len(batches) or len(shared) > max(1.0, FEW * rows) or chance > CHANCE:
        return None
    return sorted(shared), met, chance


def _weighs(record: Record) -> bool:
    """The loss counts some samples many times: one that is hard then costs more than a whole batch does at first."""
    call = loss_call(record)
    return call is not None and weighted(call[1])


def _training_samples(record: Record) -> int:
    known = (*(x.samples or 0 for x in record.facts.loaders if x.role == "train"), *(e.train_distinct for e in record.facts.evaluation_data))
    return max(known, default=0)


def _tail(n: int, k: int, p: float) -> float:
    """Probability of k or more of n."""
    return sum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(k, n + 1))


# -- words ----------------------------------------------------------------------------------------------------------


def _peak(spikes: Sequence[LossSpike]) -> float:
    return max(s.value for s in spikes)


def _usual(spikes: Sequence[LossSpike]) -> float:
    return float(np.median([s.usual for s in spikes]))


def _steps(spikes: Sequence[LossSpike]) -> str:
    return f"step{'s' if len(spikes) > 1 else ''} {listed([f'{s.step:,}' for s in spikes], 6)}"


def _told(spikes: Sequence[LossSpike]) -> str:
    """The farthest of the outliers, each once."""
    worst: dict[object, Outlier] = {}
    for s in spikes:
        for o in s.outliers:
            key = _who(s, o)
            if key not in worst or worst[key].ranges < o.ranges:
                worst[key] = o
    return "; ".join(_outlier(o) for o in sorted(worst.values(), key=lambda o: -o.ranges)[:3])


def _outlier(o: Outlier) -> str:
    who = f"sample {o.sample}" if o.sample is not None else f"row {o.row} of the batch"
    where = f" in column {o.column} of {o.columns}" if o.column is not None else ""
    return f"{who} has {o.value:.4g}{where} of the {o.role} (other batches: {o.low:.3g} to {o.high:.3g})"


def _norms(record: Record, spikes: Sequence[LossSpike]) -> str:
    at, other = _gradients(record, spikes)
    if not len(at) or not len(other) or np.median(at) < 2 * np.median(other):
        return ""
    clipped = " (before clipping)" if record.facts.clippings else ""
    return f"the gradient norm{clipped} is {np.median(at):.3g} at the jumps and {np.median(other):.3g} otherwise"


def _felt(record: Record, spikes: Sequence[LossSpike]) -> float | None:
    """How much larger gradients are at the jumps; None where that is not known, or clipping hides it."""
    at, other = _gradients(record, spikes)
    known = len(at) and len(other) and not record.facts.clippings and np.median(other) > 0
    return float(np.median(at) / np.median(other)) if known else None


def _gradients(record: Record, spikes: Sequence[LossSpike]) -> tuple[np.ndarray, np.ndarray]:
    """Gradient norms at the jumps and on other steps."""
    series = record.series("grad_norm")
    fine = np.isfinite(series.values)
    here = np.isin(series.steps, [s.step for s in spikes])
    return series.values[fine & here], series.values[fine & ~here]


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    known = record.facts.spikes
    outliers = [o for s in (known.kept if known is not None else ()) for o in s.outliers]
    far = _far_out(record)
    samples = sorted({o.sample for o in outliers if o.sample is not None}) or list(far.indices if far is not None else ())
    if not samples and known is not None and outliers:
        o = outliers[0]
        name = known.variable if o.role == "input" and known.variable.isidentifier() else known.target if known.target.isidentifier() else "x"
        limit = max(abs(o.low), abs(o.high)) * 2
        return Fix(
            "look at these rows and repair or drop them",
            f"keep = {name}.flatten(1).abs().amax(1) < {limit:.3g}" if o.columns > 1 else f"keep = {name}.abs() < {limit:.3g}",
            "advice",
        )
    if not samples and known is not None:
        samples = [int(n) for e in evidence for n in e.text.partition("samples (")[2].partition(")")[0].split(", ") if n.isdigit()]
    if not samples:  # a log, or batches whose samples have no numbers
        return Fix("find out which samples are in the batches at the jumps (`sickbay run` on the script does), and repair or drop them", "", "advice")
    text = f"look at samples {listed([str(s) for s in samples], 8)} and repair or drop them; a robust loss or clipping only hides them"
    snippet = f"bad = {{{', '.join(map(str, samples[:16]))}}}\ntrain_set = torch.utils.data.Subset(train_set, [i for i in range(len(train_set)) if i not in bad])"
    return mend(text, "", snippet)
