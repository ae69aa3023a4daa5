"""dead-relu and vanishing-gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from causes.scripts import added
from sickbay.causes.architecture import vanishing_gradient
from sickbay.facts import Layer, Loss, Model, Op, Optimizer
from sickbay.nouns import Place
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record, model_facts, place_in

FRAMES = np.arange(0, 300, 10)
LAYERS = tuple("abcdefgh")
SOURCE = "net = nn.Sequential(nn.Linear(8, 8), nn.Sigmoid(), nn.Linear(8, 8))\n"
FLAT = 2.3 + np.random.default_rng(0).normal(0, 0.05, 300)


def column(value: Any) -> tuple[np.ndarray, np.ndarray]:
    return FRAMES, np.broadcast_to(value, FRAMES.shape)


def units(dead: Any, losses: np.ndarray = FLAT, gradients: Any = 0.1, source: str = SOURCE) -> Record:
    families = {
        "activation_dead": {"relu1": column(dead), "relu2": column(0.2)},
        "grad_norm": {f"{x}.weight": column(g) for x, g in zip(LAYERS, np.broadcast_to(gradients, 8), strict=True)},
    }
    return make_record(series={"loss/train": losses}, families=families, sources={"train.py": source}, **model_facts(*LAYERS))


class TestDeadRelu(CauseTestCase):
    cause = "dead-relu"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield units(0.97)
        yield units(np.where(FRAMES < 50, 0.1, 0.7))
        yield units(1.0, losses=falling(10, 1, 300), gradients=np.where(np.arange(8) < 4, 0.0, 0.1))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "half of the elements are zero, no unit is dead", units(0.0)
        yield "some dead units in a net that learns", units(0.6, losses=falling(2.3, 0.1))
        yield "a dead side branch in a net that learns", units(0.99, losses=falling(2.3, 0.1))
        yield "some dead units in a net that is stuck for another reason", units(0.3)


def depths(sizes: np.ndarray, losses: np.ndarray = FLAT, activation: str = "sigmoid", **model: Any) -> Record:
    ops = tuple(Op(name=activation, place=place_in(SOURCE, "Sigmoid")) for _ in range(7))
    families = {"grad_norm": {f"{x}.weight": column(s) for x, s in zip(LAYERS, sizes, strict=True)}}
    return make_record(
        series={"loss/train": losses},
        families=families,
        losses=[Loss(index=0, activations=ops)],
        sources={"train.py": SOURCE},
        **model_facts(*LAYERS, **model),
    )


class TestVanishingGradient(CauseTestCase):
    cause = "vanishing-gradient"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield depths(np.geomspace(1e-7, 0.5, 8))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "an even profile", depths(np.full(8, 0.2))
        yield "the same profile in a run that learns", depths(np.geomspace(1e-7, 0.5, 8), losses=falling(2.3, 0.1))
        yield "everything small: converged", depths(np.full(8, 1e-9), losses=falling(2.3, 0.01))
        yield "exact zeros in front: dead or cut off", depths(np.array([0, 0, 0, 0, 0, 0, 0.1, 0.2]), activation="relu")
        yield "weights that start at zero (LoRA)", depths(np.geomspace(1e-7, 0.5, 8), initial_std=0.0)


def test_dead_before_the_first_update_is_told() -> None:
    suspicion = assert_suspects(units(0.97), "dead-relu")
    assert any("before the first update" in e.text for e in suspicion.evidence)
    assert suspicion.place is not None and suspicion.place.layer == "relu1"


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("nn.init.constant_(m.bias, -math.log(99))", True),
        ("m.bias.data.fill_(-4)", True),
        ("nn.init.constant_(m.bias, 0)", False),
        ("nn.init.constant_(m.weight, 1.0)", False),
    ],
)
def test_biases_of_the_scripts_own_are_pointed_at(line: str, found: bool) -> None:
    suspicion = assert_suspects(units(0.97, source=f"for m in net:\n    {line}\n"), "dead-relu")
    place = suspicion.place
    assert place is not None and place.layer == "relu1" and place.line == (2 if found else None)
    if found:
        assert [added_line.strip().rpartition("(")[2] for added_line in added(suspicion.fix.diff)] in (["m.bias, 0.0)"], ["0.0)"])


def test_a_rectifier_that_is_given_only_negative_values() -> None:
    source = "def encode(x):\n    return torch.relu((x - highest) @ W)\n"
    record = with_facts(units(0.97, source=source), losses=(Loss(index=0, activations=(Op(name="relu", place=Place("train.py", 2)),)),))
    place = assert_suspects(record, "dead-relu").place
    assert place is not None and (place.line, place.layer) == (2, "relu1")


def test_units_that_updates_killed_lead_to_the_learning_rate() -> None:
    source = "LR = 2.0\nnet = nn.Sequential(nn.Linear(8, 8), nn.ReLU())\noptimizer = torch.optim.SGD(net.parameters(), lr=LR)\n"
    record = units(np.where(FRAMES < 50, 0.1, 0.97), source=source)
    optimizer = Optimizer(index=0, kind="SGD", built_at=Place("train.py", 3), steps=300)
    suspicion = assert_suspects(with_facts(record, optimizers=(optimizer,)), "dead-relu")
    assert suspicion.place is not None and suspicion.place.line == 1
    assert added(suspicion.fix.diff) == ["LR = 0.2"]


def test_the_fix_replaces_the_sigmoid() -> None:
    diff = assert_suspects(depths(np.geomspace(1e-7, 0.5, 8)), "vanishing-gradient").fix.diff
    assert added(diff) == ["net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))"]


@pytest.mark.parametrize(("function", "line"), [("squash", 5), ("torch.tanh", None), ("nn.Tanh()", None)])
def test_a_squashing_function_of_the_scripts_own(function: str, line: int | None) -> None:
    source = (
        f"def squash(t):\n    return 1 / (1 + torch.exp(-t))\ndef forward(self, x):\n    for lin in self.hidden:\n        x = {function}(lin(x))\n"
    )
    found = vanishing_gradient._own_activation(make_record(sources={"train.py": source}), "hidden.0.weight")
    assert (found[1].lineno if found is not None else None) == line
    assert vanishing_gradient._own_activation(make_record(sources={"train.py": source}), "final.weight") is None


GATED = """\
class Block(nn.Module):
    def forward(self, x):
        return self.mix(torch.tanh(self.a(x)) * torch.sigmoid(self.b(x)))

class Net(nn.Module):
    def forward(self, h):
        for block in self.blocks:
            h = block(h)
        return self.out(h)
"""


def gated(source: str) -> Record:
    families = {"grad_norm": {f"{x}.weight": column(g) for x, g in zip(LAYERS, np.geomspace(1e-7, 0.5, 8), strict=True)}}
    ops = tuple(Op(name="tanh", place=Place("train.py", 3)) for _ in range(6))
    facts = {"losses": [Loss(index=0, activations=ops)], "sources": {"train.py": source}}
    return make_record(series={"loss/train": FLAT}, families=families, **facts, **model_facts(*LAYERS))


def test_gates_need_a_way_around_them() -> None:
    s = assert_suspects(gated(GATED), "vanishing-gradient")
    assert s.place is not None and s.place.text == "h = block(h)" and s.place.guess
    assert added(s.fix.diff) == ["            h = h + block(h)"]


@pytest.mark.parametrize("change", [("h = block(h)", "h = h + block(h)"), (" * torch.sigmoid(self.b(x))", "")])
def test_other_activations_are_named_themselves(change: tuple[str, str]) -> None:
    s = assert_suspects(gated(GATED.replace(*change)), "vanishing-gradient")
    assert s.place is not None and s.place.line == 3 and not s.place.guess


@pytest.mark.parametrize(("more", "line"), [("", 1), ("self.other = nn.RNN(8, 16)\n", None)])
def test_a_plain_recurrent_layer_is_named_where_it_is_made(more: str, line: int | None) -> None:
    model = Model(name="Net", layers=(Layer(name="rnn", kind="RNN"),))
    record = make_record(series={"loss/train": FLAT}, models=[model], sources={"train.py": "self.rnn = nn.RNN(8, 16)\n" + more})
    place = assert_suspects(record, "vanishing-gradient", "possible").place
    assert place is not None and (place.line, place.layer) == (line, "rnn")
