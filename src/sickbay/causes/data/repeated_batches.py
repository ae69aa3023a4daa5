"""Training sees the same batch again and again while there are others.

## What happens

`next(iter(loader))` inside the loop starts the loader anew for every step: without shuffling that is its first batch, for ever. Or the workers of a loader
draw "random" samples from copies of one generator, so that all of them make the same ones. Or a seed that is set for each evaluation, so that it repeats
itself, also sets the draws of training back. The model memorises a handful of samples.

## How we know

Proof: batches by a fingerprint of their content. The loader has many batches and is started anew for each step, and one batch follows itself; or batches of a
shuffled loader with several workers come twice, which shuffling cannot do; or batches that are drawn by hand come again together with the state of the
random generator, which a line in a loop seeds anew.

## Looks like it but is not

- One batch on purpose (a loader of one batch, a batch that is taken once and kept): a test whether the model can memorise it.
- The same order in every epoch: `unshuffled-data`.
- A seed for each epoch in front of a permutation: the same order again, but of all samples.

## Fix

`for x, y in loader:`; give each worker a generator of its own, seeded by `torch.initial_seed()` (`worker_init_fn`), or draw with torch.

## References

- https://docs.pytorch.org/docs/stable/data.html#randomness-in-multi-process-data-loading, https://github.com/pytorch/pytorch/issues/5059
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evaluated import evaluations, where
from sickbay.causes.evidence import first_place, located, proof, strong
from sickbay.causes.registry import cause
from sickbay.facts import Loader
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import mend, source_at, sources
from sickbay.signs import Signs

SEEN = 16
NEARLY_ALL = 0.8
SEEDING = ("manual_seed", "seed", "default_rng", "RandomState", "Random", "seed_everything", "set_seed")
MORE = 2
"""Times as many samples in evaluation as in training."""
TWICE = 0.3
"""Share of known batches: a shuffled loader makes the same batch twice about never."""


@cause(
    code="D109",
    level="data",
    title="the same batches come again and again",
    why="Most of the data is never seen: the model memorises a few samples and knows nothing of the others.",
    explains={
        "overfitting", "val-rising", "train-val-gap", "val-flat-from-start", "unshuffled-data", "chance-level", "class-imbalance", "flat-loss",
    },
    cure="re-iterate",
)  # fmt: skip
def repeated_batches(record: Record, signs: Signs) -> Iterator[Evidence]:
    batches, steps = record.facts.batches, record.facts.run.steps
    loader = next((x for x in record.facts.loaders if x.role == "train"), None)
    if loader is None:
        yield from _by_hand(record)
    if loader is None or batches.seen < SEEN or (loader.batches is not None and loader.batches < 2):
        return
    if loader.epochs >= NEARLY_ALL * steps and batches.in_a_row >= NEARLY_ALL * (batches.seen - 1):
        of = f" of {loader.batches:,}" if loader.batches else ""
        yield proof(
            f"the loader{located(loader.iterated_at)} is started anew for every step ({loader.epochs:,} times in {steps:,} steps) and gives its first batch{of} "
            f"each time: {batches.in_a_row + 1:,} of {batches.seen:,} batches were one and the same",
            loader.iterated_at,
            seen=batches.seen,
            distinct=batches.distinct,
        )
    elif _drawn_alike(loader) and batches.repeated >= TWICE * batches.seen:
        yield proof(
            f"{batches.repeated:,} of {batches.seen:,} batches of the shuffled loader{located(loader.iterated_at)} had come before, number for number: its "
            f"{loader.workers} workers make the same samples",
            loader.iterated_at,
            seen=batches.seen,
            distinct=batches.distinct,
        )


def _by_hand(record: Record) -> Iterator[Evidence]:
    """Batches that the script draws itself. All data at once is one batch, too; but nobody validates on far more samples than there are to train on."""
    batches, random = record.facts.batches, record.facts.randomness
    if batches.seen < SEEN:
        return
    anew = _seeded_anew(record)
    both = min(batches.repeated / batches.seen, random.again / max(random.seen, 1))
    if both >= NEARLY_ALL and anew is not None and not _goes_through_all(record):
        yield proof(
            f"{batches.repeated:,} of {batches.seen:,} training batches had come before, number for number, and so had the state of the random generator that they "
            f"are drawn from: it is seeded anew{located(anew)} again and again, and training knows no more than {batches.distinct:,} batches",
            anew,
            seen=batches.seen,
            distinct=batches.distinct,
        )
        return
    if batches.in_a_row < NEARLY_ALL * (batches.seen - 1):
        return
    for data in evaluations(record):
        if data.train_whole and data.train_distinct and data.distinct >= MORE * data.train_distinct:
            yield strong(
                f"{batches.in_a_row + 1:,} of {batches.seen:,} training batches were one and the same, number for number: training knows {data.train_distinct:,} samples, "
                f"while evaluation is given {data.distinct:,}{located(where(record, data))}",
                anew or record.facts.timeline.places.get("forward"),
                seen=batches.seen,
                distinct=batches.distinct,
            )
            return


def _goes_through_all(record: Record) -> bool:
    """The script puts its samples into an order: seeded anew, the same one in every epoch, but nothing is left out."""
    return any(source.calls("randperm", "permutation", "shuffle") for source in sources(record))


def _seeded_anew(record: Record) -> Place | None:
    """The only line that seeds a generator in a loop, or in a function that loops call."""
    found = []
    for source in sources(record):
        for call in (c for c in source.calls(*SEEDING) if c.args):
            name = getattr(source.function(call), "name", None)
            again = source.loops(call) or (name is not None and any(source.loops(c) for c in source.calls(name)))
            found += [source.place(call.lineno)] if again else []
    return found[0] if len(found) == 1 else None


def _drawn_alike(loader: Loader) -> bool:
    return loader.workers > 1 and loader.sampler == "RandomSampler" and (loader.batch_size or 0) > 1


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    if any("workers" in e.text for e in evidence):
        return mend(
            "give every worker a generator of its own, or draw random numbers with torch",
            "",
            "def own_generator(_):\n    torch.utils.data.get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed())\n\n"
            "loader = DataLoader(data, num_workers=4, worker_init_fn=own_generator)",
        )
    place = first_place(evidence)
    if not any(x.role == "train" for x in record.facts.loaders):
        text = "draw another batch in every step: seed generators once, before the loop, and draw inside it"
        return mend(
            text, "", "generator = torch.Generator().manual_seed(0)  # once\nindices = torch.randint(len(data), (batch_size,), generator=generator)"
        )
    batch, loader = _drawn(record, place)
    return mend(
        f"go through the loader{located(place)} once per epoch", "", f"for epoch in range(epochs):\n    for {batch} in {loader}:\n        ..."
    )


def _drawn(record: Record, place: Place | None) -> tuple[str, str]:
    """What the script calls a batch and its loader in `xb, yb = next(iter(train_loader))`."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    calls = source.calls("iter", within=statement) if source is not None and statement is not None else []
    if source is None or not isinstance(statement, ast.Assign) or len(calls) != 1 or not calls[0].args:
        return "x, y", "loader"
    return source.segment(statement.targets[0]), source.segment(calls[0].args[0])
