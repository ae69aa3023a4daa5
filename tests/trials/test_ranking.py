"""What a trial does to the ranking, the plan that chooses trials, and their storage."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sickbay.causes.evidence import hint, proof, strong
from sickbay.conclude import fold, with_trials
from sickbay.facts import DataProbe, Facts, InputScale, Layer, Loader, Model, Run, Suspects
from sickbay.nouns import Effect, Evidence, Family, Fix, Series, Sign, Suspicion, Trial
from sickbay.record.reader import Record
from sickbay.signs import Signs
from sickbay.supervise.planning import cure_for, make_plan
from sickbay.trials.storage import TRIALS_FILE, dump_trials, load_trials


def trial(cause: str, effect: Effect) -> Trial:
    return Trial(cause, "lr=x0.1", "learning rate ×0.1", effect, "loss 2 → 1", untreated=((0, 2.0), (1, math.nan)), treated=((0, 2.0), (1, 1.0)))


def suspicion(cause: str, *ledger: Evidence, certainty: Any = "likely", explains: set[str] | None = None) -> Suspicion:
    return Suspicion(cause, cause, "procedure", cause, "why.", certainty, 0.8, None, ledger, Fix("fix"), frozenset(explains or ()))


def ranked(suspicions: list[Suspicion], *trials: Trial) -> list[str]:
    signs = Signs((Sign("flat-loss", None, (0, 1), 1.0, {}, "flat"),))
    return [s.cause for s in fold([with_trials(s, trials) for s in suspicions], signs)]


def test_a_cure_makes_a_possible_cause_likely() -> None:
    after = with_trials(suspicion("a", hint("h"), certainty="possible"), [trial("a", "CURED")])
    assert after.certainty == "likely" and after.confidence > 0.85
    assert after.trial is not None and after.evidence[-1].kind == "strong"


def test_a_cure_in_vain_goes_below_the_others() -> None:
    wrong, right = suspicion("a", strong("s"), strong("t")), suspicion("b", strong("s"))
    assert ranked([wrong, right]) == ["a", "b"]
    for effect in ("NO EFFECT", "HARMED"):
        assert ranked([wrong, right], trial("a", effect), trial("b", "CURED"))[0] == "b"  # type: ignore[arg-type]
    assert ranked([wrong, right], trial("a", "INCONCLUSIVE"), trial("b", "CURED"))[0] == "b"
    proven = suspicion("p", proof("x"), certainty="proven")
    assert ranked([proven, right], trial("p", "NO EFFECT"), trial("b", "CURED"))[0] == "b"
    assert ranked([proven], trial("p", "NO EFFECT")) == ["p"], "a proof stays a proof"


def test_what_helped_goes_before_what_said_nothing() -> None:
    first, second = suspicion("a", strong("s"), strong("t"), strong("u")), suspicion("b", strong("s"), strong("t"))
    assert ranked([first, second]) == ["a", "b"]
    assert ranked([first, second], trial("a", "INCONCLUSIVE"), trial("b", "HELPED")) == ["b", "a"]
    assert ranked([first, second], trial("a", "HELPED"), trial("b", "CURED")) == ["b", "a"]
    proven = suspicion("p", proof("x"), certainty="proven")
    assert ranked([proven, second], trial("b", "HELPED")) == ["p", "b"], "a proof is more than a trial that helped"


def test_what_did_not_help_explains_nothing_that_did() -> None:
    root, below = suspicion("a", strong("s"), strong("t"), explains={"b"}), suspicion("b", strong("s"))
    assert ranked([root, below]) == ["a"]
    assert ranked([root, below], trial("a", "NO EFFECT"), trial("b", "CURED"))[0] == "b"
    assert ranked([root, below], trial("a", "CURED"), trial("b", "CURED")) == ["a"]


def test_of_several_doses_the_best_counts() -> None:
    after = with_trials(suspicion("a", strong("s")), [trial("a", "NO EFFECT"), trial("a", "CURED")])
    assert after.trial is not None and after.trial.effect == "CURED"


def test_results_are_stored_and_damage_is_none(tmp_path: Path) -> None:
    (tmp_path / TRIALS_FILE).write_text(dump_trials((trial("a", "CURED"),)))
    (kept,) = load_trials(tmp_path)
    assert (kept.cause, kept.effect, kept.treated) == ("a", "CURED", ((0, 2.0), (1, 1.0)))
    assert math.isnan(kept.untreated[1][1])
    (tmp_path / TRIALS_FILE).write_text("{")
    assert load_trials(tmp_path) == ()


def record(seconds: float = 10.0, training: float = 8.0, steps: int = 400) -> Record:
    return Record(facts=Facts(run=Run(steps=steps, seconds=seconds, training_seconds=training)))


def test_a_plan_fits_its_budget() -> None:
    causes = [
        suspicion(c, strong("s")) for c in ("missing-zero-grad", "lr-too-high", "exploding-gradient", "detached-graph", "zero-grad-before-step")
    ]
    plan = make_plan(record(), causes, seeded=True)
    assert [t.text for t in plan.trials] == ["zero-grad", "lr=x0.1", "clip=1.0"], "each treatment once, none for what has no cure"
    assert plan.steps == 233 and plan.seconds <= plan.budget == 20.0
    assert make_plan(record(), causes[:2], seeded=True).steps is None, "the whole script where there is time"
    assert make_plan(record(), causes[:1], seeded=False).seconds == 20.0, "an unseeded script is run once more as it is"
    assert make_plan(record(), causes, seeded=True, steps=50).steps == 50
    assert [t.text for t in make_plan(record(), causes, seeded=True, given=["lr=x0.3,clip=1.0"]).trials] == ["lr=x0.3,clip=1.0"]


def test_a_trial_reaches_what_the_run_broke_down_at() -> None:
    loss = Series("loss/train", np.arange(400), np.where(np.arange(400) < 300, 1.0, np.nan))
    late = Record(facts=record().facts, all_series={"loss/train": loss})
    causes = [suspicion(c, strong("s")) for c in ("missing-zero-grad", "lr-too-high", "exploding-gradient")]
    assert make_plan(record(), causes, seeded=True).steps == 233
    assert make_plan(late, causes, seeded=True).steps is None, "450 steps or more would be needed: all of them"
    early = Record(facts=record().facts, all_series={"loss/train": Series("loss/train", loss.steps, np.where(loss.steps < 200, 1.0, np.nan))})
    assert make_plan(early, causes, seeded=True).steps == 302
    assert make_plan(early, causes, seeded=True, steps=50).steps == 50, "what was asked for is done"


@pytest.mark.parametrize(
    ("ratio", "low", "high"),
    [
        (1e-3, "lr=x10", "lr=x0.1"),
        (4e-6, "lr=x100", "lr=x0.1"),
        (2e-6, "lr=x1000", "lr=x0.1"),
        (1e-9, "lr=x1000", "lr=x0.1"),
        (5.0, "lr=x10", "lr=x0.01"),
    ],
)
def test_the_dose_follows_the_updates(ratio: float, low: str, high: str) -> None:
    family = Family("update_ratio", ("w",), np.arange(3), np.full((3, 1), ratio))
    known = Record(families={"update_ratio": family})
    assert (cure_for("lr-too-low", known), cure_for("lr-too-high", known)) == (low, high)


def test_each_cause_leaves_its_own_samples_out() -> None:
    probe = DataProbe(suspects=Suspects(count=3, indices=(9, 2, 5)))
    known = Record(facts=Facts(data_probe=probe, loaders=(Loader(index=0),)))
    assert cure_for("label-noise", known) == "drop-samples=2,5,9"
    assert cure_for("corrupt-samples", known) is None, "no sample made the loss jump"


def test_a_plain_recurrent_layer_is_given_gates() -> None:
    def of(kind: str) -> Record:
        return Record(facts=Facts(models=(Model(name="Reader", layers=(Layer(name="rnn", kind=kind),)),)))

    assert cure_for("vanishing-gradient", of("RNN")) == "gated-recurrence"
    assert cure_for("vanishing-gradient", of("LSTM")) is None


def test_what_nothing_would_take_hold_of_is_not_tried() -> None:
    assert cure_for("symmetric-init", Record()) is None, "no weights were seen"
    assert cure_for("symmetric-init", Record(facts=Facts(run=Run(backwards=5)))) == "reinit", "a script of plain tensors"
    assert cure_for("unshuffled-data", Record()) is None, "a script without a loader"
    words, pixels = (Record(facts=Facts(models=(Model(name="Net"),), inputs=(InputScale(dtype=d),))) for d in ("int64", "float32"))
    assert cure_for("train-val-mismatch", words) is None, "numbers of words"
    assert cure_for("train-val-mismatch", pixels) == "match-evaluation-input"
    assert cure_for("symmetric-init", Record(facts=Facts(models=(Model(name="Net"),)))) == "reinit"
