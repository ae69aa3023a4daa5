"""amp-misuse, retained-graph and optimizer-rebuilt."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from causes.scripts import added, at, loop_facts
from sickbay.facts import Clipping, Crash, Evaluation, FirstInvalid, Fragile, Kept, Loss, NonfiniteBatch, Precision, Rebuilt, Run
from sickbay.nouns import Place
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record

MIXED = """\
scaler = torch.amp.GradScaler("cuda")
model = Net().to(torch.bfloat16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""


def mixed(losses: Any = None, crash: Crash | None = None, nonfinite: Any = (), **given: Any) -> Record:
    facts = {
        "autocast": "float16",
        "autocast_at": at("autocast", MIXED),
        "looks": 12,
        "first_scale": 65536.0,
        "plain_at": at(".backward()", MIXED),
    } | given
    clip = at("clip_grad", MIXED)
    return make_record(
        series={"loss/train": falling(2.3, 0.3, 100) if losses is None else losses},
        precision=Precision(**facts),
        clippings=[Clipping(place=clip, limit=1.0, kind="norm")],
        crash=crash,
        nonfinite=nonfinite,
        **loop_facts(MIXED, stepped_at=at("scaler.step", MIXED)),
    )


SCALED = {"scaler": True, "scaled_backwards": 100, "scaler_steps": 100, "last_scale": 65536.0}
FLAT = np.full(100, 2.3) + np.random.default_rng(0).normal(0, 0.01, 100)


HALF = FirstInvalid(
    step=40, origin="operation", op="log", place=at("criterion", MIXED), call="criterion(model(x), y)", dtype="float16", fits_single=False
)


def overflowed(first: FirstInvalid, *fragile: Fragile) -> Record:
    losses = falling(2.3, 0.3, 100)
    losses[first.step :] = np.nan
    return make_record(
        series={"loss/train": losses}, precision=Precision(autocast="bfloat16"), losses=[Loss(index=0, invalid=(first,), fragile=fragile)]
    )


class TestAmpMisuse(CauseTestCase):
    cause = "amp-misuse"

    def sick(self) -> Iterable[Record]:
        yield mixed(**SCALED, clips_scaled=100, clip_at=at("clip_grad", MIXED))
        yield mixed(scaler=True, scaled_backwards=100, raw_steps=100)
        yield mixed(scaler=True, plain_backwards=100, scaler_steps=100)
        yield mixed(**SCALED, plain_backwards=100, mixed_steps=9, mixed_at=at("backward()", MIXED))
        yield mixed(**SCALED | {"last_scale": 1e-9}, skipped=90, skipped_late=45)
        yield mixed(zero_share=0.9, tiny_share=1.0)
        yield overflowed(replace(HALF, fits_single=True))
        yield overflowed(HALF, Fragile(op="log", place=HALF.place, guarded=True))
        yield mixed(autocast="", weights="bfloat16", lost_share=0.97)
        yield mixed([2.3, *[np.nan] * 99], autocast="", weights="float16", epsilon=1e-8)
        yield mixed(crash=Crash(kind="RuntimeError", message="step() has already been called since the last update()."))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "the formula itself is at fault, in any precision", overflowed(HALF)
        yield "the same in float32", overflowed(replace(HALF, dtype="float32"), Fragile(op="log", place=HALF.place, guarded=True))
        yield "in good order", mixed(**SCALED)
        yield "bfloat16 autocast", mixed(autocast="bfloat16", plain_backwards=100)
        yield "float16 with gradients that are large enough", mixed(zero_share=0.1, tiny_share=0.2)
        yield "too few looks to tell", mixed(zero_share=0.3, tiny_share=0.4, looks=5, coarse=("spectrum.4.weight",))
        yield "zeros of dead units", mixed(zero_share=0.7, tiny_share=0.1)
        yield "a few skips at the start", mixed(**SCALED, skipped=4)
        yield "skips because of the data", mixed(**SCALED, skipped=90, skipped_late=45, nonfinite=[NonfiniteBatch(role="input")])
        yield "a scale of one", mixed(scaler=True, scaled_backwards=100, raw_steps=100, first_scale=1.0)
        yield "bfloat16 weights that move", mixed(autocast="", weights="bfloat16", lost_share=0.3)
        yield "full precision", make_record(series={"loss/train": falling(2.3, 0.3)}, **loop_facts())


def test_a_branch_that_float16_leaves_nothing_of_is_likely() -> None:
    found = assert_suspects(mixed(zero_share=0.3, tiny_share=0.4, looks=12, coarse=("spectrum.4.weight",)), "amp-misuse", "likely")
    assert "spectrum.4.weight" in found.evidence[0].text


def test_where_the_weights_are_cast() -> None:
    suspicion = assert_suspects(mixed(autocast="", weights="bfloat16", lost_share=0.97), "amp-misuse")
    assert suspicion.place == at("model = Net()", MIXED)


def test_half_of_the_updates_lost_needs_a_loss_that_stands() -> None:
    assert_suspects(mixed(FLAT, autocast="", weights="bfloat16", lost_share=0.7), "amp-misuse", "likely")


def test_the_fix_unscales_first() -> None:
    suspicion = assert_suspects(mixed(**SCALED, clips_scaled=100, clip_at=at("clip_grad", MIXED)), "amp-misuse")
    assert added(suspicion.fix.diff) == ["    scaler.unscale_(optimizer)"]


KEEPING = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def train_step(x, y):
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    return loss
for x, y in loader:
    loss = train_step(x, y)
    losses.append(loss)
"""
SUMMING = """\
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    total += loss * len(x)
"""


def keeps(source: str = SUMMING, crash: Crash | None = None, **given: Any) -> Record:
    kept = [Kept(**{"marked": 100, "backwards": 100} | given)]
    facts = loop_facts(source)
    facts["losses"] = [type(facts["losses"][0])(index=0, backward_at=at(".backward()", source), variable="loss", optimizers=(0,), backwards=100)]
    return make_record(series={"loss/train": falling(2.3, 0.3, 100)}, kept=kept, crash=crash, **facts)


class TestRetainedGraph(CauseTestCase):
    cause = "retained-graph"

    def sick(self) -> Iterable[Record]:
        yield keeps(alive=98, oldest=99)
        yield keeps(KEEPING, alive=40, oldest=40)
        yield keeps(alive=10, oldest=10)  # the sum of a short epoch
        yield keeps(retain=100, graph_first=30, graph_last=900, graph_counts=20, graph_growths=19)
        yield keeps(crash=Crash(kind="RuntimeError", message="Trying to backward through the graph a second time (or directly access...)"))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "nothing kept", keeps()
        yield "the newest few", keeps(alive=3, oldest=3)
        yield "a short list, emptied each epoch", keeps(KEEPING, alive=10, oldest=10)
        yield "the best hundred of a long run", keeps(alive=100, marked=5000)
        yield "retained within the step", keeps(retain=100, graph_first=30, graph_last=30, graph_counts=20)
        yield "graphs of varying length", keeps(retain=100, graph_first=30, graph_last=70, graph_counts=20, graph_growths=8)


def test_the_line_that_keeps_it() -> None:
    suspicion = assert_suspects(keeps(alive=98, oldest=99), "retained-graph")
    assert suspicion.place is not None and suspicion.place.line == at("total +=", SUMMING).line
    assert added(suspicion.fix.diff) == ["    total += (loss * len(x)).item()"]


def test_the_line_that_keeps_what_a_function_gives_back() -> None:
    suspicion = assert_suspects(keeps(KEEPING, alive=98, oldest=99), "retained-graph")
    assert added(suspicion.fix.diff) == ["    losses.append(loss.item())"]


SHOWN = """\
def terms(x):
    rec = F.mse_loss(model(x), x)
    return rec, rec ** 2
class Curves:
    def add(self, rec, other):
        self.rec.append(rec)
for x in loader:
    rec, other = terms(x)
    rec.backward()
    optimizer.step()
    curves.add(*terms(held_out))
"""


def test_the_line_that_keeps_what_an_evaluation_gives_back() -> None:
    suspicion = assert_suspects(keeps(SHOWN, alive=98, oldest=99, called_at=at("rec = F.mse", SHOWN)), "retained-graph")
    assert suspicion.place == at("curves.add(*", SHOWN)
    assert suspicion.fix.diff == "with torch.no_grad():\n    curves.add(*terms(held_out))"


LOGGED = """\
for x, y in loader:
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    history.log(loss=loss.item(), entropy=entropy(logits))
"""


def test_what_is_made_of_predictions_is_kept_while_memory_grows() -> None:
    """A graph that backward has been through weighs little; memory tells that this one was not."""
    record = keeps(LOGGED, alive=98, oldest=99, called_at=at("logits = model", LOGGED), output=True)
    assert_silent(record, "retained-graph")
    looks = np.array([16, 32, 64, 128, 256, 512])
    memory = make_record(series={"memory/rss": (looks, 2**20 * (300.0 + looks))}, steps=600)
    growing = replace(record, all_series=record.all_series | memory.all_series, facts=replace(record.facts, run=memory.facts.run))
    suspicion = assert_suspects(growing, "retained-graph", "proven")
    assert suspicion.place == at("history.log", LOGGED)
    assert added(suspicion.fix.diff) == ["    history.log(loss=loss.item(), entropy=entropy(logits).item())"]


REBUILDING = """\
for epoch in range(10):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


def rebuilds(epochs: int = 10, **given: Any) -> Record:
    facts = {"built_at": at("SGD(", REBUILDING), "kind": "SGD", "stateful": True, "times": 8, "steps": 40.0} | given
    state = Run(script="train.py", steps=400, backwards=400, epochs=epochs, exit=0, finished=True)
    return make_record(series={"loss/train": falling(2.3, 0.3, 400)}, run=state, rebuilt=[Rebuilt(**facts)], **loop_facts(REBUILDING))


class TestOptimizerRebuilt(CauseTestCase):
    cause = "optimizer-rebuilt"

    def sick(self) -> Iterable[Record]:
        yield rebuilds()
        yield rebuilds(epochs=0, steps=1.0, times=398)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "plain SGD", rebuilds(stateful=False)
        yield "twice", rebuilds(times=2)
        yield "none", make_record(series={"loss/train": falling(2.3, 0.3)}, **loop_facts())


def test_one_per_task_or_with_a_new_rate_is_only_possible() -> None:
    assert_suspects(rebuilds(epochs=50, times=4, steps=200.0), "optimizer-rebuilt", "possible")
    assert_suspects(rebuilds(rate_changed=8), "optimizer-rebuilt", "possible")


def test_epochs_that_only_evaluations_tell() -> None:
    evaluated = with_facts(rebuilds(epochs=0, times=10, steps=40.0), evaluations=(Evaluation(index=0, passes=12),))
    assert_suspects(evaluated, "optimizer-rebuilt", "likely")


def test_the_fix_makes_it_before_the_loop() -> None:
    suspicion = assert_suspects(rebuilds(), "optimizer-rebuilt")
    assert added(suspicion.fix.diff) == ["optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)"]


def test_a_function_that_makes_it_anew_is_named() -> None:
    source = "def step(x, y):\n    opt = torch.optim.Adam(model.parameters(), lr=0.1)\n    opt.step()\nfor x, y in loader:\n    step(x, y)\n"
    fix = assert_suspects(replace(rebuilds(built_at=Place("train.py", 2)), sources={"train.py": source}), "optimizer-rebuilt").fix
    assert "before the loop that calls step()" in fix.text and fix.diff == "opt = torch.optim.Adam(model.parameters(), lr=0.1)  # once"
