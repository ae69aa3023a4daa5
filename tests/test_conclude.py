"""The ranking maths, the folding of consequences, the verdicts, and what is said of runs without a cause."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from causes.scripts import LOOP, at, loop_facts
from sickbay.causes import catalogue, find
from sickbay.causes.evidence import against, hint, proof, strong
from sickbay.conclude import diagnose, fold, rank, weigh
from sickbay.errors import UnknownCause
from sickbay.facts import Crash, Evaluation, Head, LabelOrder, Limit, Loader, LogitsThroughSoftmax, Loss, Model, NonfiniteBatch, Op, Optimizer, Run
from sickbay.nouns import LEVELS, Evidence, Fix, Place, Sign, Suspicion
from sickbay.signs import Signs
from sickbay.testing import falling, make_record, model_facts

STALE = {"intervals": 99, "stale_intervals": 99, "stale_norm": 3.0, "zero_calls": 0}
RANDOM = np.random.default_rng(0)


def suspicion(
    cause: str, certainty: Any = "likely", level: Any = "procedure", confidence: float = 0.8, explains: set[str] | None = None
) -> Suspicion:
    return Suspicion(cause, "X1", level, cause, "why", certainty, confidence, None, (), Fix("fix"), frozenset(explains or ()))


def signs(*names: str) -> Signs:
    return Signs(tuple(Sign(n, None, (0, 1), 1.0, {}, n) for n in names))


# -- the maths ------------------------------------------------------------------------------------------------------

ledgers = st.lists(st.sampled_from([proof("p"), strong("s"), hint("h"), against("a")]), max_size=12)


@given(ledgers)
def test_confidence_is_a_probability_that_evidence_moves_the_right_way(ledger: list[Evidence]) -> None:
    now = weigh(ledger)
    assert 0 < now < 1
    assert weigh([*ledger, hint("more")]) > now > weigh([*ledger, against("less")])


@given(ledgers)
def test_the_order_of_the_ledger_does_not_matter(ledger: list[Evidence]) -> None:
    assert weigh(ledger) == pytest.approx(weigh(ledger[::-1]))


def test_the_kinds_and_their_confidence() -> None:
    assert weigh([proof("p")]) > 0.99
    assert weigh([proof("p"), against("a")]) > 0.95
    assert 0.75 < weigh([strong("s")]) < 0.95
    assert 0.3 < weigh([hint("h")]) < 0.6
    assert weigh([hint(str(i)) for i in range(20)]) < 0.65, "many hints are not a proof"
    assert weigh([]) < 0.3


# -- ranking and folding --------------------------------------------------------------------------------------------


def test_ranking_is_by_certainty_then_level_then_confidence() -> None:
    wanted = [
        suspicion("a", "proven", "hyperparameters"),
        suspicion("b", "likely", "data", 0.7),
        suspicion("c", "likely", "procedure", 0.9),
        suspicion("d", "likely", "procedure", 0.8),
        suspicion("e", "possible", "data"),
    ]
    assert [s.cause for s in sorted((wanted[i] for i in (3, 0, 4, 2, 1)), key=rank)] == ["a", "b", "c", "d", "e"]


def test_what_lies_in_the_machine_comes_after_what_keeps_a_run_from_learning() -> None:
    slow, wrong, guessing = (
        suspicion("slow", "proven", "system"),
        suspicion("wrong", "likely", "hyperparameters"),
        suspicion("one", level="evaluation"),
    )
    assert [s.cause for s in sorted([slow, guessing, wrong], key=rank)] == ["wrong", "one", "slow"]
    assert [s.cause for s in fold([slow, guessing], signs())] == ["one", "slow"], "a slow run does not explain what evaluation shows"
    possible = suspicion("maybe", "possible", "data")
    assert [s.cause for s in sorted([possible, slow], key=rank)] == ["slow", "maybe"]
    died = replace(slow, evidence=(Evidence("proof", "memory", numbers={"crash": 1.0}),))
    assert [s.cause for s in sorted([wrong, died], key=rank)] == ["slow", "wrong"]


def test_what_is_explained_by_name_is_folded_even_from_a_better_rank() -> None:
    roots = fold([suspicion("dead-relu", level="architecture"), suspicion("lr-too-high", level="hyperparameters", explains={"dead-relu"})], signs())
    assert [s.cause for s in roots] == ["lr-too-high"]
    assert roots[0].consequences == ("dead-relu",)


def test_what_is_explained_by_all_its_signs_is_folded() -> None:
    softmax = suspicion("softmax", "proven", explains={"slow-descent"})
    low = suspicion("lr", "likely", "hyperparameters", explains={"slow-descent", "flat-loss"})
    assert [s.cause for s in fold([softmax, low], signs("slow-descent"))] == ["softmax"]
    assert len(fold([softmax, low], signs("slow-descent", "flat-loss"))) == 2
    assert len(fold([softmax, low], signs())) == 2, "without signs there is nothing to explain"


def test_a_name_counts_more_than_signs() -> None:
    decayed = suspicion("decayed", level="hyperparameters", confidence=0.7, explains={"low", "flat-loss"})
    low = suspicion("low", level="hyperparameters", confidence=0.9, explains={"flat-loss"})
    assert [s.cause for s in fold([decayed, low], signs("flat-loss"))] == ["decayed"]


def test_the_less_certain_never_absorbs_the_more_certain() -> None:
    roots = fold([suspicion("sure", "proven", "hyperparameters"), suspicion("maybe", "likely", "data", explains={"sure"})], signs())
    assert [s.cause for s in roots] == ["sure", "maybe"]


def test_two_proofs_stay_two_unless_one_names_the_other() -> None:
    a, b = suspicion("a", "proven", explains={"x"}), suspicion("b", "proven", explains={"x"})
    assert len(fold([a, b], signs("x"))) == 2
    assert len(fold([a, suspicion("b", "proven", explains={"x", "a"})], signs("x"))) == 1


def test_a_circle_of_explanations_leaves_its_best_member() -> None:
    roots = fold(
        [suspicion("a", level="data", explains={"b"}), suspicion("b", level="architecture", explains={"c"}), suspicion("c", explains={"a"})], signs()
    )
    assert [s.cause for s in roots] == ["a"]
    assert set(roots[0].consequences) == {"b", "c"}


@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"),
            st.sampled_from(["proven", "likely", "possible"]),
            st.sampled_from(LEVELS),
            st.sets(st.sampled_from("abcdefxy")),
        ),
        unique_by=lambda t: t[0],
    )
)
def test_folding_loses_nobody(given_: list[tuple[str, str, str, set[str]]]) -> None:
    suspicions = [suspicion(c, certainty, level, explains=explains - {c}) for c, certainty, level, explains in given_]
    roots = fold(suspicions, signs("x", "y"))
    named = [r.cause for r in roots] + [c for r in roots for c in r.consequences]
    assert {s.cause for s in suspicions} <= set(named)
    assert bool(roots) == bool(suspicions)
    assert roots == sorted(roots, key=rank)


# -- whole diagnoses ------------------------------------------------------------------------------------------------


def test_missing_zero_grad_takes_the_learning_rate_with_it() -> None:
    losses = np.concatenate([1 + 0.1 * RANDOM.standard_normal(20), 9 + RANDOM.standard_normal(80)])
    d = diagnose(make_record(series={"loss/train": losses}, **loop_facts(**STALE)))
    assert d.verdict == "sick"
    assert [c.cause for c in d.causes] == ["missing-zero-grad"]
    assert {"lr-too-high", "diverging-loss"} <= set(d.causes[0].consequences)
    assert d.causes[0].confidence >= 0.95
    assert "train.py:11" in d.reason


def test_nonfinite_input_takes_everything_with_it() -> None:
    losses = [2.3, 50.0, 9e4, *[math.nan] * 50]
    batch = NonfiniteBatch(role="input", step=2, count=1, total=10, loss_nonfinite=True)
    d = diagnose(make_record(series={"loss/train": losses}, nonfinite=[batch], **loop_facts()))
    assert [c.cause for c in d.causes] == ["nonfinite-input"]
    assert "nonfinite-loss" in d.causes[0].consequences


def frames(value: Any) -> tuple[np.ndarray, np.ndarray]:
    steps = np.arange(0, 300, 10)
    return steps, np.broadcast_to(value, steps.shape)


def dying(at_start: float) -> Any:
    dead = np.full(30, 0.97)
    dead[0] = at_start
    families = {"activation_dead": {"relu": frames(dead)}, "update_ratio": {f"{x}.weight": frames(0.4) for x in "abcd"}}
    losses = 1.1 + 0.05 * RANDOM.standard_normal(300)
    return diagnose(make_record(series={"loss/train": losses}, families=families, **loop_facts(), **model_facts(*"abcd")))


def test_units_that_died_after_huge_updates_are_a_consequence_of_the_rate() -> None:
    d = dying(at_start=0.05)
    assert [c.cause for c in d.causes] == ["lr-too-high"]
    assert "dead-relu" in d.causes[0].consequences


def test_units_that_were_dead_from_the_start_are_a_cause() -> None:
    assert dying(at_start=0.97).causes[0].cause == "dead-relu"


def test_at_most_three_root_causes() -> None:
    pair = LogitsThroughSoftmax(outer=Op(name="cross_entropy"), inner=Op(name="softmax"))
    facts = loop_facts(**STALE)
    facts["losses"] = [Loss(index=0, squashed=(pair,), optimizers=(0,), leaf=True, backwards=9, backward_at=at(".backward()"))]
    batch = NonfiniteBatch(role="input", step=2, count=1, total=10, loss_nonfinite=True)
    d = diagnose(make_record(series={"loss/train": [1.0, 1.0, math.nan]}, nonfinite=[batch], **facts))
    assert len(d.causes) == 3
    assert [LEVELS.index(c.level) for c in d.causes] == sorted(LEVELS.index(c.level) for c in d.causes)


def test_healthy_is_said_with_numbers() -> None:
    families = {"grad_norm": {"a.weight": frames(0.1)}, "update_ratio": {"a.weight": frames(1e-3)}}
    d = diagnose(make_record(series={"loss/train": falling(2.31, 0.12, 450)}, families=families, **loop_facts(), **model_facts("a")))
    assert d.verdict == "healthy"
    assert d.causes == ()
    assert "fell from 2." in d.reason and "over 450 steps" in d.reason and "gradients and updates" in d.reason


def test_a_gan_is_healthy() -> None:
    d = diagnose(
        make_record(
            series={"loss/train": 1.3 + 0.1 * RANDOM.standard_normal(300), "loss/train@1": np.linspace(0.7, 3.0, 300)},
            losses=[Loss(index=0, optimizers=(0,)), Loss(index=1, optimizers=(1,))],
            optimizers=[Optimizer(index=0, steps=300), Optimizer(index=1, steps=300)],
        )
    )
    assert d.verdict == "healthy"
    assert "2 losses" in d.reason


def test_a_script_that_never_trains_gets_a_sentence() -> None:
    d = diagnose(make_record(run=Run(forwards=12, exit=0, finished=True), models=[Model(name="Net")]))
    assert d.verdict == "untrained"
    assert d.reason == "the script ran 12 forward passes of Net but never called backward or optimizer.step, so there is no training to judge"


def test_backward_without_optimizer_is_not_training() -> None:
    d = diagnose(make_record(run=Run(forwards=12, backwards=12, exit=0, finished=True)))
    assert d.verdict == "untrained" and "12 times" in d.reason


@pytest.mark.parametrize(("code", "words"), [(1, "exit code 1"), ("SIGSEGV", "SIGSEGV")])
def test_a_script_that_broke_before_it_trained_is_not_told_that_it_never_called_a_model(code: int | str, words: str) -> None:
    d = diagnose(make_record(run=Run(script="train.py", exit=code)))
    assert (d.verdict, d.reason) == ("undecided", f"the script ended with {words} before any training was seen")


@pytest.mark.parametrize("message", ["ValueError: too many values to unpack", "somewhere.deep.ValueError: too many values to unpack"])
def test_the_kind_of_an_exception_is_told_once(message: str) -> None:
    d = diagnose(make_record(run=Run(script="train.py", exit=1), crash=Crash(kind="ValueError", message=message, place=Place("train.py", 3), step=0)))
    assert d.reason == "the script stopped with ValueError at train.py:3 before its first training step: too many values to unpack"


def test_manual_updates_are_training() -> None:
    run = Run(steps=200, backwards=200, forwards=200, manual_updates=True, exit=0, finished=True)
    assert diagnose(make_record(series={"loss/train": falling(1.1, 0.1, 200)}, run=run)).verdict == "healthy"


def crash(steps: int) -> Any:
    fact = Crash(kind="RuntimeError", message="shapes cannot be multiplied\nmore", place=Place("/x/train.py", 31), step=steps)
    run = Run(steps=steps, backwards=steps, exit=1)
    return diagnose(make_record(run=run, crash=fact, series={"loss/train": falling(2, 1, max(steps, 1))}, **loop_facts(steps=steps)))


@pytest.mark.parametrize("steps", [0, 3, 300])
def test_a_crash_without_a_cause_is_undecided_and_tells_its_frame(steps: int) -> None:
    d = crash(steps)
    assert d.verdict == "undecided"
    assert "RuntimeError at train.py:31" in d.reason and "shapes cannot be multiplied" in d.reason


def test_a_run_stopped_early_is_undecided() -> None:
    d = diagnose(make_record(run=Run(steps=4, backwards=4, exit="SIGINT"), series={"loss/train": [2.3, 2.2, 2.2, 2.1]}, **loop_facts(steps=4)))
    assert d.verdict == "undecided" and "4 steps" in d.reason


def test_an_unexplained_nan_is_undecided_and_says_where_to_look() -> None:
    losses = [*falling(0.7, 0.04, 200), *[math.nan] * 50]
    d = diagnose(make_record(series={"loss/train": losses}, **loop_facts()))
    assert d.verdict == "undecided"
    assert "not finite from step 200" in d.reason and "operation" in d.reason


def test_a_run_that_ends_worse_than_it_began_is_undecided_and_says_where() -> None:
    facts = loop_facts()
    facts["losses"] = [Loss(index=0, optimizers=(0,), heads=(Head(function="cross_entropy", reduction="mean", classes=10),))]
    d = diagnose(make_record(series={"loss/train": [*falling(2.2, 0.1, 150), *(5.8 + 0.05 * RANDOM.standard_normal(150))]}, **facts))
    assert d.verdict == "undecided" and "jumps up at step 150" in d.reason


@pytest.mark.parametrize(
    ("accuracy", "verdict"),
    [([0.5, 0.9, 0.97, 0.6, 0.2, 0.2], "undecided"), ([0.5, 0.9, 0.97, 0.9, 0.2, 0.95], "healthy"), ([0.5, 0.9, 0.97, 0.96, 0.95, 0.94], "healthy")],
)
def test_what_validation_knew_and_forgot_is_not_healthy(accuracy: list[float], verdict: str) -> None:
    facts = loop_facts() | {"evaluations": [Evaluation(index=0, samples=500, passes=6)]}
    d = diagnose(make_record(series={"loss/train": falling(2.2, 0.1, 300), "accuracy/eval": (np.arange(49, 300, 50), np.array(accuracy))}, **facts))
    assert d.verdict == verdict and ("validation accuracy was 0.97 at step 149" in d.reason) == (verdict == "undecided")


def test_a_classifier_that_stays_at_chance_is_undecided() -> None:
    facts = loop_facts()
    facts["losses"] = [Loss(index=0, optimizers=(0,), heads=(Head(function="cross_entropy", classes=10),))]
    d = diagnose(make_record(series={"loss/train": 2.303 + 0.02 * RANDOM.standard_normal(300)}, **facts))
    assert d.verdict == "undecided" and "one small batch" in d.reason


@pytest.mark.parametrize(("right", "verdict"), [(0.15, "undecided"), (0.9, "healthy")])
def test_a_classifier_that_comes_down_to_chance_knows_nothing_if_its_accuracy_says_so(right: float, verdict: str) -> None:
    facts = loop_facts()
    facts["losses"] = [Loss(index=0, optimizers=(0,), heads=(Head(function="cross_entropy", classes=10),))]
    losses = np.concatenate([np.linspace(4, 2.31, 150), 2.303 + 0.005 * RANDOM.standard_normal(150)])
    d = diagnose(
        make_record(
            series={"loss/train": losses, "accuracy/train": np.full(300, right)},
            labels=LabelOrder(classes=10, histogram=(100,) * 10, batches=300),
            **facts,
        )
    )
    assert d.verdict == verdict


def test_a_flat_loss_of_an_unknown_kind_is_left_alone() -> None:
    d = diagnose(make_record(series={"loss/train": 1 + 0.1 * RANDOM.standard_normal(300)}, **loop_facts()))
    assert d.verdict == "healthy"


def test_possible_causes_do_not_make_a_run_sick() -> None:
    d = diagnose(make_record(series={"loss/train": 1 + 0.5 * (-1.0) ** np.arange(300)}, **loop_facts()))
    assert d.verdict == "healthy" and d.causes == ()


def test_what_was_not_checked_is_told_once_each() -> None:
    limits = [Limit(what="layers inside torch.compile", why="compiled code"), Limit(what="overfitting", why="said by the observer")]
    d = diagnose(make_record(series={"loss/train": falling(2, 0.1)}, limits=limits, **loop_facts()))
    whats = [n.what for n in d.not_checked]
    assert len(whats) == len(set(whats))
    assert whats[0] == "layers inside torch.compile"
    assert next(n for n in d.not_checked if n.what == "overfitting").why == "said by the observer"
    assert "gradients and updates by layer" in whats


def test_the_summary_comes_from_the_facts() -> None:
    run = Run(script="train.py", steps=50, backwards=50, epochs=2, seconds=9.0, training_seconds=8.0, overhead_seconds=0.08, exit=0, finished=True)
    summary = diagnose(make_record(run=run, **loop_facts())).run
    assert (summary.steps, summary.epochs, summary.exit) == (50, 2, 0)
    assert summary.overhead == pytest.approx(0.01)


def test_unknown_loader_facts_do_not_hurt() -> None:
    assert diagnose(make_record(steps=20, loaders=[Loader(index=0)], **loop_facts(LOOP))).verdict == "healthy"


def test_a_cause_that_fails_is_told_and_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("boom")

    causes = dict(catalogue()) | {"overfitting": replace(find("overfitting"), examine=broken)}
    monkeypatch.setattr("sickbay.conclude.catalogue", lambda: causes)
    d = diagnose(make_record(steps=100, **loop_facts(**STALE)))
    assert d.causes[0].cause == "missing-zero-grad"
    assert d.not_checked[0].what == "overfitting" and "boom" in d.not_checked[0].why


# -- the catalogue --------------------------------------------------------------------------------------------------


def test_causes_are_found_by_name_and_code_however_written() -> None:
    assert find("P302") is find("p302") is find("missing_zero_grad") is find("missing-zero-grad")


def test_an_unknown_cause_is_answered_with_near_names() -> None:
    with pytest.raises(UnknownCause, match="did you mean missing-zero-grad"):
        find("missing-zero-grads")
    with pytest.raises(UnknownCause, match="lists them all"):
        find("qqqq")


def test_every_cause_survives_an_empty_record() -> None:
    for cause in catalogue().values():
        assert list(cause.examine(make_record(), Signs())) == []
        assert cause.fix(make_record(), ()).text


def test_an_untried_cure_is_told_only_where_there_is_something_to_cure() -> None:
    healthy = diagnose(make_record(series={"loss/train": falling(2, 0.1)}, **loop_facts()))
    assert "whether a cure helps" not in [n.what for n in healthy.not_checked]
    pair = LogitsThroughSoftmax(outer=Op(name="cross_entropy"), inner=Op(name="softmax"))
    loss = Loss(index=0, squashed=(pair,), leaf=True, backwards=100)
    sick = diagnose(make_record(series={"loss/train": falling(2, 1.5)}, losses=[loss]))
    assert sick.causes and "whether a cure helps" in [n.what for n in sick.not_checked]


def test_what_evaluation_shows_is_a_consequence() -> None:
    found = fold([suspicion("nan", "proven"), suspicion("one-class", "likely", level="evaluation")], signs())
    assert [s.cause for s in found] == ["nan"] and found[0].consequences == ("one-class",)
    assert len(fold([suspicion("nan", "possible"), suspicion("one-class", "likely", level="evaluation")], signs())) == 2


def test_a_handful_of_steps_is_told_by_its_first_and_last_value() -> None:
    run = Run(steps=4, backwards=80, forwards=80, exit=0, finished=True)
    d = diagnose(make_record(series={"loss/train": np.array([0.49, 0.0036, 0.0011, 0.0003])}, run=run, optimizers=[Optimizer(index=0, steps=4)]))
    assert "from 0.49 to 0.0003 over 4 steps" in d.reason
