"""Training batches come in the order of their labels.

## What happens

The data are sorted (class after class, or by the target) and read in that order, so one batch holds one class and the next
hundred batches too. Each stretch pulls the model towards its own class and away from all others; at the end of an
epoch it answers with what it saw last. The training loss looks deceptively low within a stretch.

## How we know

Proof, from two facts together: the labels of consecutive samples form runs far longer than a shuffled order of the same
labels would give, and the order is not random (a sequential sampler, the same order in every epoch, or each class coming
back in a stretch of its own). An `IterableDataset` has no sampler and decides its order itself, so that only the last two speak there. For number targets:
the target never falls from one sample to the next within an epoch.

## Looks like it but is not

- A time series read in order: its targets go up and down, they do not come sorted.
- Sequential reading of data that were shuffled when they were stored: the labels are mixed.
- Batches built from few classes on purpose (metric learning, episodes, tasks one after the other) by a random sampler.
- Batches of one label made in turn (the real and the fake ones of a GAN).
- One batch per epoch: order within a batch does not matter.

## Fix

`shuffle=True` on the training loader, or a new `torch.randperm` for each epoch. A loader cannot shuffle an `IterableDataset`: its `__iter__` has to draw the order
of what it reads, and where a file can only be read from front to back, mix its samples with those of others (a shuffle buffer).

## References

- PyTorch DataLoader documentation: `shuffle` defaults to False.
- Bengio 2012, Practical recommendations for gradient-based training, section 2.3.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import hint, proof
from sickbay.causes.registry import cause
from sickbay.facts import LabelOrder, Loader
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Source, mend, source_at
from sickbay.script.prepared import in_order, of_head
from sickbay.script.streams import gone_through, shuffled
from sickbay.signs import Signs
from sickbay.signs.losses import adversarial

MINIMUM_BATCHES = 4
# A shuffled order of k equally frequent labels has runs of k/(k-1) samples. Four times the expected length and more than
# four in a row happens by chance in none of a million orders of a hundred samples.
LONGER = 4.0
LONG = 4.0
# ...and batches must feel it: the most frequent label fills a share larger by a quarter than in a random batch.
MORE_OF_ONE = 0.25
ROUNDS = 2.0
"""Each class returned in a long stretch of its own at least once: the order is that of the data."""
BATCHES_LONG = 2.0
"""...longer than a batch: batches of one constant label each (real, then fake) are made, not read."""
SORTED = 0.995
"""Share of neighbours in order; ties and a few seams between files are allowed for."""
SORTED_SAMPLES = 100
STREAM = "def __iter__(self):\n    order = list(self.files)\n    random.shuffle(order)  # and mix the samples of several files: each file alone may be sorted\n    for file in order:\n        ..."


@cause(
    code="D103",
    level="data",
    title="training data come in the order of their labels",
    why="Each stretch of one class overwrites what the last one taught, so the model follows the order instead of learning the classes.",
    explains={
        "flat-loss", "slow-descent", "early-plateau", "oscillating-loss", "loss-spikes", "gradient-spike", "val-flat-from-start", "val-rising",
        "train-val-gap", "chance-level", "diverging-loss", "lr-too-high", "lr-too-low", "overfitting",
        "dead-units", "dead-relu", "update-ratio-low", "update-ratio-high", "vanishing-gradient",
    },
    cure="shuffle",
)  # fmt: skip
def unshuffled_data(record: Record, signs: Signs) -> Iterator[Evidence]:
    labels = record.facts.labels
    if labels is None or labels.batches < MINIMUM_BATCHES or labels.sequential_sampler is False or adversarial(record):
        return
    text = _sorted_classes(labels) or _sorted_numbers(labels)
    if not text:
        return
    place, how = _loader_place(record, labels), _not_random(labels)
    if how:
        yield proof(f"{text}, and {how}", place, None, **_numbers(labels))
    elif labels.same_order_each_epoch is None:
        yield hint(f"{text}; whether this order repeats was not seen", place, None, **_numbers(labels))


def _not_random(labels: LabelOrder) -> str:
    """What shows that the order is fixed; "" if nothing does (tasks learned one after the other also have long runs, once each)."""
    if labels.sequential_sampler:
        return "the loader reads them one after the other (no shuffling)"
    if labels.same_order_each_epoch:
        return "every epoch has the same order"
    stretches = labels.batches * labels.batch_size / max(labels.run_length, 1.0)
    rounds = stretches / labels.classes if labels.classes else 0.0
    over_batches = labels.run_length >= BATCHES_LONG * labels.batch_size
    return f"this comes round {rounds:.0f} times" if rounds >= ROUNDS and over_batches else ""


def _sorted_classes(labels: LabelOrder) -> str:
    long_runs = labels.run_length > LONG and labels.run_length > LONGER * max(labels.run_length_expected, 1.0)
    if labels.classes < 2 or not long_runs or labels.majority_mean - labels.majority_expected < MORE_OF_ONE:
        return ""
    return (
        f"labels come in runs of {labels.run_length:.0f} equal ones (shuffled: {labels.run_length_expected:.1f}); "
        f"a batch of {labels.batch_size:.0f} holds {labels.distinct_mean:.1f} of {labels.classes} classes (shuffled: {labels.distinct_expected:.1f})"
    )


def _sorted_numbers(labels: LabelOrder) -> str:
    share = labels.ascending_share
    if labels.classes or share is None or labels.batches * labels.batch_size < SORTED_SAMPLES or 1 - SORTED < share < SORTED:
        return ""
    way, part = ("ascending", share) if share > 0.5 else ("descending", 1 - share)
    return f"samples come sorted by their target ({way} for {part:.1%} of neighbours; shuffled: 50 %)"


def _numbers(labels: LabelOrder) -> dict[str, float]:
    return {
        "run_length": labels.run_length,
        "run_length_expected": labels.run_length_expected,
        "distinct": labels.distinct_mean,
        "distinct_expected": labels.distinct_expected,
        "batches": labels.batches,
    }


def _loader(record: Record, labels: LabelOrder | None) -> Loader | None:
    return next((x for x in record.facts.loaders if labels is not None and x.index == labels.loader), None)


def _loader_place(record: Record, labels: LabelOrder) -> Place | None:
    loader = _loader(record, labels)
    if loader is not None and loader.stream:
        return gone_through(record, loader) or loader.item_at or loader.built_at
    if loader is not None and loader.built_at is not None:
        return loader.built_at
    head = next((h for loss in record.facts.losses for h in loss.heads), None)
    return in_order(of_head(record, head)) or labels.place


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    labels = record.facts.labels
    loader = _loader(record, labels)
    if loader is not None and loader.stream:
        text = f"draw a new order in `{loader.dataset}.__iter__` for each epoch: a loader cannot shuffle an IterableDataset"
        return mend(text, shuffled(record, loader) or "", STREAM, "consent")
    if loader is not None:
        source = source_at(record, loader.built_at)
        diff = source.diff(_shuffle(source, loader.built_at)) if source is not None else ""
        return mend("shuffle the training loader", diff, "DataLoader(train_set, batch_size=..., shuffle=True)", "consent")
    source = source_at(record, labels.place) if labels is not None else None
    diff = source.diff(_permute(source, labels.place)) if source is not None and labels is not None else ""
    text = "draw a new random order in each epoch" if not diff else "draw a new random order in each epoch instead of counting up"
    return mend(text, diff, "order = torch.randperm(len(y))  # at the start of each epoch\nx, y = x[order], y[order]", "consent")


def _shuffle(source: Source, place: Place | None) -> Edit | None:
    calls = [c for c in source.calls(line=place.line if place else None) if "Loader" in ast.unparse(c.func)]
    return source.giving(calls[0], "shuffle", "True") if calls else None


def _permute(source: Source, place: Place | None) -> Edit | None:
    """`torch.arange(n)` that makes the order of the batches around this line becomes `torch.randperm(n)`."""
    statement = source.statement(place.line if place else None)
    loops = source.loops(statement) if statement is not None else []
    calls = [c for loop in loops[:2] for c in source.calls("arange", within=loop) if ast.unparse(c.func) == "torch.arange" and len(c.args) == 1]
    distinct = {(c.lineno, c.col_offset): c for c in calls}
    return source.replacing(next(iter(distinct.values())).func, "torch.randperm") if len(distinct) == 1 else None
