from __future__ import annotations

from collections.abc import Iterable

import pytest

from causes.scripts import added, removed
from sickbay.facts import Head, LogitsThroughSoftmax, Loss, Op
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, make_record, place_in


def squashed(inner: str = "softmax", outer: str = "cross_entropy", source: str = "", text: str = "") -> Record:
    place = place_in(source, text) if source else None
    pair = LogitsThroughSoftmax(outer=Op(name=outer), inner=Op(name=inner, place=place, shape=(32, 10)))
    return make_record(steps=50, sources={"train.py": source}, losses=[Loss(index=0, squashed=(pair,))])


def fed_by(*ops: str, function: str = "cross_entropy") -> Record:
    return make_record(steps=50, losses=[Loss(index=0, heads=(Head(function=function, fed_by=tuple(Op(name=o) for o in ops)),))])


class TestSoftmaxBeforeCrossEntropy(CauseTestCase):
    cause = "softmax-before-cross-entropy"

    def sick(self) -> Iterable[Record]:
        yield squashed()
        yield squashed("sigmoid", "binary_cross_entropy_with_logits")
        yield squashed("softmax", "log_softmax")
        yield fed_by("softmax", "linear")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "log_softmax twice changes nothing", squashed("log_softmax")
        yield "log_softmax before nll_loss", fed_by("log_softmax", "linear", function="nll_loss")
        yield "softmax of attention, with a layer after it", fed_by("linear", "softmax")
        yield "sigmoid before binary_cross_entropy", fed_by("sigmoid", function="binary_cross_entropy")


def test_it_knows_the_floor() -> None:
    (evidence,) = assert_suspects(squashed(), "softmax-before-cross-entropy").evidence
    assert evidence.numbers["floor"] == pytest.approx(1.461, abs=0.001)


@pytest.mark.parametrize(
    ("line", "fixed"),
    [
        ("    return F.softmax(self.fc2(x), dim=1)", "    return self.fc2(x)"),
        ("    return self.fc(x).softmax(-1)", "    return self.fc(x)"),
        ("    probs = torch.softmax(logits / 2.0, dim=-1)", "    probs = logits / 2.0"),
        ("    return self.softmax(self.out(x))", "    return self.out(x)"),
        ("    net = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=1))", "    net = nn.Sequential(nn.Linear(4, 3))"),
        ("    return torch.sigmoid(self.head(x))", "    return self.head(x)"),
        ("    self.act = nn.Softmax(dim=1)", "    self.act = nn.Identity()"),
        ("    naïve = F.softmax(été(x), dim=1)  # ünïcode", "    naïve = été(x)  # ünïcode"),
    ],
)
def test_the_fix_takes_it_out_of_the_line(line: str, fixed: str) -> None:
    source = f"def f(self, x, logits, net):\n{line}\n"
    fix = assert_suspects(squashed(source=source, text=line.strip()), "softmax-before-cross-entropy").fix
    assert removed(fix.diff) == [line]
    assert added(fix.diff) == [fixed]


def test_a_softmax_of_the_script_s_own_is_pointed_at_where_it_is_used() -> None:
    source = "def softmax(z):\n    e = torch.exp(z)\n    return e / e.sum(1)\n\ndef net(x):\n    return softmax(x @ W)\n"
    suspicion = assert_suspects(squashed(source=source, text="return e / e.sum(1)"), "softmax-before-cross-entropy")
    assert suspicion.place is not None and suspicion.place.line == 6
    assert added(suspicion.fix.diff) == ["    return x @ W"]


def test_a_layer_on_its_own_line_of_a_sequential_goes_with_its_comma() -> None:
    source = "net = nn.Sequential(\n    nn.Linear(4, 3),\n    nn.Softmax(dim=1),\n)\n"
    fix = assert_suspects(squashed(source=source, text="nn.Softmax"), "softmax-before-cross-entropy").fix
    assert [x.strip() for x in removed(fix.diff)] == ["nn.Softmax(dim=1),"] or "nn.Softmax" not in "".join(added(fix.diff))
    compile(source.replace("    nn.Softmax(dim=1),\n", ""), "fixed", "exec")
