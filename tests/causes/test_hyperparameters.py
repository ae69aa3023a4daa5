"""over-regularised, underfitting-short-training and batch-too-small; and the remark on validation below training."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from causes.scripts import LOOP, added, at, loop_facts
from sickbay.conclude import diagnose
from sickbay.facts import Accumulation, EvaluationData, Head, Layer, Loader, Log, Loss, Mask, Modes, Op, OptimizerGroup, Penalty, Run, Timeline
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record, model_facts

LAYERS = ("a", "b", "c")
DROPS = LOOP.replace("model = Net()", "model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.9), nn.Linear(32, 2))")
DECAYS = LOOP.replace("momentum=0.9)", "momentum=0.9, weight_decay=0.5)")


def high(steps: int = 300, seed: int = 0) -> np.ndarray:
    return falling(2.3, 1.9, steps, seed=seed)


def run(losses: Any, rate: float | None = None, evaluated: float | None = None, shrunk: float = 1.0, decay: float = 0.0, **extra: Any) -> Record:
    losses = np.asarray(losses, float)
    frames = np.arange(0, len(losses), max(1, len(losses) // 20))
    series: dict[str, Any] = {"loss/train": losses, "lr": np.full(len(losses), 0.1)}
    if evaluated is not None:
        series["loss/eval"] = (np.linspace(20, len(losses) - 1, 8).astype(int), np.linspace(losses[0], evaluated, 8))
    families = {"weight_norm": {f"{x}.weight": (frames, np.geomspace(3.0, 3.0 * shrunk, len(frames))) for x in LAYERS}}
    modes = Modes(sensitive=() if rate is None else (f"drop: Dropout(p={rate})",), **extra)
    groups = (OptimizerGroup(lr=0.1, weight_decay=decay),)
    return make_record(
        series=series,
        families=families,
        modes=modes,
        **loop_facts(DROPS if rate else DECAYS if decay else LOOP, groups=groups),
        **model_facts(*LAYERS),
    )


def pulled(decay: float, gradient: float, shrunk: float = 1.0) -> Record:
    """A loss that stands at a quarter of its start, with weights of size 3."""
    stands = np.concatenate([falling(3.0, 0.8, 200), np.full(400, 0.8)]) + 0.02 * np.random.default_rng(0).standard_normal(600)
    record = run(stands, decay=decay, shrunk=shrunk)
    frames = record.family("weight_norm").steps
    gradients = make_record(families={"grad_norm": {f"{x}.weight": (frames, np.full(len(frames), gradient)) for x in LAYERS}}).families
    return replace(record, families=dict(record.families) | dict(gradients))


def turned_again() -> np.ndarray:
    """Learned, and lost again."""
    return np.concatenate([falling(4.4, 2.65, 150), np.linspace(2.65, 4.3, 250)])


def creeping(last: float = 0.063) -> np.ndarray:
    """Down to a twentieth, and slowly up again under the noise of its batches."""
    way = np.concatenate([np.geomspace(0.9, 0.048, 200), np.linspace(0.048, last, 1400)])
    return np.asarray(way * np.exp(0.3 * np.random.default_rng(0).standard_normal(1600)))


def masked(rate: float) -> Record:
    given = loop_facts()
    given["losses"] = [Loss(index=0, optimizers=(0,), masks=(Mask(place=at("out = model(x)"), zeros=int(1000 * rate), count=1000),), backwards=300)]
    return make_record(series={"loss/train": high(), "lr": np.full(300, 0.1)}, **given, **model_facts(*LAYERS))


PENALISED = LOOP.replace(
    "loss = F.cross_entropy(out, y)", "loss = F.cross_entropy(out, y) + L1 * sum(p.abs().sum() for p in model.parameters())"
).replace("model = Net()", "L1 = 0.02\nmodel = Net()")


def penalised(last: float = 0.25, shrunk: float = 0.3) -> Record:
    """A penalty that was three quarters of the first loss; `last` of what the data ask for is left."""
    losses = falling(4.6, 0.2 + last, 300)
    frames = np.arange(0, 300, 15)
    families = {"weight_norm": {f"{x}.weight": (frames, np.geomspace(3.0, 3.0 * shrunk, len(frames))) for x in LAYERS}}
    given = loop_facts(PENALISED)
    found = Penalty(place=at("p.abs()", PENALISED), call="L1 * sum(...)", first=3.5, first_loss=4.6, last=0.2, last_loss=0.2 + last, step=256)
    given["losses"] = [Loss(index=0, optimizers=(0,), backwards=300, penalties=(found,))]
    return make_record(series={"loss/train": losses, "lr": np.full(300, 0.1)}, families=families, **given, **model_facts(*LAYERS))


def another_net(rate: float) -> Record:
    """Training falls with dropout on, evaluation rises with dropout off."""
    evaluations = (np.arange(60, 1200, 60), np.r_[0.36, 0.37, np.linspace(0.42, 0.85, 17)])
    record = run(falling(1.1, 0.2, 1200), rate=rate)
    return replace(record, all_series=dict(record.all_series) | make_record(series={"loss/eval": evaluations}).all_series)


def few_left(rate: float = 0.8, width: int = 48, shrunk: float = 0.97, ratio: float = 3e-3, losses: Any = None, evaluated: float = 1.85) -> Record:
    """Two narrow layers behind each other drop most of their inputs; evaluation, with dropout off, is no better."""
    record = run(high() if losses is None else losses, rate=rate, evaluated=evaluated, shrunk=shrunk)
    modes = replace(record.facts.modes, sensitive=tuple(f"{x}_drop: Dropout(p={rate})" for x in ("a", "b")))
    frames = record.family("weight_norm").steps
    families = make_record(families={"update_ratio": {f"{x}.weight": (frames, np.full(len(frames), ratio)) for x in LAYERS}}).families
    facts = model_facts(*LAYERS, width=width)
    order = ("a", "a_drop", "b", "b_drop", "c")
    model = replace(facts["models"][0], layers=tuple(Layer(name=x, kind="Dropout" if "_" in x else "Linear") for x in order))
    record = replace(record, families=dict(record.families) | dict(families))
    return with_facts(record, modes=modes, models=(model,), parameters=facts["parameters"], run=Run(steps=400, epochs=8, backwards=400))


class TestOverRegularised(CauseTestCase):
    cause = "over-regularised"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run(high(), rate=0.9)
        yield run(high(), rate=0.75, evaluated=1.2)
        yield run(high(), shrunk=0.1, decay=0.5)
        yield penalised()
        yield masked(0.9)
        yield run(turned_again(), shrunk=0.7, decay=0.03)
        yield pulled(0.1, gradient=0.3)
        yield run(creeping(), shrunk=0.25, decay=0.1)
        yield another_net(0.8)
        yield pulled(0.1, gradient=1.5, shrunk=0.8)
        yield few_left()

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "dropout of a half, validation below training", run(high(), rate=0.5, evaluated=1.2)
        yield "strong dropout that costs nothing", run(high(), rate=0.75, evaluated=1.9)
        yield "strong dropout on a model that learns", run(falling(2.3, 0.3), rate=0.9)
        yield "trained in eval mode: nothing was dropped", run(high(), rate=0.9, training_in_eval=300)
        yield "a large decay that does not shrink anything", run(high(), decay=0.5)
        yield "a decay that is small beside the gradient", pulled(0.1, gradient=5.0)
        yield "a decay that is a fifth of the gradient, and weights that keep their size", pulled(0.1, gradient=1.5)
        yield "evaluation rises beside usual dropout", another_net(0.5)
        yield "a usual decay beside hardly any gradient", pulled(5e-4, gradient=1e-3)
        yield "weights that shrink without decay", run(high(), shrunk=0.1)
        yield "weights that shrink while the loss falls", run(falling(2.3, 0.1), shrunk=0.1, decay=0.5)
        yield "a few steps", run(high(20), rate=0.9)
        yield "small weights, and the loss stands low", run(creeping(0.048), shrunk=0.25, decay=0.1)
        yield "small weights, and a usual decay", run(creeping(), shrunk=0.25, decay=5e-4)
        yield "the loss creeps up, the weights kept their size", run(creeping(), shrunk=0.9, decay=0.1)
        yield "a loss that rises again without shrinking weights", run(turned_again(), shrunk=0.95, decay=0.03)
        yield "weights that shrink a little while the loss falls", run(falling(4.4, 1.6, 400), shrunk=0.7, decay=0.03)
        yield "half of the units dropped by hand", masked(0.5)
        yield "usual dropout in narrow layers", few_left(rate=0.5)
        yield "much is dropped, and enough is left of wide layers", few_left(width=256)
        yield "few units are left, and the weights grow with what they learn", few_left(shrunk=1.05)
        yield "few units are left, and steps that are short anyway", few_left(ratio=5e-4)
        yield "few units are left, and the loss falls", few_left(losses=falling(2.3, 0.3))
        yield "a penalty beside data that are fitted", penalised(last=0.05)
        yield "a penalty that shrinks nothing", penalised(shrunk=0.9)


@pytest.mark.parametrize(
    ("record", "place", "new"),
    [
        (run(high(), rate=0.9), "nn.Dropout(0.9)", "nn.Dropout(0.2)"),
        (run(high(), shrunk=0.1, decay=0.5), "weight_decay=0.5", "weight_decay=1e-4"),
        (penalised(), "L1 = 0.02", "L1 = 0.0002"),
    ],
)
def test_the_number_is_found_and_changed(record: Record, place: str, new: str) -> None:
    suspicion = assert_suspects(record, "over-regularised")
    assert suspicion.place is not None and suspicion.place.text is not None and place in suspicion.place.text
    (line,) = added(suspicion.fix.diff)
    assert new in line


def test_dropout_by_a_name_of_the_scripts_own() -> None:
    record = run(high(), rate=0.9)
    source = "KEEP = 0.9\n" + DROPS.replace("nn.Dropout(0.9)", "nn.Dropout(KEEP)")
    place = assert_suspects(replace(record, sources={"train.py": source}), "over-regularised").place
    assert place is not None and "nn.Dropout(KEEP)" in (place.text or "")


def test_a_constant_in_capitals_is_the_place() -> None:
    source = "DROPOUT = 0.9\n" + DROPS.replace("nn.Dropout(0.9)", "nn.Dropout(DROPOUT)")
    suspicion = assert_suspects(replace(run(high(), rate=0.9), sources={"train.py": source}), "over-regularised")
    assert suspicion.place is not None and suspicion.place.line == 1
    assert added(suspicion.fix.diff) == ["DROPOUT = 0.2"]


def test_functional_dropout_counts_too() -> None:
    source = LOOP.replace("out = model(x)", "out = model(F.dropout(x, 0.9, training=True))")
    given = loop_facts(source)
    given["losses"] = [Loss(index=0, optimizers=(0,), operations=(Op(name="dropout", place=at("F.dropout", source)),), backwards=300)]
    record = make_record(series={"loss/train": high(), "lr": np.full(300, 0.1)}, **given, **model_facts(*LAYERS))
    suspicion = assert_suspects(record, "over-regularised")
    assert "90%" in suspicion.evidence[0].text and "train.py:9" in suspicion.evidence[0].text


def steep(steps: int = 80, last: float = 1.4, noise: float = 0.01) -> np.ndarray:
    t = np.linspace(0, 1, steps)
    return np.asarray((2.3 - (2.3 - last) * t) * (1 + noise * np.random.default_rng(0).standard_normal(steps)))


def two_passes(epochs: int = 2, last: float = 0.6, validation: tuple[float, ...] = (2.5, 1.5, 1.0, 0.65)) -> Record:
    """A loss that loses the same share of itself again and again."""
    t = np.linspace(0, 1, 200)
    losses = 4.0 * (last / 4.0) ** t * np.exp(0.05 * np.random.default_rng(0).standard_normal(200))
    evaluated = (np.array([49, 99, 149, 199]), np.array(validation))
    state = Run(steps=200, backwards=200, epochs=epochs, exit=0, finished=True)
    return make_record(series={"loss/train": losses, "loss/eval": evaluated, "lr": np.full(200, 0.01)}, run=state, **model_facts(*LAYERS))


SPIRAL = (0.674, 0.657, 0.621, 0.598, 0.544, 0.503)


def evaluated_often(validation: tuple[float, ...] = SPIRAL, epochs: int = 2, noise: float = 0.12, lr: float = 1.0) -> Record:
    """Batches so noisy that only validation shows how fast it falls; `lr` is what is left of the rate."""
    losses = np.linspace(0.8, 0.5, 120) * np.exp(noise * np.random.default_rng(1).standard_normal(120))
    series = {"loss/train": losses, "loss/eval": (np.linspace(19, 119, len(validation)).astype(int), np.array(validation))}
    state = Run(steps=120, backwards=120, epochs=epochs, exit=0, finished=True)
    return make_record(series=series | {"lr": np.geomspace(0.01, 0.01 * lr, 120)}, run=state, **model_facts(*LAYERS))


def by_hand(validation: tuple[float, ...] = (1.38, 0.79), rows: int = 2560, distinct: int = 1280, last: float = 0.8) -> Record:
    """Batches that no loader made: the rows that come again tell how often training went through its data."""
    losses = last + (3.8 - last) * np.exp(-np.linspace(0, 4, 40))
    series = {"loss/train": losses, "loss/eval": (np.linspace(20, 40, len(validation)).astype(int), np.array(validation)), "lr": np.full(40, 0.003)}
    state = Run(steps=40, backwards=40, exit=0, finished=True)
    return make_record(series=series, run=state, evaluation_data=[EvaluationData(train_rows=rows, train_distinct=distinct)], **model_facts(*LAYERS))


def gaining(validation: tuple[float, ...] = (0.515, 0.419, 0.273), epochs: int = 3, lr: float = 1.0) -> Record:
    """Three passes of sixty steps, of which each wins a larger share than the one before."""
    losses = (0.2 + 1.2 * np.exp(-5 * np.linspace(0, 1, 189))) * np.exp(0.05 * np.random.default_rng(0).standard_normal(189))
    series = {"loss/train": losses, "loss/eval": (np.linspace(63, 189, len(validation)).astype(int), np.array(validation))}
    state = Run(steps=189, backwards=189, epochs=epochs, exit=0, finished=True)
    return make_record(series=series | {"lr": np.geomspace(0.01, 0.01 * lr, 189)}, run=state, **model_facts(*LAYERS))


def half_way(
    validation: tuple[float, ...] = (1.51, 1.40, 1.22), train: Any = None, epochs: int = 3, lr: float = 1.0, right: float = 0.5, at: Any = None
) -> Record:
    """Passes of a hundred steps each, and a validation loss after each; training is a little above it."""
    steps = 100 * epochs
    levels = np.array(validation) * 1.05 if train is None else np.asarray(train)
    losses = np.interp(np.arange(steps), np.linspace(0, steps, len(levels) + 1), np.r_[max(2.0, levels[0] * 1.2), levels])
    places = np.linspace(steps / len(validation), steps, len(validation)).astype(int) - 1 if at is None else np.asarray(at)
    series = {
        "loss/train": losses * np.exp(0.03 * np.random.default_rng(0).standard_normal(steps)),
        "loss/eval": (places, np.array(validation)),
        "accuracy/eval": (places, np.full(len(places), right)),
        "lr": np.geomspace(0.01, 0.01 * lr, steps),
    }
    return make_record(series=series, run=Run(steps=steps, backwards=steps, epochs=epochs, exit=0, finished=True), **model_facts(*LAYERS))


NAMES = (2.33, 1.68, 1.36, 1.17)


def few(validation: tuple[float, ...] = NAMES, distinct: int = 1485, steps: int = 94, last: float = 1.1) -> Record:
    """Two passes, evaluated every twenty steps or so."""
    t = np.linspace(0, 1, steps)
    losses = (last - 0.15 + (3.3 - last) * np.exp(-2.6 * t)) * np.exp(0.01 * np.random.default_rng(0).standard_normal(steps))
    series = {
        "loss/train": losses,
        "loss/eval": (np.linspace(19, 0.85 * steps, len(validation)).astype(int), np.array(validation)),
        "lr": np.full(steps, 0.003),
    }
    state = Run(steps=steps, backwards=steps, exit=0, finished=True)
    return make_record(series=series, run=state, evaluation_data=[EvaluationData(train_rows=2970, train_distinct=distinct)], **model_facts(*LAYERS))


def hardly_begun(validation: tuple[float, ...] = (125.8, 120.3, 117.4), last: float = 118.0, right: float = 0.5) -> Record:
    """Seventy steps in three epochs of a loss that has a floor of its own, so that shares of it say little."""
    t = np.linspace(0, 1, 72)
    losses = last - 4 + 60 * np.exp(-3 * t) + np.random.default_rng(0).standard_normal(72)
    at = np.linspace(24, 72, len(validation)).astype(int)
    series = {"loss/train": losses, "loss/eval": (at, np.array(validation)), "accuracy/eval": (at, np.full(len(at), right)), "lr": np.full(72, 0.003)}
    return make_record(series=series, run=Run(steps=72, backwards=72, epochs=3, exit=0, finished=True), **model_facts(*LAYERS))


STOPS = LOOP.replace("for epoch in range(10):", "for epoch in range(40):\n    if stopper(validate(model)):\n        break")


def stops(validation: Any = None, source: str = STOPS) -> Record:
    """Thirteen rounds of forty, with a validation loss after each."""
    values = np.geomspace(0.98, 0.34, 13) if validation is None else np.asarray(validation)
    series = {"loss/train": falling(1.0, 0.33, 260), "loss/eval": (np.linspace(20, 260, len(values)).astype(int), values), "lr": np.full(260, 3e-4)}
    return make_record(series=series, **loop_facts(source), **model_facts(*LAYERS))


def on_the_way(ratio: float = 2e-3, steps: int = 300, last: float = 1.2, falls: float = 1.0, evaluated: bool = True) -> Record:
    """More than 150 steps of a healthy size, and losses that fall to the end (or to that part of the run)."""
    level = 2.3 + (last - 2.3) * np.minimum(np.linspace(0, 1 / falls, steps), 1.0)
    record = run(level * (1 + 0.02 * np.random.default_rng(0).standard_normal(steps)), evaluated=last if evaluated else None)
    if evaluated:
        shown = record.series("loss/eval")
        shown.values[:] = level[shown.steps]
    frames = np.arange(0, steps, 15)
    families = make_record(families={"update_ratio": {f"{x}.weight": (frames, np.full(len(frames), ratio)) for x in LAYERS}}).families
    losses = (replace(record.facts.losses[0], heads=(Head(function="cross_entropy", reduction="mean"),)),)
    return with_facts(
        replace(record, families=dict(record.families) | dict(families)), losses=losses, run=Run(steps=steps, epochs=6, backwards=steps)
    )


class TestUnderfittingShortTraining(CauseTestCase):
    cause = "underfitting-short-training"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run(steep())
        yield run(steep(40), evaluated=1.5)
        yield run(2.3 - 0.9 * np.linspace(0, 1, 60) ** 2)
        yield two_passes()
        yield evaluated_often()
        yield evaluated_often((2.76, 2.22, 1.62, 1.20, 0.95, 0.79, 0.66, 0.55, 0.47, 0.41, 0.36), epochs=1)
        yield by_hand()
        yield few()
        yield hardly_begun()
        yield stops()
        yield gaining()
        yield half_way()
        yield half_way((1.75, 1.35, 1.01), epochs=3)
        yield half_way((1.75, 1.35, 1.08), epochs=3)
        yield half_way((1.9, 1.7, 1.5, 1.28), epochs=4)
        yield half_way(tuple(np.geomspace(2.0, 1.5, 6)) + tuple(np.geomspace(1.45, 1.1, 4)), epochs=5)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "steps that reach farther than the weights are large", on_the_way(ratio=1e-2)
        yield "steps that are too small", on_the_way(ratio=2e-4)
        yield "few steps, and nobody evaluates what comes of them", on_the_way(evaluated=False)
        yield "few steps, and it stands", on_the_way(falls=0.5)
        yield "few steps, and little is left", on_the_way(last=0.2)
        yield "levelling off", run(falling(2.3, 1.4, 80, noise=0.01))
        yield "has halved already", run(steep(last=0.5))
        yield "five passes", two_passes(epochs=5)
        yield "no validation that falls with it", two_passes(validation=(2.0, 1.1, 1.2, 1.15))
        yield "validation levels off", evaluated_often((0.674, 0.6, 0.56, 0.54, 0.525, 0.52))
        yield "validation stands at the end", evaluated_often((0.674, 0.657, 0.621, 0.55, 0.5, 0.499))
        yield "validation goes up and down", evaluated_often((0.674, 0.657, 0.621, 0.64, 0.56, 0.503))
        yield "ten passes, evaluated often", evaluated_often(epochs=10)
        yield "a schedule that has ended, evaluated often", evaluated_often(lr=0.01)
        yield "stopped when validation stood", stops(np.r_[np.geomspace(0.98, 0.4, 10), 0.41, 0.4, 0.405])
        yield "stopped when validation crept", stops(np.r_[np.geomspace(0.98, 0.4, 6), 0.4 - 0.001 * np.arange(7)])
        yield "stopped when it was done", stops(np.geomspace(0.98, 0.02, 13))
        yield "no way out of the loop", stops(source=LOOP.replace("range(10)", "range(40)"))
        yield "all rounds", stops(source=STOPS.replace("range(40)", "range(13)"))
        yield "few evaluations, which level off", few((2.33, 1.5, 1.25, 1.17))
        yield "few evaluations, the last wins little", few((2.33, 1.68, 1.25, 1.18))
        yield "few evaluations of many passes", few(distinct=300)
        yield "few evaluations of a longer run", few(steps=200)
        yield "three passes, each wins less than the one before", gaining((0.65, 0.4, 0.27))
        yield "the last of three passes wins little", gaining((0.335, 0.32, 0.28))
        yield "three passes, and nearly all is learned", gaining((0.3, 0.2, 0.1))
        yield "five passes that gain speed", gaining(epochs=5)
        yield "three passes of a schedule that has ended", gaining(lr=0.01)
        yield "few steps, validation levels off", hardly_begun((125.8, 119.0, 118.2))
        yield "few steps, validation rises again", hardly_begun((125.8, 117.4, 118.0))
        yield "few steps, which were enough", hardly_begun(right=0.97)
        yield "by hand, many passes", by_hand(distinct=256)
        yield "each pass wins less than the one before", half_way((1.6, 1.3, 1.15, 1.03), epochs=4)
        yield "each pass wins much less than the one before", half_way((1.9, 1.2, 0.95), epochs=3)
        yield "the last pass wins a twentieth", half_way((1.51, 1.45, 1.375))
        yield "near the floor", half_way((0.5, 0.42, 0.33))
        yield "nearly every answer is right", half_way(right=0.93)
        yield "a rate that was brought down", half_way(lr=0.05)
        yield "training does not fall with it", half_way(train=(1.5, 1.49, 1.5))
        yield "the last pass was the longest", half_way(at=(90, 140, 299))
        yield "ten passes", half_way((1.9, 1.86, 1.8, 1.75, 1.7, 1.6, 1.5, 1.4, 1.25, 1.1), epochs=10)
        yield "validation goes up and down", half_way((1.51, 1.6, 1.22))
        yield "by hand, validation has slowed down", by_hand((0.95, 0.79))
        yield "by hand, most of it is learned", by_hand((0.9, 0.5), last=0.5)
        yield "nearly done", two_passes(last=0.2)
        yield "hidden in noise", run(steep(noise=0.2))
        yield "a few steps", run(steep(20))
        yield "slow as it is", run(steep(last=2.2))
        yield "validation stands", run(steep(), evaluated=2.5)
        yield "a trial that we ended", with_facts(run(steep()), run=Run(steps=80, backwards=80, shortened=True))
        cooled = run(steep())
        cooled.all_series["lr"].values[:] = 0.1 * (1 + np.cos(np.pi * np.linspace(0, 1, 80))) / 2  # type: ignore[index]
        yield "a schedule that has ended", cooled
        tiny = run(steep())
        frames = np.arange(0, 80, 4)
        families = {"update_ratio": {f"{x}.weight": (frames, np.full(len(frames), 1e-6)) for x in LAYERS}}
        yield (
            "tiny steps: the rate is too low",
            make_record(series={"loss/train": tiny.series("loss/train").values}, families=families, **model_facts(*LAYERS)),
        )


def test_a_short_log_is_no_illness() -> None:
    record = with_facts(run(steep()), log=Log(file="x", axis="step"))
    diagnosis = diagnose(record)
    assert (diagnosis.verdict, diagnosis.shapes[0]) == ("undecided", "underfitting-short-training")


def test_more_epochs_are_shown_where_their_number_stands() -> None:
    record = with_facts(run(steep()), run=Run(steps=80, epochs=10, backwards=80))
    suspicion = assert_suspects(record, "underfitting-short-training")
    assert added(suspicion.fix.diff) == ["for epoch in range(100):"]


def jumping(level: float = 1.8, spread: float = 1.2, steps: int = 1000) -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.abs(np.concatenate([rng.normal(1.8, 0.3, 20), rng.gamma((level / spread) ** 2, spread**2 / level, steps - 20)]))


EVALUATED = {"loss/eval": (np.arange(99, 1000, 100), np.array([1.8, 1.2, 2.1, 1.3, 1.9, 1.1, 2.0, 1.2, 2.2, 1.4]))}


AT = np.arange(99, 1000, 100)
WANDERING = {"loss/eval": (AT, np.array([0.55, 0.43, 0.43, 0.38, 0.39, 0.43, 0.38, 0.44, 0.37, 0.41]))}
WILD = {"loss/eval": (AT, np.array([0.55, 0.43, 0.60, 0.38, 0.55, 0.36, 0.66, 0.34, 0.62, 0.40]))}
STANDING = {"loss/eval": (AT, np.array([0.55, 0.43, 0.41, 0.40, 0.39, 0.395, 0.39, 0.40, 0.39, 0.395]))}
FALLING = {"loss/eval": (AT, np.array([0.55, 0.50, 0.47, 0.42, 0.41, 0.36, 0.35, 0.29, 0.28, 0.23]))}


def low() -> np.ndarray:
    """Down to a quarter of its start, where it stays."""
    return np.concatenate([jumping(1.8, 0.6)[:60], jumping(0.45, 0.3)[20:]])


def slowly() -> np.ndarray:
    """The same, and it loses a fifth of that in the second half."""
    values = low()
    return values * np.interp(np.arange(len(values)), [0, len(values) // 2, len(values)], [1.0, 1.0, 0.82])


def small(
    losses: np.ndarray, rows: int = 1, samples: int = 1000, lr: float = 0.01, validation: Mapping[str, Any] | None = None, **facts: Any
) -> Record:
    head = Head(function="cross_entropy", target_shape=(rows,), input_shape=(rows, 6), classes=6)
    given = loop_facts(LOOP.replace("for epoch", "loader = DataLoader(data, batch_size=1, shuffle=True)\nfor epoch"), groups=(OptimizerGroup(lr=lr),))
    given["losses"] = [Loss(index=0, optimizers=(0,), heads=(head,), backwards=100)]
    loaders = (Loader(index=0, role="train", batch_size=rows, samples=samples),)
    series = {"loss/train": losses, "lr": np.full(len(losses), lr), **(validation or {})}
    return make_record(series=series, loaders=loaders, **given, **facts)


def guessing(ratios: Any, rows: int = 1) -> Record:
    """A classifier that guesses from the first step to the last, and its updates."""
    losses = np.random.default_rng(0).normal(np.log(6), 0.2, 1500)
    frames = np.linspace(0, 1499, len(ratios)).astype(int)
    families = {"update_ratio": {f"{x}.weight": (frames, np.array(ratios)) for x in LAYERS}}
    record = small(losses, rows, families=families, run=Run(steps=1500, backwards=1500), **model_facts(*LAYERS))
    return with_facts(record, losses=(replace(record.facts.losses[0], heads=(replace(record.facts.losses[0].heads[0], reduction="mean"),)),))


KILLED = (0.01, 0.02, 0.01, 0.02, 0.008, 1e-4, 0.0, 0.0)


class TestBatchTooSmall(CauseTestCase):
    cause = "batch-too-small"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield small(jumping(), validation=EVALUATED)
        yield small(jumping(2.1, 2.0), rows=2, validation=EVALUATED)
        yield small(low(), rows=2, validation=WANDERING)
        yield small(slowly(), validation=WILD)
        yield small(jumping(steps=4000))
        yield guessing(KILLED)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "it guesses, and its steps are as large as ever", guessing([0.01] * 8)
        yield "it guesses by ordinary batches", guessing(KILLED, rows=32)
        yield "it learns", small(jumping() * np.geomspace(1, 0.1, 1000))
        yield "a floor that was reached", small(np.concatenate([jumping(1.8, 0.6)[:100], jumping(0.6, 0.4)]))
        yield "low, and validation stands", small(low(), validation=STANDING)
        yield "low, and validation still falls", small(low(), validation=FALLING)
        yield "it still falls a little, and validation wanders a little", small(slowly(), validation=WANDERING)
        yield "validation of ordinary batches wanders", small(low(), rows=32, validation=WANDERING)
        yield "solved, and validation wanders", small(np.concatenate([jumping(1.8, 0.6)[:60], jumping(0.1, 0.07)[20:]]), validation=WANDERING)
        yield "an ordinary batch", small(jumping(), rows=32)
        yield "a rate too high for any batch", small(jumping(), lr=1.0)
        yield "a handful of samples in all", small(jumping(), samples=20)
        yield "accumulated", small(jumping(), accumulations=[Accumulation(backwards=16, steps=60)])
        rails = {"conv.3": (np.arange(0, 1000, 50), np.full(20, 0.95))}
        yield "units that were at their rails before", small(jumping(), validation=EVALUATED, families={"activation_saturated": rails})
        yield "quiet", small(np.random.default_rng(0).normal(1.8, 0.05, 1000))


def test_one_sample_at_a_time_can_work_well() -> None:
    assert_suspects(small(jumping()), "batch-too-small", "possible")


def test_the_loop_that_feeds_single_samples() -> None:
    record = small(jumping())
    record = replace(record, sources={"train.py": LOOP.replace("loader:", "train_set:")})
    record = with_facts(record, timeline=Timeline(places={"forward": at("out = model(x)")}))
    place = assert_suspects(record, "batch-too-small").place
    assert place is not None and place.text == "for x, y in train_set:" and place.guess


def test_a_larger_batch_is_shown() -> None:
    fix = assert_suspects(small(jumping()), "batch-too-small").fix
    assert added(fix.diff) == ["loader = DataLoader(data, batch_size=32, shuffle=True)"]


def test_validation_below_training_is_explained_and_fine() -> None:
    train = falling(2.3, 0.6)
    at = np.arange(29, 300, 30)
    series = {"loss/train": train, "loss/eval": (at, 0.5 * train[at])}
    diagnosis = diagnose(make_record(series=series, modes=Modes(sensitive=("drop: Dropout(p=0.5)",)), **loop_facts(), **model_facts(*LAYERS)))
    assert diagnosis.verdict == "healthy"
    assert "because dropout (p=0.5) is on in training: fine" in diagnosis.reason
    assert "below" not in diagnose(make_record(series=series, **loop_facts(), **model_facts(*LAYERS))).reason, "nothing explains it"


def cox(op: str = "logcumsumexp", shrunk: float = 0.28) -> Record:
    """A loss by hand that sorts its rows, and weights that a decay has made small."""
    record = run(falling(3.1, 2.6, 300), shrunk=shrunk, decay=0.07)
    names = ("div", "sum", "neg", "mul", "sub", op, "getitem", "squeeze", "linear", "relu", "exp", "linear")
    loss = Loss(index=0, optimizers=(0,), operations=tuple(Op(name=n, place=at("out = model(x)")) for n in names), backwards=300)
    return with_facts(record, losses=(loss,))


@pytest.mark.parametrize(("op", "sick"), [("logcumsumexp", False), ("sort", False), ("pow", True), ("logsumexp", True)])
def test_the_height_of_a_loss_counts_where_it_could_come_to_zero(op: str, sick: bool) -> None:
    """...which is for the operations up to the model's last one: what the model does itself does not matter."""
    suspects = [s.cause for s in diagnose(cox(op)).causes]
    assert ("over-regularised" in suspects) == sick


def starved(rate: float = 0.9, width: int = 48, late: float = 2e-3) -> Record:
    """A classifier that stands at guessing; the first steps were large, and the later ones (or not) of a healthy size."""
    record = few_left(rate=rate, width=width, losses=np.full(400, 2.303) + 0.01 * np.random.default_rng(0).standard_normal(400), evaluated=2.303)
    frames = record.family("weight_norm").steps
    ratios = np.r_[np.full(5, 0.17), np.full(len(frames) - 5, late)]
    families = make_record(families={"update_ratio": {f"{x}.weight": (frames, ratios) for x in LAYERS}}).families
    head = Head(function="cross_entropy", reduction="mean", classes=10)
    return with_facts(replace(record, families=dict(record.families) | dict(families)), losses=(replace(record.facts.losses[0], heads=(head,)),))


@pytest.mark.parametrize(
    ("record", "first"),
    [(starved(), "over-regularised"), (starved(late=0.1), "lr-too-high"), (starved(rate=0.3), "lr-too-high"), (starved(width=2000), "lr-too-high")],
)
def test_large_first_steps_behind_drowning_dropout_are_the_dropouts(record: Record, first: str) -> None:
    assert diagnose(record).causes[0].cause == first
