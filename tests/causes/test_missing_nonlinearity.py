"""missing-nonlinearity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from causes.scripts import added
from sickbay.facts import LinearMap, Loss
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record, place_in

STEPS = 300
FLAT = 0.69 + np.random.default_rng(0).normal(0, 0.01, STEPS)
SOURCE = """\
class Net(nn.Module):
    def forward(self, x):
        x = self.first(x)
        return self.second(x)
"""


def link(name: str, follows: str = "", inputs: int = 32, outputs: int = 32, **given: Any) -> LinearMap:
    """A map; `follows` names the one that feeds it straight ("" for the first, "~" when the values are bent)."""
    straight = (follows,) if follows.strip("~") else ()
    defaults: dict[str, Any] = {"op": "linear", "inputs": inputs, "outputs": outputs, "follows": straight, "after_map": bool(follows)}
    return LinearMap(parameter=name, **defaults | given)


def run(*maps: LinearMap, losses: np.ndarray = FLAT, source: str = SOURCE) -> Record:
    return make_record(series={"loss/train": losses}, losses=[Loss(index=0, linear_maps=maps)], sources={"train.py": source})


BENT = {"followed_by": ("relu",)}


class TestMissingNonlinearity(CauseTestCase):
    cause = "missing-nonlinearity"

    def sick(self) -> Iterable[Record]:
        yield run(link("a"), link("b", "a"), link("c", "b"))
        yield run(link("a"), link("b", "a"), losses=falling(1.0, 0.5, STEPS))
        yield run(link("a"), link("b", "a", affine=True), link("c", "~", affine=True))  # c is given a + b(a)
        feed_forward = [link("q"), link("up", "~", outputs=128), link("down", "up", 128), link("up2", "~", outputs=128), link("down2", "up2", 128)]
        yield run(*feed_forward)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "activations between all", run(link("a", **BENT), link("b", "~", **BENT), link("c", "~"))
        yield "a residual block that bends", run(link("a"), link("b", "a", **BENT), link("c", "~"))
        yield "one pair in a net with activations", run(link("a", **BENT), link("b", "~", **BENT), link("c", "~"), link("d", "c"))
        yield "two heads on one linear layer", run(link("a", **BENT), link("b", "~"), link("mu", "b"), link("sigma", "b"))
        yield "a bottleneck: low rank, LoRA, an autoencoder's code", run(link("a", outputs=4), link("b", "a", 4))
        yield "depthwise and pointwise", run(link("a", grouped=True, op="conv2d"), link("b", "a", op="conv2d"))
        yield "an upsampling convolution", run(link("a", op="conv_transpose2d"), link("b", "a", op="conv2d"))
        yield "the task is linear", run(link("a"), link("b", "a"), losses=falling(1.0, 0.01, STEPS))
        yield "on purpose", run(link("a"), link("b", "a"), source="class DeepLinear(nn.Module):\n    pass\n")
        yield "frozen maps", run(link("a", trainable=False), link("b", "a"))
        yield "a single layer", run(link("a"))


def test_the_line_and_the_fix() -> None:
    first = link("first.weight", place=place_in(SOURCE, "self.first", layer="first"))
    suspicion = assert_suspects(run(first, link("second.weight", "first.weight")), "missing-nonlinearity", "proven")
    assert suspicion.place is not None and suspicion.place.line == 3
    assert added(suspicion.fix.diff) == ["        x = torch.relu(self.first(x))"]


def test_one_widening_pair_without_any_activation() -> None:
    pair = link("q"), link("up", "~", outputs=128), link("down", "up", 128)
    assert_suspects(run(*pair), "missing-nonlinearity", "likely")
    assert_silent(run(*pair, losses=falling(2.0, 0.3, STEPS)), "missing-nonlinearity")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("torch.relu(x)", True),
        ("x.tanh()", True),
        ("self.act(x)", True),
        ("F.relu(x, inplace=True)", False),
        ("x.relu_()", False),
        ("print(x)", False),
    ],
)
def test_an_activation_whose_result_is_thrown_away_is_named(line: str, found: bool) -> None:
    source = SOURCE.replace("        return", f"        {line}\n        return")
    first = link("first.weight", place=place_in(source, "self.first", layer="first"))
    s = assert_suspects(run(first, link("second.weight", "first.weight"), source=source), "missing-nonlinearity", "proven")
    assert s.place is not None and s.place.line == (4 if found else 3) and s.place.layer == "first"
    assert added(s.fix.diff) == [f"        x = {line}" if found else "        x = torch.relu(self.first(x))"]
