"""train-val-mismatch where validation is scaled by its own numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sickbay.facts import Across, DataProbe, EvaluatedExamples, EvaluationData, FeatureScale, InputScale, Loader, Model, OwnScale, Relation, Renamed
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.supervise.planning import cure_for
from sickbay.testing import assert_silent, assert_suspects, make_record, place_in

CALL = Place("/x/train.py", 30, None, "out = model(x)")
SCALE = FeatureScale(rows=3000, minimum=-3.4, maximum=3.6, mean=(0.01,) * 5, std=(0.99,) * 5)
OFF = Across(rows=600, error=1.5, straightened=0.07, shift=-0.96)
NEVER = {"loss/train": np.linspace(1.0, 0.02, 400), "loss/eval": np.full(10, 0.98)}


def record(examples: EvaluatedExamples, variance: float = 1.0, series: dict[str, np.ndarray] = NEVER, **changes: Any) -> Record:
    data = EvaluationData(
        place=CALL, texts=("model(x_val)",), rows=600, distinct=600, train_distinct=3000, train_rows=9000, width=5, train=SCALE, evaluation=SCALE
    )
    facts = {k: changes.pop(k) for k in ("loaders", "sources", "models", "inputs") if k in changes}
    data = replace(data, **{"own_scale": OwnScale(features=5, of=5, rows=600)} | changes)
    probe = DataProbe(kind="table", variance=variance, evaluations=(replace(examples, place=CALL),))
    return make_record(steps=400, evaluation_data=[data], data_probe=probe, series=series, **facts)


def numbers(**changes: Any) -> EvaluatedExamples:
    return EvaluatedExamples(across=replace(OFF, **changes))


def classes(right: float) -> EvaluatedExamples:
    return EvaluatedExamples(relation=Relation(rows=400, score=0.94), renamed=Renamed(rows=400, right=right, within=0.91))


def sick() -> Iterable[Record]:
    yield record(numbers())
    yield record(classes(0.45))
    yield record(numbers(), own_scale=OwnScale(kind="min-max", features=4, of=5, rows=600), train=replace(SCALE, minimum=0.0, maximum=1.0))
    yield record(numbers(own_scale=True), own_scale=None)


@pytest.mark.parametrize("found", [*sick()])
def test_what_it_hides_is_lost(found: Record) -> None:
    suspicion = assert_suspects(found, "train-val-mismatch")
    assert "own numbers" in suspicion.evidence[0].text and "training data only" in suspicion.fix.text


def look_alikes() -> Iterable[tuple[str, Record]]:
    yield "scaled by training's numbers, and drifted", record(numbers(), own_scale=None)
    yield "split by chance; the model learned its samples by heart", record(numbers(error=0.9, straightened=0.88))
    yield "noise, which no shift mends", record(numbers(error=1.6, straightened=0.9))
    yield "classes that training tells as well", record(classes(0.9))
    yield "nothing is known of its targets", record(EvaluatedExamples())
    yield "training's own samples", record(numbers(), found=600, found_distinct=600)
    yield "training is not scaled", record(numbers(), train=replace(SCALE, std=(50.0,) * 5, mean=(10.0,) * 5), evaluation=None)
    yield "a sample of the targets only", record(numbers(own_scale=True, rows=400), own_scale=None)
    yield "targets of a model that is trained on others", record(numbers(own_scale=True), own_scale=None, variance=400.0)
    close = {"loss/train": NEVER["loss/train"], "loss/eval": np.full(10, 0.021)}
    yield "validation does well", record(numbers(), series=close)


@pytest.mark.parametrize(("why", "found"), [*look_alikes()])
def test_look_alikes(why: str, found: Record) -> None:
    assert_silent(found, "train-val-mismatch", why)


SOURCE = """scaler = StandardScaler()
x_train = scaler.fit_transform(rows[:900])
x_val = scaler.fit_transform(rows[900:])
train_loader = DataLoader(TensorDataset(x_train), shuffle=True)
val_loader = DataLoader(TensorDataset(x_val))
"""


def test_the_place_and_the_mended_line() -> None:
    built = {role: place_in(SOURCE, f"{role}_loader =", file="/x/train.py") for role in ("train", "val")}
    loaders = [Loader(index=i, role=role, built_at=place, variable=f"{role}_loader") for i, (role, place) in enumerate(built.items())]
    found = record(replace(numbers(), loader=1), loader=1, loaders=loaders, sources={"/x/train.py": SOURCE})
    suspicion = assert_suspects(found, "train-val-mismatch")
    assert suspicion.place is not None and suspicion.place.line == 3
    assert "+x_val = scaler.transform(rows[900:])" in suspicion.fix.diff


def test_no_trial_could_bring_it_back() -> None:
    models = {"models": [Model(name="Net")], "inputs": [InputScale(dtype="float32")]}
    assert cure_for("train-val-mismatch", record(numbers(), **models)) is None, "mean and spread are training's already"
    assert cure_for("train-val-mismatch", record(numbers(), own_scale=None, **models)) == "match-evaluation-input"
