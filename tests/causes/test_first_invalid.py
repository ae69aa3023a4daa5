"""NaN that a formula makes, and NaN that the script hides."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from causes.scripts import added
from sickbay.facts import FirstInvalid, Fragile, Loss, Masked, NonfiniteBatch, Op, Run
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record, place_in

HERE = Place("train.py", 9)
LOG = FirstInvalid(
    step=12, origin="operation", op="log", place=HERE, call="torch.log(p)", kind="-inf", lowest=0.0, highest=1.0, parameters_finite=True, traced=True
)
WEAK = Fragile(op="sqrt", place=HERE, call="torch.sqrt(d)", made_from=Op(name="sum"), lowest=0.01, highest=4.0)


def broken(first: FirstInvalid | None = LOG, *, curve: np.ndarray | None = None, fragile: tuple[Fragile, ...] = (), **facts: object) -> Record:
    values = falling(2.0, 0.5, 60) if curve is None else curve
    if first is not None:
        values = np.where(np.arange(60) < first.step, values, np.nan)
    return make_record(series={"loss/train": values}, losses=[Loss(index=0, invalid=(first,) if first else (), fragile=fragile)], **facts)  # type: ignore[arg-type]


class TestUnstableLoss(CauseTestCase):
    cause = "unstable-loss"

    def sick(self) -> Iterable[Record]:
        yield broken()
        yield broken(replace(LOG, op="truediv", call="a / b"))
        yield broken(replace(LOG, op="sqrt", backward=True))
        yield broken(replace(LOG, step=0))
        yield broken(None, unused_loss=LOG)
        yield broken(replace(LOG, op="cross_entropy", kind="nan"))
        yield broken(replace(LOG, op="multi_head_attention_forward", kind="nan", in_layer=True))
        yield broken(replace(LOG, op="mul", kind="nan", lowest=0.0, highest=3.0))
        yield broken(replace(LOG, op="log", dtype="float16", fits_single=False))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "a layer overflows", broken(replace(LOG, op="linear", in_layer=True))
        yield "the weights were broken before", broken(replace(LOG, origin="parameter", op="linear", parameters_finite=False))
        yield "NaN in the data", broken(nonfinite=[NonfiniteBatch(role="input", step=12, loss_nonfinite=True)])
        yield "the weights ran away, and any operation would have overflowed", broken(curve=np.exp(np.arange(60.0)))
        yield "weights broken, nothing fragile in the loss", broken(FirstInvalid(step=30, origin="parameter"))
        yield "a guarded logarithm in a healthy run", broken(None, fragile=(replace(WEAK, op="log", guarded=True, made_from=Op(name="softmax")),))
        yield "a root in a healthy run", broken(None, fragile=(WEAK,))
        yield "numbers that ran away before they were multiplied", broken(replace(LOG, op="pow", kind="inf", lowest=-3.0, highest=1e22))
        yield "weights that ran away", broken(replace(LOG, largest=4e9, largest_at_start=0.3))
        yield "half precision", broken(replace(LOG, op="exp", dtype="float16", fits_single=True))
        yield (
            "a guard that half precision rounds to zero",
            broken(replace(LOG, dtype="float16", fits_single=False), fragile=(replace(WEAK, op="log", guarded=True),)),
        )


def test_a_sudden_end_beside_an_open_root_is_likely() -> None:
    record = broken(FirstInvalid(step=30, origin="parameter", parameters_finite=False), fragile=(WEAK,))
    assert assert_suspects(record, "unstable-loss", "likely").place == HERE


def test_the_pattern_alone_is_only_possible() -> None:
    record = broken(None, fragile=(replace(WEAK, op="log", made_from=Op(name="softmax"), lowest=1e-9),))
    assert_suspects(record, "unstable-loss", "possible")


@pytest.mark.parametrize(
    ("op", "made", "line", "fixed"),
    [
        ("sqrt", "sum", "d = torch.sqrt(s)", "d = torch.sqrt(s + 1e-8)"),
        ("sqrt", "sum", "d = s.sum(1).sqrt()", "d = (s.sum(1) + 1e-8).sqrt()"),
        ("log", "softmax", "l = torch.log(F.softmax(z, dim=1))", "l = F.log_softmax(z, dim=1)"),
        ("log", "mean", "l = torch.log(m)", "l = torch.log(m + 1e-8)"),
        ("truediv", "sum", "l = a.sum() / w.sum()", "l = a.sum() / w.sum().clamp_min(1e-8)"),
        ("div", "sum", "h = (e * m).sum(1) / mask.sum(1)", "h = (e * m).sum(1) / mask.sum(1).clamp_min(1)"),
        ("div", "norm", "u = x / x.norm(dim=1, keepdim=True)", "u = x / x.norm(dim=1, keepdim=True).clamp_min(1e-8)"),
        ("rdiv", "", "w = 1.0 / (c - 1)", "w = 1.0 / ((c - 1).clamp_min(1e-8))"),
        ("log", "sigmoid", "l = torch.log(torch.sigmoid(z))", "l = torch.nn.functional.logsigmoid(z)"),
        ("log", "sigmoid", "l = z.sigmoid().log()", "l = torch.nn.functional.logsigmoid(z)"),
        ("pow", "sum", "d = s.sum(1) ** 0.5", "d = (s.sum(1) + 1e-8) ** 0.5"),
        ("pow", "abs", "d = x.abs().pow(0.3)", "d = (x.abs() + 1e-8).pow(0.3)"),
        ("exp", "linear", "e = torch.exp(0.5 * lv)", "e = torch.exp((0.5 * lv).clamp(max=20))"),
        ("exp", "linear", "e = lv.exp()", "e = lv.clamp(max=20).exp()"),
        ("acos", "sum", "a = torch.acos(c)", "a = torch.acos(c.clamp(-1 + 1e-6, 1 - 1e-6))"),
        ("std", "relu", "s = h.std(0)", "s = h.std(0, correction=0)"),
        ("var", "relu", "s = torch.var(h)", "s = torch.var(h, correction=0)"),
        (
            "cross_entropy",
            "linear",
            "l = F.cross_entropy(z, y, ignore_index=0)",
            'l = F.cross_entropy(z, y, ignore_index=0, reduction="sum") / (y != 0).sum().clamp_min(1)',
        ),
    ],
)
def test_the_fix_keeps_it_from_the_edge(op: str, made: str, line: str, fixed: str) -> None:
    place = place_in(line, line)
    first = replace(LOG, op=op, place=place, call=line.partition(" = ")[2])
    record = broken(first, fragile=(replace(WEAK, op=op, place=place, made_from=Op(name=made)),), sources={"train.py": f"{line}\n"})
    assert added(assert_suspects(record, "unstable-loss").fix.diff) == [fixed]


@pytest.mark.parametrize(
    ("op", "call", "line", "fixed"),
    [
        ("log", "torch.log(q)", "r = torch.where(q > 0, torch.log(q), z)", "r = torch.where(q > 0, torch.log(torch.where(q > 0, q, 1.0)), z)"),
        ("rdiv", "1 / q", "r = torch.where(q == 0, z, 1 / q)", "r = torch.where(q == 0, z, 1 / torch.where(q == 0, 1.0, q))"),
        ("sqrt", "q.sqrt()", "r = torch.where(m, q.sqrt(), z)", "r = torch.where(m, torch.where(m, q, 1.0).sqrt(), z)"),
    ],
)
def test_a_branch_that_where_did_not_choose(op: str, call: str, line: str, fixed: str) -> None:
    record = broken(replace(LOG, op=op, place=place_in(line, line), call=call, backward=True), sources={"train.py": f"{line}\n"})
    assert added(assert_suspects(record, "unstable-loss").fix.diff) == [fixed]


@pytest.mark.parametrize(
    ("op", "line", "fixed"),
    [
        ("pow", "d = s ** (1 / p)", "d = s.clamp_min(1e-8) ** (1 / p)"),
        ("pow", "d = g * (x - b) ** p", "d = g * (x - b).clamp_min(1e-8) ** p"),
        ("sqrt", "d = torch.sqrt(1 - c * c)", "d = torch.sqrt((1 - c * c).clamp_min(1e-8))"),
        ("log", "d = torch.log(s)", "d = torch.log(s.clamp_min(1e-8))"),
        ("cosh", "d = torch.cosh(a - b)", "d = torch.cosh((a - b).clamp(-20, 20))"),
    ],
)
def test_values_below_zero_are_not_helped_by_a_small_constant(op: str, line: str, fixed: str) -> None:
    call = "(x - b) ** p" if "g *" in line else line.partition(" = ")[2]
    first = replace(LOG, op=op, kind="nan", place=place_in(line, line), call=call, lowest=-0.4)
    assert added(assert_suspects(broken(first, sources={"train.py": f"{line}\n"}), "unstable-loss").fix.diff) == [fixed]


def test_a_base_in_brackets_gets_no_second_pair() -> None:
    line = "d = g * (x + b) ** p"
    first = replace(LOG, op="pow", place=place_in(line, line), call="(x + b) ** p", backward=True)
    assert added(assert_suspects(broken(first, sources={"train.py": f"{line}\n"}), "unstable-loss").fix.diff) == ["d = g * (x + b + 1e-8) ** p"]


def test_a_target_that_is_too_long_for_ctc() -> None:
    found = assert_suspects(broken(replace(LOG, op="ctc_loss", kind="inf", lowest=-3.0, highest=-0.1)), "unstable-loss")
    assert "no alignment" in found.fix.text and "zero_infinity=True" in found.fix.diff


def test_a_mask_that_leaves_nothing() -> None:
    text = "def attend(scores, pad):\n    scores = scores.masked_fill(pad, float('-inf'))\n    return torch.softmax(scores, dim=-1)\n"
    place = place_in(text, "softmax")
    record = broken(replace(LOG, op="softmax", kind="nan", place=place, call="torch.softmax(scores, dim=-1)"), sources={"train.py": text})
    assert added(assert_suspects(record, "unstable-loss").fix.diff) == ["    scores = scores.masked_fill(pad, torch.finfo(torch.float32).min)"]


def test_the_evidence_names_values_and_samples() -> None:
    def text(**more: object) -> str:
        return assert_suspects(broken(replace(LOG, **more)), "unstable-loss").evidence[0].text  # type: ignore[arg-type]

    assert "samples 37, 204 of the data set" in text(rows=(1, 4), samples=(37, 204)) and "given values from 0 to 1" in text()
    assert "row 4 of the batch" in text(rows=(4,))
    assert "sample 37 of the data set, 2 backward passes before the last of the step" in text(rows=(1,), samples=(37,), passes_ago=2)
    assert "in 6 of 48 elements, first at [4, 0]" in text(where=(4, 0), count=6, total=48)


REPLACED = Masked(way="replaced", op="nan_to_num", place=HERE, call="torch.nan_to_num(l)", times=5, looks=8, origin="operation", origin_op="log")
SKIPPED = Masked(way="skipped", op="loss", place=HERE, times=15, looks=60, origin="data")
GUARDED = "for x in data:\n    loss = f(x)\n    if torch.isnan(loss):\n        continue\n    loss.backward()\n"


def masked(*in_loss: Masked, left_out: tuple[Masked, ...] = (), source: str = "") -> Record:
    return make_record(
        series={"loss/train": falling(2, 1, 60)}, sources={"train.py": source}, losses=[Loss(index=0, masked=in_loss)], masked=left_out
    )


class TestMaskedNan(CauseTestCase):
    cause = "masked-nan"

    def sick(self) -> Iterable[Record]:
        yield masked(REPLACED)
        yield masked(replace(REPLACED, origin="data", origin_op="linear"))
        yield masked(left_out=(SKIPPED,))
        yield masked(left_out=(replace(SKIPPED, way="dropped", op="clip"),))
        yield masked(left_out=(Masked(way="gradient", op="nan_to_num", times=1, looks=9),))
        yield masked(replace(SKIPPED, origin="operation", origin_op="log"))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "nothing was ever hidden", masked(replace(REPLACED, times=0))
        yield "missing targets, masked out of the loss", masked(replace(REPLACED, origin="data", origin_op="sub"))
        yield "one step in a thousand", masked(left_out=(replace(SKIPPED, times=1, looks=1000),))
        yield "gradients are checked and always fine", masked(left_out=(Masked(way="gradient", op="isnan", looks=9),))
        yield (
            "forward passes without a backward, for a reason of their own",
            masked(left_out=(replace(SKIPPED, op="forward"),), source="loss = f(x)\n"),
        )


def test_the_operation_behind_a_mask_is_named() -> None:
    mask = Masked(way="gradient", op="nan_to_num", times=3, looks=9, place=HERE, origin="operation", origin_op="sqrt", origin_at=Place("train.py", 4))
    suspicion = assert_suspects(masked(left_out=(mask,)), "masked-nan")
    assert "sqrt at train.py:4" in suspicion.evidence[0].text and "sqrt at train.py:4" in suspicion.fix.text


def test_forward_passes_left_out_behind_a_check_are_likely() -> None:
    suspicion = assert_suspects(masked(left_out=(replace(SKIPPED, op="forward", origin="unknown"),), source=GUARDED), "masked-nan", "likely")
    assert suspicion.place is not None and suspicion.place.line == 3


def test_what_hides_it_is_left_and_what_makes_it_is_mended() -> None:
    text = "def rate(level):\n    return torch.log(level)\nloss = torch.nan_to_num(rate(x)).mean()\n"
    mask = replace(REPLACED, place=Place("train.py", 3), origin="operation", origin_op="log", origin_at=Place("train.py", 2))
    s = assert_suspects(masked(mask, source=text), "masked-nan")
    assert s.place is not None and s.place.line == 3 and "mend log at train.py:2" in s.fix.text
    assert added(s.fix.diff) == ["    return torch.log(level + 1e-8)"]


def test_weights_that_the_first_unseen_update_broke() -> None:
    """`torch.autograd.grad` without modules and optimizers: its first call is not known to be training."""
    angle = replace(WEAK, op="acos", call="torch.acos(c)")
    first = FirstInvalid(step=0, origin="parameter")
    record = broken(first, fragile=(angle,), run=Run(steps=59, backwards=59, autograd_grad_calls=60, manual_updates=True))
    assert "torch.acos(c)" in assert_suspects(record, "unstable-loss").evidence[0].text
    assert_silent(broken(first, fragile=(angle,), run=Run(steps=60, backwards=60, manual_updates=True)), "unstable-loss")
