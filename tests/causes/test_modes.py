"""eval-mode-in-training and train-mode-in-evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from causes.scripts import added
from sickbay.facts import Layer, Loss, Model, Modes, Optimizer, Timeline
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_suspects, make_record, model_facts, place_in

SOURCE = """\
def validate(model):
    model.eval()
    with torch.no_grad():
        return criterion(model(x_val), y_val)


model.train()
for epoch in range(5):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(validate(model))
"""
NO_EVAL = SOURCE.replace("    model.eval()\n", "")
TRAINED_IN_EVAL = {
    "sensitive": ("drop: Dropout(p=0.5)",), "training_forwards": 100, "training_in_eval": 80, "training_in_eval_first": 20, "training_in_eval_last": 99,
    "layers_off": ("drop: Dropout(p=0.5)",),
}  # fmt: skip
EVALUATED_IN_TRAIN = {
    "sensitive": ("drop: Dropout(p=0.5)",), "evaluation_passes": 5, "evaluation_in_train": 5, "evaluation_in_train_first": 20, "evaluation_in_train_last": 100,
}  # fmt: skip


def training(source: str = SOURCE, counts: dict[str, int] | None = None, facts: dict[str, Any] | None = None, **modes: Any) -> Record:
    places = {"training_forward_at": place_in(source, "model(x)"), "eval_called_at": place_in(source, "model.eval()")}
    found = Modes(**TRAINED_IN_EVAL | places | modes)
    return make_record(steps=100, modes=found, sources={"train.py": source}, timeline=Timeline(counts=counts or {}), **(facts or {}))


def evaluating(source: str = NO_EVAL, scored: bool = True, facts: dict[str, Any] | None = None, **modes: Any) -> Record:
    found = Modes(**EVALUATED_IN_TRAIN | {"evaluation_forward_at": place_in(source, "model(x_val)")} | modes)
    series = {"loss/eval": (np.arange(20, 101, 20), np.ones(5))} if scored else {}
    return make_record(steps=100, modes=found, series=series, sources={"train.py": source}, **(facts or {}))


def two_phases() -> Record:
    """Phase one trains all with one optimizer, phase two (steps 20 to 99) only a new head with another."""
    body = model_facts("net.body")["parameters"]
    head = model_facts("head", optimizer=1)["parameters"]
    record = training(
        sensitive=("net.drop: Dropout(p=0.5)",),
        layers_off=("drop",),
        facts={"parameters": (*body, *head), "optimizers": [Optimizer(index=0), Optimizer(index=1)]},
    )
    rates = make_record(series={"lr": (np.arange(20), np.ones(20)), "lr@1": (np.arange(20, 100), np.ones(80))})
    return replace(record, all_series=rates.all_series)


def frozen_extractor() -> dict[str, Any]:
    facts = model_facts("backbone", "head")
    facts["parameters"] = (replace(facts["parameters"][0], trainable=False, optimizer=None), facts["parameters"][1])
    facts["models"] = (
        Model(name="backbone", layers=(Layer(name="backbone", kind="Linear"), Layer(name="drop", kind="Dropout", mode_sensitive=True))),
        Model(name="head", layers=(Layer(name="head", kind="Linear"),)),
    )
    return facts


class TestEvalModeInTraining(CauseTestCase):
    cause = "eval-mode-in-training"

    def sick(self) -> Iterable[Record]:
        yield training()
        yield training(training_in_eval=100)
        yield training(layers_off=())

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "train mode", training(training_in_eval=0)
        yield "nothing depends on the mode", training(sensitive=(), layers_off=())
        yield "a frozen feature extractor", training(facts=frozen_extractor(), sensitive=("backbone.drop: Dropout(p=0.5)",))
        yield "features of an earlier phase, no longer trained", two_phases()
        yield "switched within each step", training(counts={"train": 100, "eval": 100})
        yield "a few last passes", training(training_in_eval=3)


class TestTrainModeInEvaluation(CauseTestCase):
    cause = "train-mode-in-evaluation"

    def sick(self) -> Iterable[Record]:
        yield evaluating()
        yield evaluating(scored=False)
        yield evaluating(evaluation_passes=1, evaluation_in_train=1)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "eval mode", evaluating(evaluation_in_train=0)
        yield "nothing depends on the mode", evaluating(sensitive=())
        yield "Monte Carlo dropout", evaluating(evaluation_repeats_input=True)
        yield "batch norm recalibration", evaluating(evaluation_on_training_data=True)
        yield "inside the steps (GAN, target network)", evaluating(evaluation_passes=0, evaluation_in_train=0, inside_step=100)
        yield "a dry run before training", evaluating(evaluation_in_train_first=0, evaluation_in_train_last=0)
        yield "acting between the steps", evaluating(scored=False, evaluation_passes=90, evaluation_in_train=90)
        gan = {"losses": [Loss(index=0, optimizers=(0,)), Loss(index=1, optimizers=(1,))]}
        yield "samples of a generator", evaluating(scored=False, facts=gan)


def test_train_comes_before_the_loop_over_batches() -> None:
    diff = assert_suspects(training(), "eval-mode-in-training").fix.diff
    assert added(diff) == ["    model.train()"]
    assert diff.index("+    model.train()") < diff.index("for x, y in loader")


def test_train_comes_before_the_pass_when_validation_is_inside_the_loop() -> None:
    source = SOURCE.replace("    print(validate(model))\n", "        if step % 25 == 0:\n            validate(model)\n")
    assert added(assert_suspects(training(source), "eval-mode-in-training").fix.diff) == ["        model.train()"]


CALLBACKS = """\
class Evaluator:
    def __call__(self, model, step):
        if step % 25:
            return
        model.eval()
        score(model)

for epoch in range(5):
    model.train()
    for x, y in loader:
        loss = F.cross_entropy(model(x), y)
        for callback in callbacks:
            callback(model, step)
"""


def test_train_at_the_start_of_the_epoch_does_not_undo_an_evaluation_in_its_middle() -> None:
    places = {"training_forward_at": "model(x)", "eval_called_at": "model.eval()", "train_called_at": "model.train()"}
    record = training(CALLBACKS, **{k: place_in(CALLBACKS, text) for k, text in places.items()})
    found = assert_suspects(record, "eval-mode-in-training")
    assert found.place is not None and found.place.text == "model.eval()"
    assert added(found.fix.diff) == ["        model.train()"] and "for x, y in loader:\n+" in found.fix.diff


def test_eval_comes_before_the_block_without_gradients() -> None:
    diff = assert_suspects(evaluating(), "train-mode-in-evaluation").fix.diff
    assert added(diff) == ["    model.eval()", "    model.train()"]


def test_one_function_for_both_gets_the_condition() -> None:
    source = "def run_epoch(model, opt=None):\n    model.train()\n    with torch.set_grad_enabled(opt is not None):\n        out = model(x_val)\n"
    assert added(assert_suspects(evaluating(source), "train-mode-in-evaluation").fix.diff) == ["    model.train(opt is not None)"]


def test_a_function_that_trains_and_evaluates_lacks_eval_before_the_evaluation() -> None:
    source = "def main():\n    model.train()\n    model(x).sum().backward()\n    with torch.no_grad():\n        out = model(x_val)\n"
    record = evaluating(source, training_forward_at=place_in(source, "model(x).sum()"), train_called_at=place_in(source, "model.train()"))
    found = assert_suspects(record, "train-mode-in-evaluation")
    assert found.place is not None and found.place.text == "with torch.no_grad():"


OF_COPY = """\
for epoch in range(5):
    model.train()
    for x, y in loader:
        criterion(model(x), y).backward()
        optimizer.step()
        ema.update(model)
    model.eval()
    with torch.no_grad():
        print(criterion(ema.model(x_val), y_val))
"""


def test_a_helper_that_sets_the_modes_of_several_parts() -> None:
    source = (
        "def set_mode(body, model, training):\n    body.train(training)\n    model.train()\n\n"
        "def run_epoch(body, model, opt=None):\n    set_mode(body, model, opt is not None)\n    out = model(x_val)\n"
    )
    found = assert_suspects(evaluating(source, train_called_at=place_in(source, "model.train()")), "train-mode-in-evaluation")
    assert found.place is not None and found.place.text == "model.train()"
    assert added(found.fix.diff) == ["    model.train(training)"]


def test_eval_on_the_model_and_its_copy_is_evaluated() -> None:
    forward, switch = place_in(OF_COPY, "ema.model(x_val)"), place_in(OF_COPY, "model.eval()")
    record = evaluating(OF_COPY, evaluation_forward_at=forward, eval_called_at=switch, evaluation_of_copy=True)
    suspicion = assert_suspects(record, "train-mode-in-evaluation", "proven")
    assert suspicion.place is not None and suspicion.place.line == 7
    assert added(suspicion.fix.diff) == ["    ema.model.eval()"]


def test_a_copy_and_no_eval_anywhere_near() -> None:
    source = OF_COPY.replace("    model.eval()\n", "")
    record = evaluating(source, evaluation_forward_at=place_in(source, "ema.model(x_val)"), evaluation_of_copy=True)
    suspicion = assert_suspects(record, "train-mode-in-evaluation", "proven")
    assert suspicion.place is not None and suspicion.place.line == 8


IN_EVAL = """\
def train(model, loader):
    model.eval()
    total = 0.0
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""


def test_eval_where_train_was_meant() -> None:
    suspicion = assert_suspects(training(IN_EVAL), "eval-mode-in-training")
    assert suspicion.place is not None and suspicion.place.line == 2
    assert added(suspicion.fix.diff) == ["    model.train()"]
    between = IN_EVAL.replace("    total = 0.0\n", "    with torch.no_grad():\n        before = score(model)\n")
    suspicion = assert_suspects(training(between), "eval-mode-in-training")
    assert suspicion.place is not None and suspicion.place.line == 5  # there, the switch back is missing
