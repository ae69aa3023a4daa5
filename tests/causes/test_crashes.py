"""invalid-label, and unused-parameters (which needs no crash but no curve either)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from causes.scripts import added
from sickbay.facts import Crash, Head, Loss, Run, Values
from sickbay.nouns import Place
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, make_record, model_facts, place_in


def crashed(message: str, kind: str = "IndexError") -> Record:
    crash = Crash(kind=kind, message=message, place=Place("train.py", 12), step=0)
    losses = [Loss(index=0, heads=(Head(function="cross_entropy", classes=10),))]
    return make_record(run=Run(steps=0, exit=1), crash=crash, losses=losses)


LIVER = """\
table = load()
X = torch.tensor(table[:, :9])
y = torch.tensor(table[:, 9])
Xtr, ytr = X[:3200], y[:3200]
loss = F.binary_cross_entropy_with_logits(model(Xtr), ytr)
"""


def runs_away(*labels: int, reduction: str = "mean") -> Record:
    """Labels of a loss that refuses nothing."""
    target = Values(count=500, minimum=labels[0], maximum=labels[-1], whole=True, distinct=labels)
    call = "F.binary_cross_entropy_with_logits(model(Xtr), ytr)"
    head = Head(function="binary_cross_entropy_with_logits", reduction=reduction, target=target, called_at=place_in(LIVER, call), call=call)
    return make_record(steps=100, losses=[Loss(index=0, heads=(head,))], sources={"train.py": LIVER})


def test_labels_of_other_names_are_told_where_they_are_made() -> None:
    found = assert_suspects(runs_away(1, 2), "invalid-label", "proven")
    assert found.place is not None and found.place.text == "y = torch.tensor(table[:, 9])"
    assert "1 and 2" in found.evidence[0].text and "y == 2" in found.fix.diff
    assert_silent(runs_away(1, 2), "wrong-loss-for-task", "the loss is right")
    assert_suspects(runs_away(0, 1, 2), "wrong-loss-for-task", "proven")


class TestInvalidLabel(CauseTestCase):
    cause = "invalid-label"

    def sick(self) -> Iterable[Record]:
        yield crashed("Target 10 is out of bounds.")
        yield crashed("expected target dtype to be Long or Byte, but got Float", "RuntimeError")
        yield crashed("0D or 1D target tensor expected, multi-target not supported", "RuntimeError")
        yield crashed("Expected floating point type for target with class probabilities, got Long", "RuntimeError")
        yield runs_away(1, 2)
        yield runs_away(0, 255)
        yield crashed("Class values must be smaller than num_classes.", "RuntimeError")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "a token outside the vocabulary", crashed("index out of range in self")
        yield "wrong shapes", crashed("mat1 and mat2 shapes cannot be multiplied (32x10 and 20x5)", "RuntimeError")
        yield "yes and no as they should be", runs_away(0, 1)
        yield "three classes: the loss is the wrong one", runs_away(0, 1, 2)
        yield "a mark for what a mask leaves out", runs_away(1, 2, reduction="none")
        yield "no crash", make_record(steps=100)


def test_the_label_and_the_room_are_told() -> None:
    text = assert_suspects(crashed("Target 10 is out of bounds."), "invalid-label").evidence[0].text
    assert "a label is 10" in text and "labels 0 to 9" in text and "train.py:12" in text


def layer(steps: int = 100, stuck: bool = False, **unused: Any) -> Record:
    facts = model_facts("a", "b")
    given = {"called": False, "reached": False, "moved": False} | unused
    facts["parameters"] = (facts["parameters"][0], replace(facts["parameters"][1], **given))
    losses = {"loss/train": 1.1 + 0.02 * np.random.default_rng(0).standard_normal(steps)} if stuck else {}
    return make_record(steps=steps, series=losses, **facts)


class TestUnusedParameters(CauseTestCase):
    cause = "unused-parameters"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield layer()
        yield layer(300, stuck=True, size=10, shape=(2, 5))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "loaded and replaced", layer(loaded=True)
        yield "called but cut off", layer(called=True)
        yield "not trained", layer(optimizer=None)
        yield "a small leftover", layer(size=10, shape=(2, 5))
        yield "a short run", layer(steps=5)


def test_blocks_whose_results_replace_each_other() -> None:
    text = "def forward(self, x):\n    for block in self.blocks:\n        h = block(x)\n    return self.out(h)\n"
    computed = with_facts(layer(called=True), losses=(Loss(index=0, graph_reads=3),))
    suspicion = assert_suspects(replace(computed, sources={"train.py": text}), "unused-parameters")
    assert suspicion.place is not None and suspicion.place.line == 3
    assert "the last one's result" in suspicion.fix.text
    added_up = replace(computed, sources={"train.py": text.replace("h = block(x)", "h = block(x)\n        y = y + h")})
    assert assert_suspects(added_up, "unused-parameters").place is None


@pytest.mark.parametrize(
    ("forward", "line"),
    [
        ("        x = self.a(ids)\n        return self.head(x)\n", 6),  # after the one that was built before it
        ("        return self.head(ids)\n", 6),  # before the one that was built after it
        ("        x = self.a(ids)\n        return self.head(x + self.b(ids) if self.far else x)\n", None),  # it is there, and was not come to
    ],
)
def test_a_layer_that_forward_passes_over(forward: str, line: int | None) -> None:
    text = "class Net(nn.Module):\n    def __init__(self):\n        self.a, self.b = nn.Embedding(9, 4), nn.Embedding(9, 4)\n        self.head = nn.Linear(4, 2)\n    def forward(self, ids):\n"
    place = assert_suspects(replace(layer(), sources={"train.py": text + forward}), "unused-parameters").place
    assert (place.line if place is not None else None) == line


TOWERS = """\
class Net(nn.Module):
    def __init__(self):
        self.a = tower(8)
        self.b = tower(8)
        self.mix = nn.Linear(4, 1)
    def encode_b(self, x):
        return self.a(x)
    def encode_other(self, x):
        return self.a(x)
    def forward(self, x, y):
        return self.mix(self.encode_b(x) * self.encode_other(y))
"""
IN_ORDER = TOWERS.replace("encode_b", "encode_this")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (TOWERS, 7),  # the function is called after it
        (IN_ORDER, 9),  # b is built after a
        (IN_ORDER.replace("self.b = tower(8)", "self.b = nn.Linear(8, 4)"), 11),  # of another kind: where it would come
        (IN_ORDER.replace("* self", "* self.a(x) * self"), 11),  # a is shared by more than two
    ],
)
def test_a_layer_that_is_called_instead_of_another(text: str, line: int) -> None:
    found = assert_suspects(replace(layer(), sources={"train.py": text}), "unused-parameters")
    assert found.place is not None and (found.place.line, found.place.guess) == (line, True)
    assert added(found.fix.diff) == ([] if line == 11 else ["        return self.b(x)"])


def test_what_is_computed_and_then_left_out() -> None:
    text = "def forward(self, x, y):\n    found = self.b(x)\n    other = self.c(y)\n    h = self.norm(other)\n    return self.a(h)\n"
    computed = with_facts(layer(called=True), losses=(Loss(index=0, graph_reads=3),))
    place = assert_suspects(replace(computed, sources={"train.py": text}), "unused-parameters").place
    assert place is not None and place.line == 4 and place.guess  # line 3 begins anew, line 4 goes on without it
    used = replace(computed, sources={"train.py": text.replace("norm(other)", "norm(other + found)")})
    assert assert_suspects(used, "unused-parameters").place is None
