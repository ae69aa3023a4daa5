"""serving-skew: predictions after training, from samples that are prepared otherwise than validation's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sickbay.facts import Evaluation, EvaluationData, FeatureScale, Served
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record

VALIDATE, SERVE = Place("/x/train.py", 20, None, "out = model(x)"), Place("/x/train.py", 40, None, "return model(torch.tensor(rows))")
LOOP, CALL = Place("/x/train.py", 30, None, "validate(x_val)"), Place("/x/train.py", 50, None, "predict(rows)")


def features(mean: float = 0.0, std: float = 1.0, rows: int = 500, width: int = 20, low: float = -3.0, high: float = 3.0) -> FeatureScale:
    return FeatureScale(rows=rows, minimum=low, maximum=high, mean=(mean,) * width, std=(std,) * width)


def data(first: int, evaluation: FeatureScale, **changes: Any) -> EvaluationData:
    given = {"place": VALIDATE, "called_from": LOOP, "texts": ("model(x)", "validate(x_val)"), "rows": evaluation.rows, "shape": (20,), "passes": 1}
    return EvaluationData(**given | {"first": first, "last": 200, "train": features(), "evaluation": evaluation} | changes)


def predicted(evaluation: FeatureScale | None = None, **changes: Any) -> EvaluationData:
    given = {"place": SERVE, "called_from": CALL, "texts": ("model(torch.tensor(rows))", "predict(rows)")}
    return data(changes.pop("first", 200), evaluation or features(0, 255, low=-700, high=700), **given | changes)


def served(**changes: Any) -> Served:
    given = {"place": SERVE, "called_from": CALL, "texts": ("model(torch.tensor(rows))", "predict"), "reference": VALIDATE, "reference_from": LOOP}
    return Served(
        **given | {"rows": 60, "map": "the columns are in another order", "back": "x = x[:, [1, 0]]", "answers": 60, "changed": 50} | changes
    )


def run(*others: EvaluationData, pairs: Iterable[Served] = (), **facts: Any) -> Record:
    losses = {"loss/train": falling(2, 0.1, 200)} | facts.pop("series", {})
    return make_record(series=losses, evaluation_data=[data(20, features()), *others], served=list(pairs), **facts)


def judged(own: float) -> dict[str, Any]:
    evaluations = [
        Evaluation(index=0, model_at=VALIDATE, called_from=LOOP, samples=400),
        Evaluation(index=1, model_at=SERVE, called_from=CALL, samples=400),
    ]
    series = {"accuracy/eval": (np.array([100, 200]), np.array([0.8, 0.9])), "accuracy/eval@1": (np.array([200]), np.array([own]))}
    return {"evaluations": evaluations, "series": series}


RAW = features(80, 30, low=0, high=300)


class TestServingSkew(CauseTestCase):
    cause = "serving-skew"
    certainty = None  # type: ignore[assignment]

    def sick(self) -> Iterable[Record]:
        yield run(pairs=[served()])
        yield run(pairs=[served(answers=0, changed=0)])
        yield run(predicted())  # times 255
        yield run(predicted(features(120, 40, low=0, high=250)))  # raw pixels beside normalised ones
        yield run(predicted(RAW), **judged(0.4))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "validation itself is elsewhere", make_record(steps=200, evaluation_data=[data(20, features(0, 255))], served=[served()])
        yield "it is prepared as validation is", run(predicted(features()))
        yield "merely different, and nobody judges it", run(predicted(RAW))
        yield "different, but answered as well", run(predicted(), **judged(0.88))
        yield "on purpose", run(predicted(texts=("model(x)", "predict(noisy)")), pairs=[served(texts=("model(x)", "attack"))])
        yield "a few examples", run(predicted(features(0, 255, rows=6)))
        yield "the answers stay", run(pairs=[served(changed=2)])
        yield "flips beside the plain look, in one place", run(pairs=[served(place=VALIDATE, called_from=LOOP)])
        yield "during training: that is a mismatch of validation", run(predicted(first=40))


def test_same_samples_are_a_proof() -> None:
    suspicion = assert_suspects(run(pairs=[served()]), "serving-skew", "proven")
    assert suspicion.place == SERVE and suspicion.fix.diff == "x = x[:, [1, 0]]"
    assert any("50 of 60" in e.text for e in suspicion.evidence)


def test_one_line_for_both_is_told_by_its_caller() -> None:
    suspicion = assert_suspects(run(pairs=[served(place=VALIDATE)]), "serving-skew")
    assert suspicion.place == CALL


def test_it_is_not_called_a_mismatch_of_validation() -> None:
    assert_silent(run(predicted(), **judged(0.4)), "train-val-mismatch")


def test_the_function_that_only_predictions_use() -> None:
    script = "\n" * 36 + "def prepare(rows):\n    return torch.tensor(rows)\ndef predict(rows):\n    return model(prepare(rows))\n"
    suspicion = assert_suspects(
        make_record(steps=200, evaluation_data=[data(20, features())], served=[served()], sources={"/x/train.py": script}), "serving-skew"
    )
    assert suspicion.place is not None and (suspicion.place.line, suspicion.place.guess) == (38, True)
    for one in ("prepare(rows)[None]", "prepare(rows).unsqueeze(0)"):
        single = make_record(
            steps=200,
            evaluation_data=[data(20, features())],
            served=[served()],
            sources={"/x/train.py": script.replace("(prepare(rows))", f"({one})")},
        )
        found = assert_suspects(single, "serving-skew").place
        assert found is not None and found.line == 38
    shared = script + "train(prepare(table))\n"
    suspicion = assert_suspects(
        make_record(steps=200, evaluation_data=[data(20, features())], served=[served()], sources={"/x/train.py": shared}), "serving-skew"
    )
    assert suspicion.place == SERVE, "training uses it too"
