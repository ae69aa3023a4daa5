"""Training sees the same batch again and again while there are others.

## What happens

`next(iter(loader))` inside the loop starts the loader anew for every step: without shuffling that is its first batch, for ever. Or the workers of a loader
draw "random" samples from copies of one generator, so that all of them make the same ones. Or a seed that is set for each evaluation, so that it repeats
itself, also sets the draws of training back. The model memorises a handful of samples.

## How we know

Proof: batches by a fingerprint of their content. The loader has many batches and is started anew for each step, and one batch follows itself; or batches of a
shuffled loader with several workers come twice, which shuffling cannot do; or each batch comes once from every worker, though the sampler asked each of them for
other samples; or whole epochs come again, number for number and in order, though the sampler asked for other samples, or the data set draws and never looks at what it is asked for; or batches that are drawn by hand come again together with the state of the
random generator, which a line in a loop seeds anew.

## Looks like it but is not

- One batch on purpose (a loader of one batch, a batch that is taken once and kept): a test whether the model can memorise it.
- The same order in every epoch, of samples that their index names: `unshuffled-data`.
- Samples that are dealt out several times on purpose (oversampling, drawing with replacement, repeated augmentation): the same indices come again.
- A data set that is gone through several times in one epoch: its batches do not come once from each worker in turn.
- A set that is drawn once with a fixed seed and then kept.
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
from sickbay.script.draws import NUMPY, PYTHON
from sickbay.script.fixing import Source, called, mend, source_at, sources
from sickbay.signs import Signs

SEEN = 16
NEARLY_ALL = 0.8
SEEDING = ("manual_seed", "seed", "default_rng", "RandomState", "Random", "seed_everything", "set_seed")
MORE = 2
"""Times as many samples in evaluation as in training."""
OWN = frozenset({"integers", "standard_normal"})
"""What NumPy's newer generators draw besides."""
TWICE = 0.3
"""Share of known batches: a shuffled loader makes the same batch twice about never."""


OWN_PART = (
    "def __iter__(self):\n    info = torch.utils.data.get_worker_info()\n"
    "    yield from itertools.islice(self.samples(), info.id if info else 0, None, info.num_workers if info else 1)"
)


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
    made = next((e for x in record.facts.loaders if x.role == "train" and (e := _made_alike(record, x)) is not None), None)
    if made is not None:
        yield made
        return
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


def _made_alike(record: Record, loader: Loader) -> Evidence | None:
    """The samples of a batch do not depend on what was asked for: each worker makes the same ones, or each epoch."""
    told = loader.delivered
    if told is None or told.seen < SEEN:
        return None
    place = _own_generator(record, loader) or loader.built_at or loader.iterated_at
    again = f"; after {told.period} batches all of them come again" if told.period else ""
    asked = "" if loader.stream else ", though it was asked for other samples"
    if loader.workers > 1 and told.run == loader.workers:
        return proof(
            f"the {loader.workers} workers of the loader{located(loader.built_at or loader.iterated_at)} make the same samples: each batch is followed by the same one, number for number, until each worker "
            f"has given it{asked}{again} ({told.distinct:,} different batches among the first {told.seen:,})",
            place,
            seen=told.seen,
            distinct=told.distinct,
        )
    moved = told.moved >= NEARLY_ALL * (told.seen - told.period)
    if told.period and (moved or _draws_unasked(record, loader)):
        why = "though the sampler asked for other samples" if moved else "and the data set draws them without looking at which were asked for"
        return proof(
            f"the batches of the loader{located(loader.built_at or loader.iterated_at)} come again after {told.period}, in order and number for number, {why}: "
            f"its generator is back where it began ({told.distinct:,} different batches among the first {told.seen:,})",
            place,
            seen=told.seen,
            distinct=told.distinct,
        )
    return None


def _own_generator(record: Record, loader: Loader) -> Place | None:
    """The line on which the data set's class makes a generator, if there is just one."""
    source, made = _class_of(record, loader)
    calls = source.calls("default_rng", "RandomState", "Random", "Generator", within=made) if source is not None and made is not None else []
    return source.place(calls[0].lineno) if source is not None and len(calls) == 1 else None


def _class_of(record: Record, loader: Loader) -> tuple[Source | None, ast.ClassDef | None]:
    source = source_at(record, loader.item_at)
    known = source.defined.get(loader.dataset, []) if source is not None else []
    return source, next((c for c in known if isinstance(c, ast.ClassDef)), None)


def _draws_unasked(record: Record, loader: Loader) -> bool:
    """`__getitem__` draws, from a generator that the data set has, and never reads its index: nothing else could make one sample differ from another."""
    _, made = _class_of(record, loader)
    getter = next((f for f in made.body if isinstance(f, ast.FunctionDef) and f.name == "__getitem__"), None) if made is not None else None
    if made is None or getter is None or len(getter.args.args) != 2:
        return False
    index = getter.args.args[1].arg
    counts = any(isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Attribute) for n in ast.walk(made))  # it keeps a place of its own
    drawn = any(isinstance(n, ast.Call) and called(n) in PYTHON | NUMPY | OWN for n in ast.walk(getter))
    return drawn and not counts and not any(isinstance(n, ast.Name) and n.id == index for n in ast.walk(getter))


def _drawn_alike(loader: Loader) -> bool:
    return loader.workers > 1 and loader.sampler == "RandomSampler" and (loader.batch_size or 0) > 1


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    if any("workers" in e.text or "generator is back" in e.text for e in evidence):
        stream = next((x for x in record.facts.loaders if x.role == "train" and x.stream), None)
        if stream is not None:
            return mend("let each worker give its own part of the stream", "", OWN_PART)
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
