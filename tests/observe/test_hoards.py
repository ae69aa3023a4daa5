"""Containers that grow with the steps are found by name when memory has grown, and only then."""

from __future__ import annotations

from typing import Any

import pytest

from observe.watched import exact, watch_script
from sickbay.observe import hoards

START = """
from collections import deque
model = nn.Linear(64, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

def step():
    x = torch.randn(256, 64)
    loss = model(x).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return x, loss
"""


@pytest.fixture(autouse=True)
def growing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process says that it grows, each time it is asked; and it is asked at every look, however short these steps are."""
    monkeypatch.setattr(hoards, "OFTEN", 0.0)
    sizes = iter(range(0, 10**15, 2 * hoards.GROWN // 3))
    monkeypatch.setattr(hoards, "resident_bytes", lambda: next(sizes))


def found(tmp_path: Any, loop: str) -> list[Any]:
    return list(watch_script(START + loop, tmp_path, exact()).facts.hoards)


def test_a_list_that_takes_every_batch(tmp_path: Any) -> None:
    (hoard,) = found(tmp_path, "kept = []\nfor _ in range(120):\n    x, _ = step()\n    kept.append(x)\n")
    assert hoard.name == "kept"
    assert hoard.last > hoard.first
    assert hoard.bytes_each == pytest.approx(256 * 64 * 4)


def test_short_steps_are_not_each_asked_for_the_size_of_the_process(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hoards, "OFTEN", 3600.0)
    asked = watch_script(START + "for _ in range(40):\n    step()\n", tmp_path, exact()).record.series("memory/rss").steps
    assert list(asked) == list(range(hoards.SETTLED))


def test_an_attribute_of_an_object_that_nobody_near_holds(tmp_path: Any) -> None:
    loop = """
class Meter:
    def __init__(self):
        self.inputs = {}
class Trainer:
    def __init__(self):
        self.meter = Meter()
    def fit(self):
        for i in range(120):
            x, _ = step()
            self.meter.inputs[i] = (x, i)
Trainer().fit()
"""
    (hoard,) = found(tmp_path, loop)
    assert hoard.name.endswith("inputs")


@pytest.mark.parametrize(
    "loop",
    [
        "losses = []\nfor _ in range(120):\n    _, loss = step()\n    losses.append(loss.item())\n",
        "recent = deque(maxlen=10)\nfor _ in range(120):\n    x, _ = step()\n    recent.append(x)\n",
        "for _ in range(8):\n    outputs = []\n    for _ in range(10):\n        outputs.append(step()[0])\n",
        "cache = [torch.randn(10) for _ in range(50)]\nfor _ in range(120):\n    step()\n",
        "cache = {}\nfor i in range(120):\n    x, _ = step()\n    cache[min(i, 20)] = x\n",
        "data = torch.randn(256, 64)\nparts = []\nfor i in range(120):\n    step()\n    parts.append(data[i])\n",
    ],
    ids=["numbers", "bounded", "one epoch at a time", "does not grow", "filled at first", "parts of one tensor"],
)
def test_what_does_not_leak(tmp_path: Any, loop: str) -> None:
    assert all(hoard.bytes_each * hoard.last < 2**20 for hoard in found(tmp_path, loop))


def test_nothing_is_looked_through_while_memory_stays(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hoards, "resident_bytes", lambda: 10**9)
    monkeypatch.setattr(hoards.HoardWatch, "_look", lambda *_: pytest.fail("looked"))
    assert found(tmp_path, "kept = []\nfor _ in range(40):\n    kept.append(step()[0])\n") == []


def test_a_list_for_each_layer_in_a_dict_of_an_object(tmp_path: Any) -> None:
    loop = """
class Monitor:
    def __init__(self, model):
        self.outputs = {"head": []}
        model.register_forward_hook(lambda module, inputs, output: self.outputs["head"].append(inputs[0].detach()))
def main():
    monitor = Monitor(model)
    for _ in range(120):
        step()
main()
"""
    (hoard,) = found(tmp_path, loop)
    assert hoard.name == "monitor.outputs"


def test_a_list_for_each_of_several_layers(tmp_path: Any) -> None:
    """Each of them holds a third of what the loop keeps; a fourth holds what one of them has already."""
    loop = """
records = {name: [] for name in ("a", "b", "c", "again")}
def main():
    for _ in range(120):
        x = step()[0]
        for kept in records.values():
            kept.append(x.clone())
        records["again"][-1] = records["a"][-1]
main()
"""
    (hoard,) = found(tmp_path, loop)
    assert (hoard.name, hoard.alike) == ("records", 2)
    assert hoard.bytes_each == pytest.approx(3 * 256 * 64 * 4)


def test_lists_that_grow_at_a_pace_of_their_own_are_not_counted_together(tmp_path: Any) -> None:
    loop = "kept, seldom = [], []\nfor i in range(120):\n    x, _ = step()\n    kept.append(x)\n    seldom += [x.clone()] if i % 3 else []\n"
    assert [h.alike for h in found(tmp_path, loop)] == [0]


def test_a_function_that_caches_by_tensors(tmp_path: Any) -> None:
    loop = """
import functools
@functools.lru_cache(maxsize=None)
def doubled(x):
    return 2 * x
def main():
    for _ in range(120):
        doubled(step()[0])
main()
"""
    (hoard,) = found(tmp_path, loop)
    assert (hoard.name, hoard.kind, hoard.hits) == ("doubled", "cache", 0)
    assert hoard.count > 8
    assert hoard.bytes_each == pytest.approx(2 * 256 * 64 * 4)  # what it was asked and what it answered


def test_hooks_that_are_registered_again_and_again(tmp_path: Any) -> None:
    loop = """
def validate():
    maps = []
    model.register_forward_hook(lambda module, inputs, output: maps.append(inputs[0]))
for _ in range(6):
    validate()
    for _ in range(20):
        step()
"""
    hoard, *_ = found(tmp_path, loop)
    assert (hoard.name, hoard.kind) == ("maps", "hook")
    assert hoard.count >= 2
    assert hoard.place is not None


def test_a_tensor_that_is_glued_to(tmp_path: Any) -> None:
    loop = """
def main():
    features = torch.zeros(0, 64)
    for _ in range(120):
        features = torch.cat([features, step()[0]])
main()
"""
    (hoard,) = found(tmp_path, loop)
    assert (hoard.name, hoard.kind) == ("features", "rows")
    assert hoard.bytes_each == pytest.approx(64 * 4)


@pytest.mark.parametrize(
    "loop",
    [
        """
from collections import namedtuple
Transition = namedtuple("Transition", "state reward")
memory = []
for _ in range(120):
    memory.append(Transition(step()[0], 1.0))
""",
        """
from collections import defaultdict
memory = defaultdict(list)
for _ in range(120):
    memory["train"].append(step()[0])
""",
        """
class Result:
    def __init__(self, x):
        self.x = x
memory = []
for _ in range(120):
    memory.append(Result(step()[0]))
""",
        """
def remember(x, memory=[]):
    memory.append(x)
for _ in range(120):
    remember(step()[0])
""",
    ],
    ids=["named tuples", "a list in a defaultdict", "objects", "a default that is changed"],
)
def test_what_it_is_kept_in(tmp_path: Any, loop: str) -> None:
    hoard, *_ = found(tmp_path, loop)
    assert hoard.name == "memory"
    assert hoard.bytes_each == pytest.approx(256 * 64 * 4, rel=0.05)
