"""batch-mixing, future-leakage, saturated-activation, exploding-gradient, batchnorm-tiny-batch and under-capacity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from causes.scripts import added
from sickbay.conclude import diagnose
from sickbay.facts import (
    BatchMixing,
    BatchStatistics,
    DataProbe,
    FutureLeak,
    Head,
    LinearMap,
    Loss,
    Op,
    Optimizer,
    Parameter,
    Probes,
    Relation,
    SignalGrowth,
    Timeline,
    Waist,
    Weight,
)
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record, model_facts, place_in

SOURCE = """\
self.rnn = nn.LSTM(8, 16)
self.layer = nn.TransformerEncoderLayer(16, 2)
self.encoder = nn.TransformerEncoder(self.layer, 2)
h = h.view(T, B, D)
w = torch.softmax(scores, dim=0)
a = F.softmax(scores, -1)
out = F.scaled_dot_product_attention(q, k, v)
mask = torch.triu(torch.ones(T, T), diagonal=2)
self.both = nn.GRU(8, 16, bidirectional=True)
h = torch.tanh(z)
h = h + self.back(h)
self.norm = nn.BatchNorm1d(64)
hidden = self.encoder(x)
optimizer.step()
import torch.nn.functional as F
y = self.conv(F.pad(x, (span // 2, span // 2)))
"""
FLAT = 2.3 + np.random.default_rng(0).normal(0, 0.05, 300)
SOURCES = {"train.py": SOURCE}


def at(text: str, layer: str | None = None) -> Place:
    return place_in(SOURCE, text, layer=layer)


def probed(losses: np.ndarray | None = None, **probes: Any) -> Record:
    return make_record(series={"loss/train": falling(2.3, 1.0) if losses is None else losses}, sources=SOURCES, probes=Probes(**probes))


# -- batch-mixing ---------------------------------------------------------------------------------------------------


def mixed(op: str, text: str, **fact: Any) -> Record:
    return probed(mixing=(BatchMixing(model="Net", step=5, samples=32, changed=31, effect=0.5, op=op, place=at(text), **fact),))


class TestBatchMixing(CauseTestCase):
    cause = "batch-mixing"

    def sick(self) -> Iterable[Record]:
        yield mixed("lstm", "nn.LSTM", layer_kind="LSTM")
        yield mixed("softmax", "dim=0")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "tested, and samples stay apart", probed(samples_tested=True)
        yield "stuck for another reason", probed(FLAT)


def test_the_fix_puts_the_batch_first() -> None:
    diff = assert_suspects(mixed("lstm", "nn.LSTM", layer_kind="LSTM"), "batch-mixing").fix.diff
    assert added(diff) == ["self.rnn = nn.LSTM(8, 16, batch_first=True)"]


def test_an_encoder_is_mended_where_its_layer_is_made() -> None:
    suspicion = assert_suspects(mixed("multi_head_attention_forward", "nn.TransformerEncoder(", layer_kind="TransformerEncoder"), "batch-mixing")
    assert suspicion.place is not None and suspicion.place.line == 2
    assert added(suspicion.fix.diff) == ["self.layer = nn.TransformerEncoderLayer(16, 2, batch_first=True)"]


def test_the_fix_moves_dimensions() -> None:
    diff = assert_suspects(mixed("view", "h.view", shape=(32, 9, 16), result=(9, 32, 16)), "batch-mixing").fix.diff
    assert added(diff) == ["h = h.transpose(0, 1)"]


def test_the_fix_names_the_right_dimension() -> None:
    assert added(assert_suspects(mixed("softmax", "dim=0"), "batch-mixing").fix.diff) == ["w = torch.softmax(scores, dim=1)"]


# -- future-leakage -------------------------------------------------------------------------------------------------


def leaking(op: str, text: str | None, **fact: Any) -> Record:
    given = {"ahead": 1, "earlier": 12, "positions": 24, "compared": 300, "effect": 0.3} | fact
    return probed(leaks=(FutureLeak(model="Net", step=5, op=op, place=at(text) if text else None, loss_at=at("optimizer.step"), **given),))


class TestFutureLeakage(CauseTestCase):
    cause = "future-leakage"

    def sick(self) -> Iterable[Record]:
        yield leaking("softmax", "F.softmax")
        yield leaking("gru", "nn.GRU", layer_kind="GRU")
        yield leaking("", None, ahead=0)
        yield leaking("conv1d", "self.rnn")

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "tested, and causal", probed(future_tested=True)
        yield "a very low loss", probed(falling(4.0, 0.01))


def test_fixes_of_leaks() -> None:
    for record, lines in (
        (
            leaking("softmax", "F.softmax"),
            ['a = F.softmax(scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf")), -1)'],
        ),
        (leaking("scaled_dot_product_attention", "F.scaled"), ["out = F.scaled_dot_product_attention(q, k, v, is_causal=True)"]),
        (leaking("softmax", "F.softmax", earlier=1), ["mask = torch.triu(torch.ones(T, T), diagonal=1)"]),
        (leaking("pad", "F.pad"), ["y = self.conv(F.pad(x, (2 * (span // 2), 0)))"]),
        (leaking("gru", "nn.GRU"), ["self.both = nn.GRU(8, 16, bidirectional=False)"]),
        (
            leaking("multi_head_attention_forward", "self.encoder(x)", layer_kind="TransformerEncoder", call="self.encoder(x)"),
            ["hidden = self.encoder(x, mask=nn.Transformer.generate_square_subsequent_mask(x.shape[1]))"],
        ),
    ):
        assert added(assert_suspects(record, "future-leakage").fix.diff) == lines


def test_a_mask_that_is_moved_is_the_place() -> None:
    place = assert_suspects(leaking("softmax", "F.softmax", earlier=1), "future-leakage").place
    assert place is not None and place.line == at("torch.triu").line


@pytest.mark.parametrize(
    ("made", "used", "fixed"),
    [
        ("torch.triu(torch.ones(T, T))", "mask == 0", "mask = torch.tril(torch.ones(T, T))"),
        ("torch.ones(T, T).tril(-1)", "mask.bool()", "mask = torch.ones(T, T).triu(1)"),
    ],
)
def test_a_mask_of_the_wrong_triangle_is_the_place(made: str, used: str, fixed: str) -> None:
    source = f"mask = {made}\ns = s.masked_fill({used}, -1e9)\na = F.softmax(s, -1)\n"
    leak = FutureLeak(
        model="Net", step=5, op="softmax", place=place_in(source, "F.softmax"), ahead=1, earlier=12, positions=24, compared=300, effect=0.3
    )
    suspicion = assert_suspects(make_record(steps=100, sources={"train.py": source}, probes=Probes(leaks=(leak,))), "future-leakage")
    assert suspicion.place is not None and suspicion.place.line == 1
    assert added(suspicion.fix.diff) == [fixed]


# -- saturated-activation -------------------------------------------------------------------------------------------

FRAMES = np.arange(0, 300, 10)


def rails(share: Any, losses: np.ndarray, output: bool = False, **facts: Any) -> Record:
    op = Op(name="tanh", place=at("torch.tanh", layer="mix"))
    head = Head(function="mse_loss", fed_by=(op,)) if output else Head(function="mse_loss", fed_by=(Op(name="linear"),))
    return make_record(
        series={"loss/train": losses},
        families={"activation_saturated": {"mix.tanh": (FRAMES, np.broadcast_to(share, FRAMES.shape))}},
        losses=[Loss(index=0, activations=(op,), heads=(head,))],
        sources=SOURCES,
        **facts,
    )


class TestSaturatedActivation(CauseTestCase):
    cause = "saturated-activation"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield rails(0.97, falling(1.6, 0.9))
        yield rails(0.97, FLAT)
        yield rails(np.where(FRAMES < 60, 0.2, 0.97), FLAT)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "a few per cent at the rails", rails(0.1, FLAT)
        yield "gates at the rails in a run that learns", rails(0.97, falling(1.6, 0.02))
        yield "the output of a classifier that is certain", rails(np.linspace(0.0, 1.0, len(FRAMES)), falling(1.6, 0.3), output=True)
        yield "units that went to the rails while it learns", rails(np.where(FRAMES < 60, 0.2, 0.97), falling(1.6, 0.4))


def test_the_fix_normalises_what_goes_in() -> None:
    suspicion = assert_suspects(rails(0.97, FLAT), "saturated-activation")
    assert added(suspicion.fix.diff) == ["h = torch.tanh(F.layer_norm(z, z.shape[-1:]))"]
    assert suspicion.place is not None and suspicion.place.line == at("torch.tanh").line


# -- exploding-gradient ---------------------------------------------------------------------------------------------

GROWTH = SignalGrowth(op="add", place=at("self.back"), call="h + self.back(h)", passes=40, first=0.2, middle=18.0, last=1700.0)


def growing(growth: SignalGrowth = GROWTH, norm: float = 2e4, curve: np.ndarray | None = None, **facts: Any) -> Record:
    return make_record(
        series={"loss/train": falling(300.0, 0.4) if curve is None else curve, "grad_norm": np.full(300, norm)},
        probes=Probes(growth=(growth,)),
        optimizers=[Optimizer(index=0, kind="Adam", steps=300, stepped_at=at("optimizer.step"))],
        sources=SOURCES,
        **facts,
    )


def unrolled(norms: list[float], passes: int = 72) -> Record:
    """A recurrence by hand whose signal does not grow at first; then the run blows up."""
    blown = np.concatenate([[1.9, 7e6], np.full(98, np.nan)])
    given = growing(replace(GROWTH, passes=passes, first=0.04, middle=1.1, last=1.8), norm=1.0, curve=blown)
    series = make_record(series={"loss/train": blown, "grad_norm": (np.arange(len(norms)), np.array(norms))}).all_series
    return replace(given, all_series=series)


def large_weights() -> dict[str, Any]:
    weight = Weight(name="a.weight", rms=2.0)
    maps = (LinearMap(parameter="a.weight", op="linear", fan_in=64),)
    return {"weights": [weight], "losses": [Loss(index=0, linear_maps=maps)]} | model_facts("a")


class TestExplodingGradient(CauseTestCase):
    cause = "exploding-gradient"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield growing()
        yield growing(curve=np.concatenate([np.geomspace(1, 1e9, 20), np.full(10, np.nan)]))
        yield unrolled([77.0, 1.8e9, np.nan])

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "residual sums of healthy branches", growing(replace(GROWTH, first=1.0, middle=4.0, last=7.0))
        yield "a counter grows in a straight line", growing(replace(GROWTH, first=1.0, middle=60.0, last=100.0))
        yield "a signal that grows and is normalised: the gradient is fine", growing(norm=2.0)
        yield "large gradients from large targets", growing(replace(GROWTH, first=1.0, middle=1.0, last=1.0))
        yield "a recurrence whose first gradient is usual: the rate blows it up", unrolled([2.0, 1.8e9, np.nan])
        yield "a few layers in a loop", unrolled([77.0, 1.8e9, np.nan], passes=4)
        yield "gradients that grow with the loss, after the first updates", growing(replace(GROWTH, last=0.3), 1.0, np.geomspace(1, 1e9, 100))


def test_exploding_gradients_explain_a_rate_that_seems_too_high() -> None:
    series = {"loss/train": np.geomspace(40, 1e15, 40), "grad_norm": np.geomspace(900, 1e12, 40)}
    record = replace(growing(), all_series=make_record(series=series).all_series)
    first = diagnose(record).causes[0]
    assert first.cause == "exploding-gradient" and "lr-too-high" in first.consequences


def test_weights_that_start_too_large_and_clipping_speak_against_it() -> None:
    assert any(e.kind == "against" for e in assert_suspects(growing(**large_weights()), "exploding-gradient").evidence)
    clipped = assert_suspects(growing(timeline=Timeline(counts={"clip": 300})), "exploding-gradient")
    assert any("clipped" in e.text for e in clipped.evidence)


def test_the_fix_clips_before_the_step() -> None:
    (line,) = added(assert_suspects(growing(), "exploding-gradient").fix.diff)
    assert line == 'torch.nn.utils.clip_grad_norm_([p for g in optimizer.param_groups for p in g["params"]], 1.0)'


# -- batchnorm-tiny-batch -------------------------------------------------------------------------------------------

NORM = BatchStatistics(layer="norm", kind="BatchNorm1d", smallest=2, samples=2, passes=20, place=at("nn.BatchNorm1d"))
STEPS = np.arange(30, 300, 30)


def normed(norm: BatchStatistics, train: np.ndarray, validation: Any = None) -> Record:
    series: dict[str, Any] = {"loss/train": train}
    if validation is not None:
        series["loss/eval"] = (STEPS, np.broadcast_to(validation, STEPS.shape))
    return make_record(series=series, sources=SOURCES, probes=Probes(batch_norms=(norm,)))


class TestBatchnormTinyBatch(CauseTestCase):
    cause = "batchnorm-tiny-batch"

    def sick(self) -> Iterable[Record]:
        yield normed(NORM, falling(2.3, 1.5))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        few, pictures = replace(NORM, smallest=4, samples=4), replace(NORM, smallest=512, samples=2)
        yield "four values, and evaluation agrees", normed(few, falling(2.3, 0.8), 0.9)
        yield "two pictures, and evaluation agrees", normed(pictures, falling(2.3, 0.3), 0.35)
        yield "a usual batch and a gap", normed(replace(NORM, smallest=32, samples=32), falling(2.3, 0.1), 2.0)
        yield (
            "a gap that opens late: overfitting",
            normed(pictures, falling(2.3, 0.1), np.linspace(0.9, 2.5, len(STEPS)) * np.geomspace(1, 1.5, len(STEPS))),
        )
        yield "two values, but the loss came down", normed(NORM, falling(2.3, 0.1))


def test_few_samples_count_with_an_evaluation_that_is_far_off() -> None:
    suspicion = assert_suspects(normed(replace(NORM, smallest=400, samples=1), falling(0.7, 0.3), 1.0), "batchnorm-tiny-batch", "likely")
    assert added(suspicion.fix.diff) == ["self.norm = nn.GroupNorm(1, 64)"]


# -- under-capacity -------------------------------------------------------------------------------------------------


def narrow(width: int, outputs: int, losses: np.ndarray, rebuilds: bool = False, **series: Any) -> Record:
    waist = Waist(op=Op(name="linear", place=at("self.rnn", layer="fc1")), width=width, outputs=outputs, rebuilds=rebuilds)
    return make_record(series={"loss/train": losses, **series}, losses=[Loss(index=0, waists=(waist,))], sources=SOURCES)


BUMPS = ("mean", "pow", "sub", "add", "matmul")


def small(told: float = 0.98, last: float = 0.75, weights: int = 21, variance: float = 1.0, ops: tuple[str, ...] = BUMPS, rows: int = 900) -> Record:
    """A handful of weights; `told` of the targets' variance is known to the neighbours of a sample, all but `last` to the model."""
    relation = Relation(rows=rows, score=told, spread=0.03, beyond=30.0, method="neighbours")
    return make_record(
        series={"loss/train": falling(1.0, last)},
        losses=[Loss(index=0, operations=tuple(Op(name=n) for n in ops))],
        data_probe=DataProbe(kind="table", targets="numbers", relation=relation, variance=variance),
        parameters=[Parameter(name="centres", shape=(weights,), size=weights, trainable=True)],
    )


def small_classifier(right: float = 0.6, majority: float = 0.3) -> Record:
    relation = Relation(rows=900, score=0.95, spread=0.03, beyond=30.0, method="neighbours", majority=majority)
    return make_record(
        series={"loss/train": falling(1.0, 0.75), "accuracy/train": np.full(300, right)},
        data_probe=DataProbe(kind="table", targets="classes", classes=4, relation=relation),
        parameters=[Parameter(name="w", shape=(2, 8), size=16, trainable=True)],
    )


class TestUnderCapacity(CauseTestCase):
    cause = "under-capacity"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield narrow(2, 6, falling(1.9, 1.6))
        yield narrow(1, 144, falling(0.8, 0.35), rebuilds=True)
        yield small()
        yield small_classifier()

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "a usual width", narrow(32, 60, falling(4.1, 2.0))
        yield "a map of two numbers by an autoencoder", narrow(2, 64, falling(0.8, 0.35), rebuilds=True)
        yield "two numbers for three classes", narrow(2, 3, falling(1.1, 0.7))
        yield "two numbers are enough", narrow(2, 6, falling(1.9, 0.1))
        yield "still falling", narrow(2, 6, np.linspace(1.9, 0.9, 300))
        yield "a noise floor: neighbours tell no more", small(told=0.3)
        yield "nearly as good as the neighbours", small(told=0.8, last=0.35)
        yield "rare classes that are weighed up", small_classifier(majority=0.9)
        yield "a classifier as good as the neighbours", small_classifier(right=0.94)
        yield "many weights", small(weights=5000)
        yield "another loss, which is not on the scale of the variance", small(ops=("mean", "abs", "sub"))
        yield "too few samples to ask", small(rows=100)
        yield "nothing learned at all", narrow(2, 6, FLAT)


def test_it_is_silent_while_validation_parts_from_training() -> None:
    validation = np.linspace(1.7, 3.0, len(STEPS))
    assert_silent(narrow(2, 6, falling(1.9, 1.0, speed=3), **{"loss/eval": (STEPS, validation)}), "under-capacity")
