"""corrupt-samples."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sickbay.conclude import diagnose
from sickbay.facts import Clipping, Head, Loader, Loss, LossSpike, Optimizer, Outlier, Spikes
from sickbay.nouns import Place
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record

STEPS = (60, 95, 140, 170, 220)
BROKEN = Outlier(row=3, sample=37, column=2, columns=10, value=-999.0, low=-3.0, high=3.0, ranges=166.0)


def spike(step: int, number: int, outlier: Outlier | None = BROKEN, **more: Any) -> LossSpike:
    samples = (*(int(i) for i in np.random.default_rng(step).permutation(800)[:31]), 37)
    given = {"epoch": number, "value": 50.0, "usual": 0.5, "rows": 32, "samples": samples, "compared": 16, "outliers": (outlier,) if outlier else ()}
    return LossSpike(step=step, **(given | more))  # type: ignore[arg-type]


def run(spikes: Sequence[LossSpike], height: float = 50.0, back: bool = True, **more: Any) -> Record:
    losses = falling(2, 0.5, 300)
    for s in spikes:
        losses[s.step : s.step + 1 if back else None] = height
    losses *= 1 + 0.02 * np.random.default_rng(1).standard_normal(300)
    facts: dict[str, Any] = {"loaders": [Loader(index=0, role="train", samples=800)], "losses": [Loss(index=0, backwards=300)]}
    series = {"loss/train": losses} | more.pop("series", {})
    known = Spikes(seen=len(spikes), kept=tuple(spikes), usual_rows=32, place=Place("train.py", 20), variable="x")
    return make_record(series=series, spikes=known, **(facts | more))


def jumps(**more: Any) -> list[LossSpike]:
    return [spike(step, i, **more) for i, step in enumerate(STEPS)]


def weighted(record: Record) -> Record:
    head = Head(function="binary_cross_entropy_with_logits", module="BCEWithLogitsLoss", called_at=Place("train.py", 2))
    source = "criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(24.0))\nloss = criterion(model(x), y)\n"
    return replace(with_facts(record, losses=(Loss(index=0, backwards=300, heads=(head,)),)), sources={"train.py": source})


def far(ranges: float) -> list[LossSpike]:
    """Two samples, in turn, with large values of their own."""
    rare = [Outlier(row=3, sample=s, columns=1, value=v, low=-3.0, high=3.0, ranges=ranges) for s, v in ((37, 95.3), (11, 115.0))]
    return [spike(step, i, rare[i % 2]) for i, step in enumerate(STEPS)]


class TestCorruptSamples(CauseTestCase):
    cause = "corrupt-samples"

    def sick(self) -> Iterable[Record]:
        yield run(jumps())
        yield run(jumps()[:2])
        yield run(far(300.0), series={"grad_norm": 1 + 0.1 * np.random.default_rng(2).random(300)})  # a decimal point that slipped
        thrown = np.ones(300)
        thrown[list(STEPS)] = 40.0
        yield run(far(30.0), series={"grad_norm": thrown})
        no_index = Outlier(row=3, column=2, columns=10, value=-999.0, low=-3.0, high=3.0, ranges=166.0)
        yield run(jumps(outlier=no_index, epoch=-1, samples=(), marks=tuple(range(32))))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "no outliers, jumps below the untrained model's loss", run(jumps(outlier=None, value=1.9), height=1.9)
        yield "the last, smaller batch", run(jumps(rows=7))
        yield "a tail, not a gap", run(jumps(between=2))
        yield "a single jump", run(jumps()[:1])
        yield "jumps with other batches", run([*jumps(outlier=None)[:4], spike(260, 5, samples=())])
        yield "a hard sample of a class that counts more", weighted(run(jumps(outlier=None)))
        rates = np.full(300, 0.001)
        for step in STEPS:
            rates[step - 2 : step + 5] = 0.1
        yield "restarts of the learning rate", run(jumps(), series={"lr": rates})
        adversaries = [Loss(index=0, backwards=300, optimizers=(0,)), Loss(index=1, backwards=300, optimizers=(1,))]
        yield "a game of two", run(jumps(), losses=adversaries)
        yield "no jump in the curve", make_record(series={"loss/train": falling(2, 0.5, 300)}, spikes=run(jumps()).facts.spikes)


def test_the_samples_are_named() -> None:
    s = assert_suspects(run(jumps()), "corrupt-samples", "proven")
    text = s.evidence[0].text
    assert "the loss jumps 5 times" in text and "the same sample 37" in text and "steps 60, 95, 140" in text
    assert "sample 37 has -999 in column 2 of 10 of the input (other batches: -3 to 3)" in text
    assert s.place == Place("train.py", 20) and "bad = {37}" in s.fix.diff


def test_different_outliers_at_every_jump_are_strong() -> None:
    each = [spike(step, i, Outlier(row=i, sample=i, value=1e5, low=0.0, high=9.0, ranges=1e4, role="target")) for i, step in enumerate(STEPS)]
    s = assert_suspects(run(each), "corrupt-samples", "likely")
    assert "1e+05 of the target" in s.evidence[0].text


def test_the_same_samples_without_outliers_need_high_jumps_and_little_chance() -> None:
    s = assert_suspects(run(jumps(outlier=None)), "corrupt-samples", "likely")
    assert "(37)" in s.evidence[0].text and 0 < s.evidence[0].numbers["chance"] < 1e-3
    assert_silent(run(jumps(outlier=None)[:3]), "corrupt-samples", "three of three may be chance: 800 samples, 32 in a batch")


def test_a_few_samples_that_share_the_jumps_among_them() -> None:
    """Batches that no loader made: rows are known by their marks."""
    draws = np.random.default_rng(0)
    broken = (7, 8, 9)
    each = [
        spike(step, i, None, samples=(), epoch=-1, marks=(broken[i % 3], *map(int, draws.integers(10, 800, 31))))
        for i, step in enumerate(range(20, 290, 15))
    ]
    s = assert_suspects(run(each), "corrupt-samples", "likely")
    assert f"the same 3 samples are in the batch at {len(each)} of {len(each)} jumps" in s.evidence[0].text
    others = [
        spike(step, i, None, samples=(), epoch=-1, marks=tuple(map(int, draws.integers(10, 800, 32)))) for i, step in enumerate(range(20, 290, 15))
    ]
    assert_silent(run(others), "corrupt-samples", "any samples")


def test_a_jump_without_return() -> None:
    s = assert_suspects(run(jumps()[:1], back=False), "corrupt-samples", "likely")
    assert "did not come back" in s.evidence[0].text


def test_it_explains_what_the_jumps_look_like() -> None:
    rates = {"update_ratio": {"a": np.where(np.isin(np.arange(300), STEPS), 5.0, 0.2)}}
    d = diagnose(run(jumps(), families=rates, optimizers=[Optimizer(index=0, steps=300)]))
    assert [c.cause for c in d.causes] == ["corrupt-samples"]


def test_rare_values_that_are_real_are_only_possible_where_gradients_do_not_feel_them() -> None:
    even = {"grad_norm": 1 + 0.1 * np.random.default_rng(2).random(300)}
    assert_suspects(run(far(30.0), series=even), "corrupt-samples", "possible")


def test_a_tail_of_targets_under_clipping_is_only_possible() -> None:
    values = (92.9, 167.1, 256.3, 120.4, 81.0)
    claims = [
        spike(step, i, Outlier(role="target", row=i, sample=i, columns=1, value=v, low=-0.3, high=2.9, ranges=60.0), samples=())
        for i, (step, v) in enumerate(zip(STEPS, values, strict=True))
    ]
    assert assert_suspects(run(claims), "corrupt-samples").certainty == "likely"
    clipped = diagnose(run(claims, clippings=[Clipping()]))
    assert not any(c.cause == "corrupt-samples" and c.certainty != "possible" for c in clipped.causes)


def test_without_weights_a_sample_that_comes_with_every_jump_is_told() -> None:
    assert_suspects(run(jumps(outlier=None)), "corrupt-samples", "likely")
