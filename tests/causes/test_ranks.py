"""The causes of distributed runs, on ranks made by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sickbay.conclude import diagnose
from sickbay.facts import Apart, Crash, Lag, Loader, Optimizer, Rank, Ranks, RankSummary, Run, SameRows, ShardSampler
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record

DDP = "DistributedDataParallel"
DRIFTED = Apart(
    steps=(0, 1, 2, 4, 8, 16), ranks=2, parameters=4, differ=(1, 2, 4, 8, 16), names=("a.weight", "a.bias"), count=4, last_count=4, gap=0.1, moved=0.2
)
NEVER = replace(DRIFTED, differ=(0, 1, 2, 4, 8, 16))
EQUAL = Apart(steps=(0, 1, 2, 4, 8, 16), ranks=2, parameters=4)
DEALT = ShardSampler(kind="DistributedSampler", replicas=2, shuffle=True, epochs=(0, 1, 2), orders=(5, 6, 7))
SOURCE = """\
model = Net()
optimizer = SGD(model.parameters(), lr=0.1)
loader = DataLoader(data, batch_size=8, shuffle=True)
for epoch in range(3):
    for x, y in loader:
        optimizer.step()
"""


def distributed(
    *, world: int = 2, each: dict[str, Any] | None = None, all_ranks: dict[str, Any] | None = None, loader: bool = False, **ranks: Any
) -> Record:
    """A run of ranks that are alike; `each` are fields of `Rank`, `all_ranks` of `RankSummary`, the rest of `Ranks`."""
    facts = tuple(Rank(rank=r, world_size=world, joined=True, model="m", loader=0 if loader else None, **(each or {})) for r in range(world))
    summaries = tuple(RankSummary(rank=r, steps=100, backwards=100, finished=True, **(all_ranks or {})) for r in range(world))
    known: dict[str, Any] = {"world_size": world, "facts": facts, "all": summaries} | ranks
    loaders = (
        [Loader(index=0, role="train", sampler="RandomSampler", samples=1000, batches=20, epochs=3, built_at=Place("train.py", 3))] if loader else []
    )
    return make_record(
        series={"loss/train": falling(2.0, 0.1, 100)},
        sources={"train.py": SOURCE},
        ranks=Ranks(**known),
        loaders=loaders,
        optimizers=[Optimizer(index=0, kind="SGD", steps=100, built_at=Place("train.py", 2), stepped_at=Place("train.py", 6))],
    )


def each_own(record: Record, **fields: tuple[Any, ...]) -> Record:
    """The same with a value of its own for each rank."""
    ranks = record.facts.ranks
    assert ranks is not None
    changed = tuple(replace(f, **{name: values[i] for name, values in fields.items()}) for i, f in enumerate(ranks.facts))
    return replace(record, facts=replace(record.facts, ranks=replace(ranks, facts=changed)))


class TestDesync(CauseTestCase):
    cause = "rank-desync"

    def sick(self) -> Iterable[Record]:
        wrapped = {"wrapper": DDP, "wrapped_at": Place("train.py", 1)}
        yield distributed(weights=DRIFTED, each=wrapped | {"past": 90, "past_at": Place("train.py", 5)})
        yield distributed(weights=DRIFTED, each=wrapped | {"through": 90, "unsynced": 90})
        yield distributed(weights=DRIFTED, each=wrapped | {"through": 90, "synced": 90})
        yield distributed(weights=DRIFTED, each={"shard": DEALT})
        yield distributed(weights=DRIFTED, each={"collectives": {"late gradients": 300}})
        yield distributed(weights=NEVER, each={"collectives": {"gradients": 300}})
        yield distributed(world=4, weights=replace(DRIFTED, ranks=4, others=(2,)), each={"collectives": {"gradients": 300}})

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        wrapped = {"wrapper": DDP, "through": 90, "synced": 90}
        yield "in step", distributed(weights=EQUAL, each=wrapped)
        yield "local SGD", distributed(weights=replace(DRIFTED, together_again=8), each={"shard": DEALT, "collectives": {"weights": 9}})
        yield "weights are exchanged while it trains, unseen when", distributed(weights=DRIFTED, each={"shard": DEALT, "collectives": {"weights": 9}})
        yield "tensor parallel", distributed(weights=NEVER, each={"collectives": {"forward": 200, "gradients": 10}})
        yield "an ensemble", distributed(weights=NEVER, each={"collectives": {"other": 1}})
        yield "one look", distributed(weights=replace(DRIFTED, differ=(16,)), each=wrapped)
        yield "another model on each rank", distributed(weights=None, each=wrapped)
        yield "a single process", make_record(series={"loss/train": falling(2.0, 0.1, 100)})


def test_the_missing_link_is_told_with_its_line() -> None:
    past = assert_suspects(distributed(weights=DRIFTED, each={"wrapper": DDP, "past": 90, "past_at": Place("train.py", 5)}), "rank-desync")
    assert past.place == Place("train.py", 5)
    assert "equal up to step 0 and differ at step 1" in past.evidence[0].text
    never = assert_suspects(distributed(weights=NEVER, each={"collectives": {"gradients": 300}}), "rank-desync")
    assert "before the first update" in never.evidence[0].text
    assert never.place is not None
    assert (never.place.line, never.place.guess) == (1, True)
    assert "+for p in model.parameters()" in never.fix.diff
    apart = assert_suspects(distributed(weights=DRIFTED, each={"shard": DEALT}), "rank-desync")
    assert "+model = torch.nn.parallel.DistributedDataParallel(model)" in apart.fix.diff


HANDED = """\
def objective(net, x):
    return net(x).mean()

model = DDP(Net())
inner = model.module
for x in loader:
    loss = objective(inner, x)
"""


def test_where_a_function_is_handed_the_model_inside_the_wrapper() -> None:
    each = {"wrapper": DDP, "past": 90, "past_at": Place("train.py", 2), "wrapped_at": Place("train.py", 4)}
    record = replace(distributed(weights=DRIFTED, each=each), sources={"train.py": HANDED})
    suspicion = assert_suspects(record, "rank-desync")
    assert suspicion.place is not None
    assert suspicion.place.line == 7
    assert "+    loss = objective(model, x)" in suspicion.fix.diff


def test_what_is_in_no_wrapper_is_likely_only() -> None:
    """A head of its own for each rank would look the same."""
    own = replace(DRIFTED, names=("loss.centres",), count=1, last_count=1)
    assert_suspects(distributed(weights=own, each={"wrapper": DDP, "through": 90, "unwrapped": ("loss.centres",)}), "rank-desync", "likely")


def test_a_rank_that_leaves_out_steps() -> None:
    record = distributed(weights=DRIFTED, each={"collectives": {"gradients": 300}})
    ranks = record.facts.ranks
    assert ranks is not None
    behind = (ranks.all[0], replace(ranks.all[1], steps=93))
    found = assert_suspects(replace(record, facts=replace(record.facts, ranks=replace(ranks, all=behind))), "rank-desync", "proven")
    assert "rank 1 made 93 updates, the others 100" in found.evidence[1].text


SAME = SameRows(batches=64, ranks=2, same=64, pairs=((0, 1),), distinct=60)


class TestDuplication(CauseTestCase):
    cause = "rank-data-duplication"

    def sick(self) -> Iterable[Record]:
        wrapped = {"wrapper": DDP, "through": 90}
        yield distributed(rows=SAME, each=wrapped, loader=True)
        yield distributed(rows=SAME, each={"collectives": {"gradients": 90}})
        yield distributed(rows=SAME, weights=EQUAL)
        yield distributed(each=wrapped | {"shard": replace(DEALT, epochs=(0, 0, 0), orders=(5, 5, 5))}, loader=True)
        yield each_own(distributed(each=wrapped, loader=True), shard=(DEALT, replace(DEALT, rank=1, seed=1)))
        yield each_own(distributed(each=wrapped, loader=True), shard=(DEALT, DEALT))
        yield self.uneven(wrapped)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        wrapped = {"wrapper": DDP, "through": 90}
        good = {"shard": (DEALT, replace(DEALT, rank=1))}
        yield "dealt out", each_own(distributed(rows=replace(SAME, same=1), each=wrapped, loader=True), **good)
        yield "tensor parallel", distributed(rows=SAME, each={"collectives": {"forward": 100}})
        yield "copies of parts: the wrapper keeps other ranks alike", each_own(distributed(rows=SAME, each=wrapped), replicas=((0, 2), (1, 3)))
        yield "an ensemble", distributed(rows=SAME, weights=NEVER, each={"collectives": {"other": 1}})
        yield "other models", each_own(distributed(rows=SAME, each=wrapped), model=("m", "n"))
        yield "a fixed input", distributed(rows=replace(SAME, distinct=1), each=wrapped)
        yield "a few batches", distributed(rows=replace(SAME, batches=5, same=5, distinct=5), each=wrapped)
        yield (
            "one epoch",
            each_own(distributed(each=wrapped), shard=(replace(DEALT, epochs=(0,), orders=(5,)), replace(DEALT, rank=1, epochs=(0,), orders=(5,)))),
        )
        still = replace(DEALT, shuffle=False, epochs=(0, 0), orders=(5, 5))
        yield "in sequence", each_own(distributed(each=wrapped), shard=(still, replace(still, rank=1)))
        yield "uneven inside Join", self.uneven(wrapped | {"joins": True})
        yield "uneven, and nobody waits", self.uneven({})
        yield "a stream of random windows, each rank its own", distributed(rows=replace(SAME, same=0, overlap=0.95), each=wrapped)

    @staticmethod
    def uneven(each: dict[str, Any]) -> Record:
        record = distributed(each=each, loader=True)
        ranks = record.facts.ranks
        assert ranks is not None
        lengths = (replace(ranks.all[0], batches=20), replace(ranks.all[1], batches=18))
        return replace(record, facts=replace(record.facts, ranks=replace(ranks, all=lengths)))


def test_everything_on_every_rank_in_orders_of_their_own_is_likely() -> None:
    record = distributed(rows=replace(SAME, same=0, overlap=1.0), each={"wrapper": DDP, "through": 90}, loader=True)
    found = assert_suspects(record, "rank-data-duplication", "likely")
    assert "DistributedSampler(data)" in found.fix.diff
    assert "shuffle=True" not in "".join(line for line in found.fix.diff.splitlines() if line.startswith("+"))


def test_set_epoch_is_put_into_the_loop_over_epochs() -> None:
    shard = replace(DEALT, epochs=(0, 0, 0), orders=(5, 5, 5), place=Place("train.py", 5))
    found = assert_suspects(each_own(distributed(each={"wrapper": DDP}), shard=(shard, replace(shard, rank=1))), "rank-data-duplication", "proven")
    assert found.place is not None
    assert found.place.line == 4
    assert "+    loader.sampler.set_epoch(epoch)" in found.fix.diff


LAG = Lag(rank=1, part="loading", own=0.06, others=0.004, excess=0.056, step=0.1, usual=0.055, alike=True, always=0.99, steps=200, seconds=11.0)


class TestStraggler(CauseTestCase):
    cause = "rank-straggler"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield self.lagging(LAG)
        yield self.lagging(replace(LAG, part="forward"))
        yield self.lagging(replace(LAG, part="rest", usual=0.0))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "ranks take turns", self.lagging(replace(LAG, always=0.55))
        yield "a bit more on one", self.lagging(replace(LAG, excess=0.012))
        yield "now and then, and not much", self.lagging(replace(LAG, excess=0.03, usual=0.0))
        yield "nobody waits", self.lagging(replace(LAG, alike=False))
        yield "short steps", self.lagging(replace(LAG, excess=0.003, step=0.004))
        yield "a short run", self.lagging(replace(LAG, seconds=0.4))
        yield "the others compute as long in their backward pass", self.lagging(LAG, waiting=(0.04, 0.04))
        yield "other models", each_own(self.lagging(LAG), model=("m", "n"))

    @staticmethod
    def lagging(lag: Lag, waiting: tuple[float, float] = (0.09, 0.03)) -> Record:
        record = distributed(lag=lag, each={"wrapper": DDP, "through": 90})
        ranks = record.facts.ranks
        assert ranks is not None
        timed = tuple(replace(s, waiting=waiting[s.rank]) for s in ranks.all)
        return replace(record, facts=replace(record.facts, ranks=replace(ranks, all=timed)))


def test_a_lost_rank_is_no_healthy_run() -> None:
    run = Run(script="train.py", steps=40, backwards=40, forwards=40, exit=1, finished=True)
    summaries = (RankSummary(rank=0, steps=41, finished=True, crash="RuntimeError", lost_contact=True), RankSummary(rank=1, steps=40))
    record = make_record(
        series={"loss/train": falling(2.0, 0.1, 40)},
        run=run,
        ranks=Ranks(world_size=2, all=summaries, facts=(Rank(rank=0), Rank(rank=1))),
        optimizers=[Optimizer(index=0, steps=40)],
        crash=Crash(kind="RuntimeError", message="Connection closed by peer", step=41),
    )
    diagnosis = diagnose(record)
    assert diagnosis.verdict == "undecided"
    assert "rank 1 was ended from outside, or died, after 40 steps, and the others lost contact" in diagnosis.reason


def test_ranks_that_ended_well_change_nothing() -> None:
    record = distributed(weights=EQUAL, each={"wrapper": DDP, "through": 90, "synced": 90})
    assert diagnose(record).verdict == "healthy"
    for cause in ("rank-desync", "rank-data-duplication", "rank-straggler"):
        assert_silent(record, cause)
