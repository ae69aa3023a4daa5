"""checkpoint-not-loaded."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from causes.scripts import added
from sickbay.facts import CheckpointRead, StateLoad
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record, place_in

SOURCE = """\
state = torch.load("a.pt")
model.load_state_dict(state, strict=False)
model.apply(init_weights)
"""


def load(**given: Any) -> StateLoad:
    defaults: dict[str, Any] = {"module": "Net", "trained": True, "own": 20, "given": 20, "matched": 20, "own_values": 9000, "matched_values": 9000}
    return StateLoad(**defaults | {"changed": True, "weights": 10, "kept": 10, "place": place_in(SOURCE, "load_state_dict")} | given)


def read(**given: Any) -> CheckpointRead:
    defaults: dict[str, Any] = {"file": "a.pt", "tensors": 10, "fitting": 10, "weights": 10, "present": 0, "drawn": 10}
    return CheckpointRead(**defaults | {"place": place_in(SOURCE, "torch.load")} | given)


def run(loads: Iterable[StateLoad] = (), reads: Iterable[CheckpointRead] = ()) -> Record:
    return make_record(series={"loss/train": falling(2.3, 0.5)}, state_loads=list(loads), checkpoints=list(reads), sources={"train.py": SOURCE})


NOTHING = {"matched": 0, "matched_values": 0, "changed": False, "strict": False}


class TestCheckpointNotLoaded(CauseTestCase):
    cause = "checkpoint-not-loaded"

    def sick(self) -> Iterable[Record]:
        yield run([load(**NOTHING)], [read()])
        yield run([load(**NOTHING)])
        yield run([load(**NOTHING | {"given": 0})])
        yield run([load(matched=1, matched_values=10, strict=False)])
        yield run([load(kept=0, redrawn=10)], [read()])
        yield run([load(changed=False)], [read()])
        yield run([load(trained=False)], [read()])
        yield run([], [read()])

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "a plain load", run([load()], [read(present=10)])
        yield "a new head", run([load(given=18, matched=18, matched_values=8500, kept=9)], [read(present=9)])
        yield "a backbone in a larger model", run([load(own=200, own_values=900_000)], [read(present=10, weights=100)])
        yield "one tower of a large file", run([load(given=400)], [read(tensors=200, present=10)])
        yield "a teacher's file", run([load(trained=False, called=True)], [read(used_elsewhere=True)])
        yield "a data set", run([], [read(fitting=1)])
        yield "an average of files: values are nobody's, but not random either", run([load()], [read(drawn=0)])
        yield "only the head was drawn again", run([load(kept=9, redrawn=1)], [read(present=9)])
        yield "a model that is not trained", run([load(**NOTHING | {"trained": False})])


def test_half_a_match_is_likely() -> None:
    assert_suspects(run([load(matched=6, matched_values=3000, strict=False)]), "checkpoint-not-loaded", "likely")


def test_the_prefix_is_named() -> None:
    names = {"missing": ("conv.weight",), "unexpected": ("module.conv.weight",)}
    suspicion = assert_suspects(run([load(**NOTHING | names)]), "checkpoint-not-loaded", "proven")
    assert 'k.removeprefix("module.")' in suspicion.fix.diff
    assert suspicion.place == place_in(SOURCE, "load_state_dict")
    names = {"missing": ("backbone.conv.weight",), "unexpected": ("conv.weight",)}
    assert '"backbone." + k' in assert_suspects(run([load(**NOTHING | names)]), "checkpoint-not-loaded").fix.diff


COPY = """\
def restore(model, path):
    model = copy.deepcopy(model)
    model.load_state_dict(torch.load(path))
    return model

restore(net, "a.pt")
"""


def test_a_model_that_is_given_back_and_not_kept() -> None:
    at = place_in(COPY, "load_state_dict")
    record = replace(run([load(trained=False, place=at)], [read(place=at)]), sources={"train.py": COPY})
    s = assert_suspects(record, "checkpoint-not-loaded")
    assert s.place is not None and s.place.line == 6 and "train.py:6 gives back is not kept" in s.evidence[0].text
    assert added(s.fix.diff) == ['net = restore(net, "a.pt")']
    kept = replace(record, sources={"train.py": COPY.replace("restore(net", "other = restore(net")})
    assert assert_suspects(kept, "checkpoint-not-loaded").place == at
