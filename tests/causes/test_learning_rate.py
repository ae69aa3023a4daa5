"""lr-too-high, lr-too-low and lr-decayed-too-soon."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from causes.scripts import LOOP, added, loop_facts
from sickbay.facts import Crash, Head, Loss, Scheduler
from sickbay.nouns import Place
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record, model_facts

LAYERS = ("a", "b", "c", "d")


def run(
    losses: Any, ratio: Any = 1e-3, extra: dict[str, Any] | None = None, lr: Any = 0.1, dead: Any = None, source: str = LOOP, **model: Any
) -> Record:
    losses = np.asarray(losses, float)
    frames = np.arange(0, len(losses), max(1, len(losses) // 40))
    families = {"update_ratio": {f"{x}.weight": (frames, np.broadcast_to(ratio, frames.shape)) for x in LAYERS}}
    if dead is not None:
        families["activation_dead"] = {"relu": (frames, np.broadcast_to(dead, frames.shape))}
    series = {"loss/train": losses, "lr": np.broadcast_to(lr, losses.shape)} | (extra or {})
    return make_record(series=series, families=families, **loop_facts(source), **model_facts(*LAYERS, **model))


def noisy(level: float, scale: float, steps: int = 300) -> np.ndarray:
    return level + np.random.default_rng(0).normal(0, scale, steps)


def thrown(function: str) -> Record:
    """The first steps cost two hundred times the untrained model's loss, and all is well at the end."""
    record = run([0.9, 20.0, 180.0, *falling(90, 0.06, 200)], ratio=np.where(np.arange(43) < 4, 1.5, 0.02)[:41])
    heads = (Head(function=function, reduction="mean"),) if function else ()
    return with_facts(record, losses=(replace(record.facts.losses[0], heads=heads),))


def fine_tuned(losses: Any, factor: float = 40.0) -> Record:
    """Two optimizers, one after the other."""
    steps, half = np.arange(len(losses)), len(losses) // 2
    rates = {"lr": (steps[:half], np.full(half, 0.002)), "lr@1": (steps[half:], np.full(len(losses) - half, 0.002 * factor))}
    record = run(losses, extra=rates)
    return with_facts(record, losses=(replace(record.facts.losses[0], heads=(Head(function="cross_entropy", reduction="mean"),)),))


def broken(losses: Any, ratio: float = 19.0) -> Record:
    """It ended with an exception."""
    crash = Crash(kind="RuntimeError", message="RuntimeError: all elements of input should be between 0 and 1", place=Place("train.py", 9), step=2)
    return with_facts(run(losses, ratio=ratio), crash=crash)


SWINGING = (0.116, 0.052, 0.061, 0.042, 0.032, 0.031, 0.024, 0.042, 0.049, 0.045, 0.022, 0.052)
SETTLED = (0.116, 0.052, 0.041, 0.035, 0.032, 0.031, 0.032, 0.031, 0.03, 0.031, 0.032, 0.03)


def restless(validation: tuple[float, ...] = SWINGING, peak: float = 0.9, grown: float = 6.0, up: float = 0.0, level: float = 0.03) -> Record:
    """Training comes far down and stands, or goes up by a share of its level in the second half; validation is as given."""
    ratio = np.maximum(peak * 0.6 ** np.arange(40), 0.004)
    losses = falling(0.85, level, 600, noise=0.02, speed=40) + up * level * np.maximum(np.linspace(-1, 1, 600), 0)
    record = run(losses, ratio=ratio, extra={"loss/eval": (np.arange(49, 600, 50), np.array(validation))})
    frames = record.family("update_ratio").steps
    sizes = make_record(families={"weight_norm": {f"{x}.weight": (frames, np.linspace(5, 5 * grown, len(frames))) for x in LAYERS}}).families
    heads = (Head(function="mse_loss", reduction="mean"),)
    return with_facts(replace(record, families=dict(record.families) | dict(sizes)), losses=(replace(record.facts.losses[0], heads=heads),))


def known(record: Record, kind: str = "SGD") -> Record:
    """...of a loss that compares with labels, by an optimizer of that kind."""
    head = Head(function="cross_entropy", reduction="mean", classes=10)
    return with_facts(record, losses=(replace(record.facts.losses[0], heads=(head,)),), optimizers=(replace(record.facts.optimizers[0], kind=kind),))


def sized(record: Record, grown: float) -> Record:
    """...with weights that end at so many times their first size."""
    frames = record.family("update_ratio").steps
    sizes = make_record(families={"weight_norm": {f"{x}.weight": (frames, np.geomspace(5, 5 * grown, len(frames))) for x in LAYERS}}).families
    return replace(record, families=dict(record.families) | dict(sizes))


def lost(lowest: float, grown: float) -> Record:
    """A classifier that comes down to `lowest` in the first quarter and is at guessing from then on."""
    return sized(known(run([*falling(2.3, lowest, 150), *noisy(math.log(10), 0.02, 450)], ratio=0.03)), grown)


def replaced(level: float, kind: str = "Adam", grown: float = 9.0, won: float = 0.0) -> Record:
    """The first steps replace the weights; the loss falls at once to a level and stands there, or goes on by a share of it."""
    losses = np.concatenate([falling(4.5, level, 60), noisy(level, 0.05 * level, 540)]) - won * level * np.linspace(0, 1, 600)
    return sized(known(run(losses, ratio=np.maximum(1.5 * 0.6 ** np.arange(40), 0.01)), kind), grown)


def blown_up(grown: float = 20.0, kind: str = "Adam", peak: float = 2.5, last: float = 0.6, layers: int = 4, **changes: Any) -> Record:
    """The first steps are larger than the weights, which are many times as large for it; the loss comes down slowly."""
    record = sized(known(run(falling(3.2, last, 400, noise=0.02, speed=3), ratio=np.maximum(peak * 0.6 ** np.arange(40), 0.005)), kind), grown)
    return with_facts(record, parameters=[replace(p, **changes) for p in record.facts.parameters[:layers]])


def on_the_way(ratio: float = 5e-4, first: float = 2.3, last: float = 1.2, steps: int = 600, levels_off: bool = False) -> Record:
    """Small steps, and a loss that falls in a straight line to the end of the run, or levels off before."""
    t = np.minimum(np.linspace(0, 1.6 if levels_off else 1.0, steps), 1.0)
    record = known(run((first + (last - first) * t) * noisy(1, 0.02, steps), ratio=ratio))
    return with_facts(record, run=replace(record.facts.run, steps=steps))


def hidden(validation: tuple[float, float] = (0.9, 0.78), noise: float = 0.15, ratio: float = 4e-4) -> Record:
    """A slow descent that the noise of single batches hides, beside a validation loss that goes from the first value to the second in a straight line."""
    record = on_the_way(ratio, *validation, steps=480)
    losses = record.series("loss/train").values * np.random.default_rng(1).normal(1, noise, 480)
    series = {"loss/train": losses, "loss/eval": (np.arange(39, 480, 40), np.linspace(*validation, 12))}
    return replace(record, all_series=dict(record.all_series) | dict(make_record(series=series).all_series))


class TestLrTooHigh(CauseTestCase):
    cause = "lr-too-high"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run(np.concatenate([noisy(1, 0.1, 20), noisy(9, 1, 100)]), ratio=0.5)
        yield run([2.3, 40.0, 9e3, 5e8, math.inf, math.nan], ratio=3.0)
        yield run(noisy(1.1, 0.1), ratio=0.3, dead=np.where(np.arange(43) < 3, 0.1, 0.9)[:43])
        yield run([3.5, 3.4, 6.3, *falling(5, 2.6, 200)], ratio=np.where(np.arange(43) < 4, 1.5, 0.02)[:41])
        yield run(2 + (-1.0) ** np.arange(200), ratio=0.4)
        yield thrown("mse_loss")
        yield broken([393.0, 2.3e10])
        yield restless()
        yield restless(SETTLED, level=0.4, up=0.08)
        yield fine_tuned([*falling(2.1, 0.3, 150), *noisy(2.08, 0.05, 150)])
        yield lost(1.2, grown=7.0)
        yield replaced(1.8)
        yield sized(known(run(falling(2.3, 1.8, 500), ratio=0.02)), 7.0)
        yield blown_up()

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "healthy", run(falling(2.3, 0.1))
        yield "back at guessing, with weights of their first size", lost(1.2, grown=1.2)
        yield "never left guessing", lost(2.25, grown=4.0)
        yield "large first steps of SGD, and a high floor", replaced(1.8, kind="SGD")
        yield "weights that grew while it learned", sized(known(run(falling(2.3, 0.3, 500), ratio=0.02)), 7.0)
        yield "weights that grew by steps that settle", sized(known(run(falling(2.3, 1.8, 500), ratio=0.004)), 7.0)
        yield "Adam's weights grow with its rate", sized(known(run(falling(2.3, 1.8, 500), ratio=0.02), "Adam"), 7.0)
        yield "large first steps of Adam, and it learns", replaced(0.2)
        yield "large first steps of Adam, and it still wins", replaced(1.8, won=0.3)
        yield "weights that a decay has shrunk, beside which any step is large", sized(run(noisy(2.3, 0.02), ratio=0.3), 1e-6)
        yield "steps as large as the weights, which grew threefold", blown_up(grown=2.9)
        yield "weights that grew tenfold by bold steps", blown_up(peak=0.25)
        yield "steps larger than the weights, and all is learned", blown_up(last=0.05)
        yield "one linear layer, which finds its way back", blown_up(layers=1)
        yield "weights that begin near zero", blown_up(initial_std=0.001)
        yield "steps that follow the size of the gradient", blown_up(kind="SGD")
        yield "an exception after steps that went well", broken([393.0, 380.0])
        yield "a jump, and small steps", broken([393.0, 2.3e10], ratio=0.01)
        yield "large first steps, and validation settles", restless(SETTLED)
        yield "large first steps, and it stands within its noise", restless(SETTLED, level=0.4, up=0.02)
        yield "it rises a little behind small steps", restless(SETTLED, peak=0.05, level=0.4, up=0.08)
        yield "large first steps, validation swings and falls", restless(tuple(np.geomspace(1, 0.05, 12) * np.array(SWINGING)))
        yield "validation swings behind small steps", restless(peak=0.05)
        yield "validation swings, the weights kept their size", restless(grown=1.3)
        yield "fine-tuning on what is harder, at the same rate", fine_tuned([*falling(2.1, 0.3, 150), *noisy(1.5, 0.05, 150)], factor=1.0)
        yield "a warm restart, from which it falls again", fine_tuned([*falling(2.1, 0.3, 150), *falling(1.4, 0.35, 150)])
        yield "large first updates, and it learns", run(falling(2.3, 0.1), ratio=0.3)
        yield "the error of a value function, which grows as an agent learns", thrown("")
        yield "a jump at first, made good", run([2.3, 2.2, 4.5, *falling(3, 0.2, 200)], ratio=np.where(np.arange(43) < 4, 1.5, 0.02)[:41])
        yield "noise floor", run(falling(1.3, 0.25, noise=0.2), ratio=0.01)
        yield "a sudden NaN from a good level", run([*falling(0.7, 0.04, 200), *[math.nan] * 50])
        yield "flat without large updates", run(noisy(2.3, 0.1))
        losses = [Loss(index=0, optimizers=(0,)), Loss(index=1, optimizers=(1,))]
        yield "a generator that loses", make_record(series={"loss/train": np.linspace(0.7, 6, 300), "loss/train@1": noisy(0.7, 0.1)}, losses=losses)
        yield "a policy gradient", run(noisy(-0.1, 1.0), ratio=0.2)


class TestLrTooLow(CauseTestCase):
    cause = "lr-too-low"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run(np.linspace(2.31, 2.27, 400) + noisy(0, 0.01, 400), ratio=1e-5)
        yield run(noisy(2.3, 0.02), ratio=1e-7)
        yield run(falling(1.27, 1.0, 200, speed=3), ratio=1.5e-4)
        yield on_the_way()
        yield on_the_way(last=0.5)
        yield hidden()
        yield hidden((0.9, 0.6))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "healthy", run(falling(2.3, 0.1))
        yield "flat, with steps of a healthy size", hidden(ratio=4e-3)
        yield "flat, with enough small steps", with_facts(run(noisy(1.0, 0.1, 600), ratio=9e-4), run=replace(run([1.0]).facts.run, steps=600))
        yield "small steps, but enough of them", on_the_way(ratio=9e-4, last=1.8, steps=1500)
        yield "on its way with steps of a healthy size", on_the_way(ratio=1.5e-3)
        yield "small steps, and it has levelled off", on_the_way(levels_off=True)
        yield "small steps, and little is left", on_the_way(last=0.2)
        yield "fine-tuning at a small rate", run(noisy(0.3, 0.02), ratio=1e-6, loaded=True)
        yield "already solved", run(noisy(0.02, 0.002), ratio=1e-6, extra={"accuracy/train": np.full(300, 0.99)})
        yield "small steps, but half of the loss is gone", run(falling(1.27, 0.5, 200, speed=3), ratio=1.5e-4)
        yield "slow for another reason", run(np.linspace(2.31, 2.2, 400), ratio=1e-3)
        yield "cosine to zero", run(falling(2.3, 0.1), ratio=1e-3 * (1 + np.cos(np.linspace(0, np.pi, 43))) / 2)
        yield "plateau at the noise floor", run(falling(1.3, 0.25, noise=0.2), ratio=1e-5)


PLATEAU = """\
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
"""


def plateau(losses: Any, patience: int = 0, cuts: tuple[int, ...] = (250, 100, 50, 50)) -> Record:
    """A rate that goes to a tenth after so many steps each."""
    rates = np.full(len(losses), 1e-8)
    rates[: sum(cuts)] = np.repeat(1e-2 * 0.1 ** np.arange(len(cuts)), cuts)
    source = LOOP.replace("for epoch", PLATEAU + "for epoch")
    scheduler = Scheduler(
        kind="ReduceLROnPlateau", optimizer=0, steps=60, optimizer_steps=1500, observed=True, settings={"patience": float(patience)}
    )
    return with_facts(run(losses, lr=rates, source=source), schedulers=(scheduler,))


def cut_off(last: float = 0.021, falls_until: int = 250, steps: int = 1500) -> np.ndarray:
    """It falls until then, and stands."""
    way = np.concatenate([[0.96], np.geomspace(0.4, last, falls_until - 1), np.full(steps - falls_until, last)])
    return np.asarray(way * np.exp(0.2 * np.random.default_rng(2).standard_normal(steps)))


def stepped(rest: np.ndarray) -> Record:
    """160 steps to a fiftieth of the first loss; from then on a hundredth of the rate."""
    way = np.concatenate([[0.14], np.geomspace(0.05, 2.7e-3, 159), rest])
    losses = way * np.exp(0.1 * np.random.default_rng(2).standard_normal(len(way)))
    return run(losses, lr=np.repeat([5e-4, 5e-5, 5e-6], [80, 80, len(rest)]))


class TestLrDecayedTooSoon(CauseTestCase):
    cause = "lr-decayed-too-soon"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run(falling(2.3, 2.2, 500, noise=0.01, speed=60), lr=0.05 * 0.9 ** np.arange(500))
        yield run(falling(2.3, 0.9, 500, noise=0.1, speed=60), lr=np.maximum(0.05 * (1 - np.arange(500) / 150), 0))
        yield run(falling(2.3, 1.1, 400, noise=0.1, speed=9), lr=0.15 / (1 + 0.9 * np.arange(400)))
        crept = np.concatenate([np.linspace(1.6, 0.45, 50), np.linspace(0.45, 0.36, 230)])
        yield plateau(cut_off())
        yield stepped(np.geomspace(2.7e-3, 2.2e-3, 840))
        yield run(crept + np.random.default_rng(1).normal(0, 0.01, 280), lr=np.repeat([2e-3, 2e-4, 2e-5], [25, 25, 230]))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "cosine to zero at the end", run(falling(2.3, 2.0, 500), lr=0.05 * (1 + np.cos(np.linspace(0, np.pi, 500))) / 2)
        yield "a plateau that was waited for", plateau(cut_off(), patience=6)
        yield "no patience, and the loss stood", plateau(cut_off(falls_until=80))
        yield "no patience, and it is solved", plateau(cut_off(last=0.002))
        yield "a low loss that stands at a hundredth of the rate", stepped(np.geomspace(2.7e-3, 2.6e-3, 840))
        yield "a low loss that still creeps down after a third of the run", stepped(np.geomspace(2.7e-3, 2.2e-3, 340))
        yield "no patience, at the end of the run", plateau(cut_off(falls_until=900), cuts=(900, 200, 200, 200))
        yield "the loss was down by then", run(falling(2.3, 0.1, 500, speed=60), lr=0.05 * 0.9 ** np.arange(500))
        yield "the last tenth of the run at zero", run(falling(2.3, 0.9, 500, noise=0.1), lr=np.maximum(0.05 * (1 - np.arange(500) / 450), 0))
        yield "the inverse square root", run(falling(2.3, 1.1, 400, noise=0.1, speed=9), lr=0.15 / np.sqrt(1 + np.arange(400)))
        yield "a steep decay in a run that is done", run(falling(2.3, 0.3, 400, noise=0.1, speed=40), lr=0.15 / (1 + 0.9 * np.arange(400)))
        yield "no rate at all", run(falling(2.3, 0.9, 500, noise=0.1), lr=np.zeros(500))
        yield "restarts", run(falling(2.3, 2.0, 500), lr=np.tile(np.geomspace(0.05, 1e-5, 100), 5))
        yield "a constant rate", run(noisy(2.3, 0.1, 500))
        settled = np.concatenate([np.linspace(1.6, 0.45, 200), np.linspace(0.45, 0.44, 300)])
        yield (
            "steps down when it has settled",
            run(settled + np.random.default_rng(1).normal(0, 0.02, 500), lr=np.repeat([1e-2, 1e-3, 1e-4], [240, 100, 160])),
        )


def test_a_dead_layer_at_step_zero_speaks_against_the_rate() -> None:
    suspicion = assert_suspects(run(noisy(1.1, 0.1), ratio=0.3, dead=0.97), "lr-too-high")
    assert suspicion.certainty == "possible" or suspicion.confidence < 0.8
    assert any(e.kind == "against" for e in suspicion.evidence)


@pytest.mark.parametrize(
    ("change", "fixed"),
    [
        (("lr=0.1", "lr=0.1"), "optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)"),
        (("lr=0.1", "lr=LR"), "EPOCHS, LR = 3, 0.01"),
        (("lr=0.1", "lr=args.lr"), 'parser.add_argument("--lr", type=float, default=0.01)'),
        (("lr=0.1", 'lr=config["lr"]'), 'config = {"epochs": 3, "lr": 0.01}'),
        (("lr=0.1", 'lr=config["rate"]'), None),
    ],
)
def test_the_fix_changes_the_number_where_it_was_written(change: tuple[str, str], fixed: str | None) -> None:
    head = {"lr=LR": "EPOCHS, LR = 3, 0.1\n", "lr=args.lr": 'parser.add_argument("--lr", type=float, default=0.1)\n'}
    head = (head | {'lr=config["lr"]': 'config = {"epochs": 3, "lr": 0.1}\n'}).get(change[1], "")
    record = run(np.concatenate([noisy(1, 0.1, 20), noisy(9, 1, 100)]), ratio=0.5, source=head + LOOP.replace(*change))
    fix = assert_suspects(record, "lr-too-high").fix
    assert (added(fix.diff) == [fixed]) if fixed else (fix.diff == "lr=0.01" and fix.safety == "advice")


def test_heads_do_not_matter() -> None:
    record = run(noisy(2.3, 0.02), ratio=1e-7)
    assert not any(isinstance(h, Head) for x in record.facts.losses for h in x.heads)
    assert_suspects(record, "lr-too-low")


def test_the_patience_is_shown() -> None:
    suspicion = assert_suspects(plateau(cut_off()), "lr-decayed-too-soon", "likely")
    assert suspicion.place is not None and "patience=0" in (suspicion.place.text or "")
    assert "patience" in suspicion.fix.text
