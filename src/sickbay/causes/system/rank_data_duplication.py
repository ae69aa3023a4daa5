"""The data is not divided among the ranks as it should be.

## What happens

Ranks of data-parallel training are there to see different data. Without a `DistributedSampler` (or with one that is told the wrong rank), every rank goes through the same samples: in the same order they all
compute the same gradient, and the other machines add nothing; in different orders an epoch takes as long as on one machine. With a sampler of which `set_epoch` is never called, every epoch deals out the
same samples in the same order. With a different number of batches per rank, one rank waits for others that have gone on, and the run hangs, mixes epochs or dies.

## How we know

Each rank keeps keys (not samples) of a few rows of its first 64 training batches, and the smallest keys of its whole first epoch. After the run they are laid side by side: the same rows at the same place on two
ranks, batch after batch, are no chance. Of a `DistributedSampler` its settings are read, which epoch it was set to when each pass began, and the indices that the pass began with. Loaders tell how many batches they have.

## Looks like it but is not

- The few samples with which a `DistributedSampler` fills up its last round.
- Ranks that hold parts of one model (tensor, pipeline and sequence parallel) and must see the same data: they talk inside forward passes, or hold different tensors.
- Ensembles and sweeps: ranks that exchange nothing and have weights of their own.
- Evaluation of the same data on every rank: only training's batches are compared.
- Data sets of a few batches, full-batch training and fixed inputs.
- `set_epoch` where nothing is shuffled, or with one pass only; ranks with different numbers of batches inside `Join`.

## Fix

`sampler=DistributedSampler(dataset)` in the loader (and no `shuffle=True`), `sampler.set_epoch(epoch)` at the start of each epoch; for generated data a seed of its own on each rank. `drop_last=True` or `Join` for parts of
different size.

## References

- https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler ("calling the set_epoch() method at the beginning of each epoch is necessary").
- https://docs.pytorch.org/tutorials/advanced/generic_join.html (uneven inputs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import hint, located, proof, strong
from sickbay.causes.ranked import called
from sickbay.causes.registry import cause
from sickbay.facts import Loader, Rank, Ranks, SameRows
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.distributed import dealt_out, line_calling, told_of_epochs
from sickbay.script.fixing import mend
from sickbay.signs import Signs
from sickbay.signs.replicas import in_parts, one_model

BATCHES, DISTINCT = 8, 4
"""Batches that must be the same, and different ones among them: less is a data set of a few batches, or a fixed input."""
NEARLY_ALL = 0.9
"""Of the batches (or of the rows): a step that one rank left out shifts the order of its later ones."""
SAMPLES = 256
"""Of data sets that are worth dividing."""


@cause(
    code="S508",
    level="system",
    title="the data is dealt out to the ranks wrongly",
    why="Ranks that see the same samples add nothing but cost, and an order that never changes teaches the same batches again and again.",
    explains={"repeated-batches"},
    cure=None,
)
def rank_data_duplication(record: Record, signs: Signs) -> Iterator[Evidence]:
    ranks = record.facts.ranks
    if ranks is None or in_parts(ranks):
        return
    found = [*_same(record, ranks), *_wrong_part(ranks), *_uneven(record, ranks)]
    yield from found or [*_same_epochs(record, ranks), *_whole_passes(record, ranks)]


def _same(record: Record, ranks: Ranks) -> Iterator[Evidence]:
    """Ranks that were given the same rows at the same time."""
    rows = ranks.rows
    if rows is None or rows.same < max(BATCHES, NEARLY_ALL * rows.batches) or rows.distinct < DISTINCT:
        return
    if not _replicas(ranks, rows) or not (one_model(ranks) or _copies(ranks)):
        return
    loader = _loader(record)
    group = sorted({r for pair in rows.pairs for r in pair})
    yield proof(
        f"{called(group)} were given the same rows in {rows.same} of the first {rows.batches} training batches ({rows.distinct} different ones), each at the same step",
        loader.built_at if loader is not None else line_calling(record, "manual_seed", of="torch") or _forward(record),
        batches=rows.same,
    )
    shard = _seen(ranks).shard
    if loader is not None and shard is None:
        order = "reads in sequence" if loader.sequential else f"has a {loader.sampler}" if loader.sampler else "divides nothing"
        yield hint(f"the loader{located(loader.built_at)} {order}, and no DistributedSampler")
    if _copies(ranks):
        yield hint("the ranks exchange nothing and their weights are equal at every look: each of them does the same work")


def _replicas(ranks: Ranks, rows: SameRows) -> bool:
    """Both ranks of a pair are copies of one model, not parts of another copy each."""
    groups = {f.rank: f.replicas for f in ranks.facts}
    models = {f.rank: f.model for f in ranks.facts}
    return all((not groups.get(a) or b in groups[a]) and models.get(a) == models.get(b) for a, b in rows.pairs)


def _copies(ranks: Ranks) -> bool:
    """Nothing is exchanged, and still all are equal: the same program, several times."""
    quiet = not any(f.wrapper or f.collectives for f in ranks.facts)
    return quiet and ranks.weights is not None and not ranks.weights.differ and len(ranks.weights.steps) > 2


def _wrong_part(ranks: Ranks) -> Iterator[Evidence]:
    """Samplers that do not fit together."""
    shards = [(f.rank, f.shard) for f in ranks.facts if f.shard is not None]
    if len(shards) < 2 or len(shards) != len(ranks.facts) or any(f.replicas for f in ranks.facts):
        return
    seeds = sorted({s.seed for _, s in shards})
    place = shards[0][1].place
    if len(seeds) > 1 and any(s.shuffle for _, s in shards):
        yield proof(
            f"each rank's {shards[0][1].kind} shuffles with a seed of its own ({', '.join(map(str, seeds[:4]))}): their parts are cut from different orders, so that some samples are in "
            "several parts and others in none",
            place,
        )
    parts = {(s.replicas, s.rank) for _, s in shards}
    replicas = sorted({s.replicas for _, s in shards})
    if len(parts) < len(shards) and one_model(ranks):
        given = "; ".join(f"rank {r} takes part {s.rank} of {s.replicas}" for r, s in shards[:3])
        yield proof(f"the samplers do not divide the data into {ranks.world_size} parts: {given}", place)
    elif replicas != [ranks.world_size] and not ranks.missing_count and one_model(ranks):
        yield proof(
            f"the samplers divide the data into {replicas[-1]} parts, but there are {ranks.world_size} ranks: the parts of the others are never seen",
            place,
        )


def _uneven(record: Record, ranks: Ranks) -> Iterator[Evidence]:
    """Passes of different length under a wrapper that waits for every rank at every step."""
    known = [(s.rank, s.batches) for s in ranks.all if s.batches]
    lengths = sorted({n for _, n in known})
    waits = all(f.wrapper and not f.joins and f.through for f in ranks.facts)
    if len(known) != len(ranks.all) or len(lengths) < 2 or not waits or any(f.replicas for f in ranks.facts):
        return
    loader = _loader(record)
    fewest = [r for r, n in known if n == lengths[0]]
    most = [r for r, n in known if n == lengths[-1]]
    ended = next((s for s in ranks.all if s.crash and s.lost_contact), None)
    then = f"; rank {ended.rank} then stopped with {ended.crash}" if ended is not None else ""
    yield proof(
        f"an epoch has {lengths[0]} batches on {called(fewest)} and {lengths[-1]} on {called(most)}, and gradients are exchanged at every one of them: the longer ranks wait for batches that the others do not have{then}",
        loader.built_at if loader is not None else None,
    )


def _same_epochs(record: Record, ranks: Ranks) -> Iterator[Evidence]:
    """`set_epoch` is missing."""
    shards = [f.shard for f in ranks.facts if f.shard is not None]
    if not shards or not all(s.shuffle and len(s.epochs) > 1 and len(set(s.epochs)) == 1 for s in shards):
        return
    if any(len(set(s.orders)) > 1 for s in shards):  # somebody else changes the order
        return
    shard = shards[0]
    loop, _ = told_of_epochs(record, shard.place)
    seen = "with the same samples in the same order" if all(s.orders for s in shards) else "in the same order"
    yield proof(
        f"{len(shard.epochs)} passes through the {shard.kind} began {seen} on {called([f.rank for f in ranks.facts if f.shard is not None])}: it shuffles by the epoch that it is told, and set_epoch was not called between them",
        loop or shard.place,
        epochs=len(shard.epochs),
    )


def _whole_passes(record: Record, ranks: Ranks) -> Iterator[Evidence]:
    """Every rank goes through everything, in orders of their own."""
    rows, loader = ranks.rows, _loader(record)
    if rows is None or rows.overlap is None or rows.overlap < NEARLY_ALL or loader is None or any(f.shard for f in ranks.facts):
        return
    shuffled = loader.sampler == "RandomSampler" and not loader.stream and (loader.samples or 0) >= SAMPLES
    if shuffled and loader.epochs > 1 and one_model(ranks):
        yield strong(
            f"each of the {ranks.world_size} ranks went through all {loader.samples:,} samples in its first epoch ({100 * rows.overlap:.0f} % of them in common): the ranks do not share the work, "
            f"and one epoch is {ranks.world_size}",
            loader.built_at,
        )


def _loader(record: Record) -> Loader | None:
    ranks = record.facts.ranks
    index = _seen(ranks).loader if ranks is not None else None
    return next((x for x in record.facts.loaders if x.index == index), None)


def _seen(ranks: Ranks) -> Rank:
    return next((f for f in ranks.facts if f.rank == ranks.read), Rank())


def _forward(record: Record) -> Place | None:
    return record.facts.timeline.places.get("forward") or next((x.backward_at for x in record.facts.losses if x.backward_at is not None), None)


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    ranks, loader = record.facts.ranks, _loader(record)
    shard = _seen(ranks).shard if ranks is not None else None
    text = " ".join(e.text for e in evidence)
    if "set_epoch" in text and shard is not None:
        return mend("tell the sampler of each epoch before it begins", told_of_epochs(record, shard.place)[1], "sampler.set_epoch(epoch)")
    if "an epoch has" in text:
        return Fix("give every rank the same number of batches, or put the loop into Join", "sampler = DistributedSampler(dataset, drop_last=True)")
    if shard is not None:
        return Fix(
            "give all ranks the same seed, the number of ranks, and each its own rank",
            "sampler = DistributedSampler(dataset, num_replicas=world_size, rank=rank, seed=0)",
        )
    if loader is None:
        return Fix("give each rank random numbers (or a part of the data) of its own", "torch.manual_seed(seed + dist.get_rank())")
    if loader.stream:
        return Fix("let the data set take every n-th sample of its own", "samples = islice(stream, dist.get_rank(), None, dist.get_world_size())")
    diff = dealt_out(record, loader.built_at)
    return mend("deal the data out to the ranks", diff, "loader = DataLoader(dataset, sampler=DistributedSampler(dataset))", "consent")
