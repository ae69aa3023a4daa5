"""small-validation-set, majority-class-predictor and miscalibrated: what scores on evaluation data are worth."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from causes.scripts import added
from sickbay.facts import Calibration, DataProbe, Evaluation, EvaluationData, Head, LabelOrder, Loader, Loss, Op, Relation, Values
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record

LINE = Place("/x/train.py", 40, None, "val_loss = criterion(out, y_val)")
CHOOSES = {"/x/train.py": "for epoch in range(20):\n    if acc > best_acc:\n        best_acc = acc\n"}
CLASSES = Loss(index=0, heads=(Head(function="cross_entropy", input_shape=(32, 4), target_shape=(32,)),))
WORDS = Loss(index=0, heads=(Head(function="cross_entropy", input_shape=(8, 50, 60), target_shape=(8, 60)),))
STEPS = np.arange(19, 400, 20)
JUMPING = 0.8 + np.array([-0.05, 0.0, 0.04, -0.04, 0.05, 0.0, -0.05, 0.04, 0.0, 0.05] * 2)


def evaluated(accuracy: Any, samples: int, sources: dict[str, str] = CHOOSES, training: int = 1500, **facts: Any) -> Record:
    loaders = [Loader(index=0, role="train", samples=training), Loader(index=1, role="eval", samples=samples, iterated_at=LINE)]
    evaluations = [Evaluation(index=0, loader=1, samples=samples, passes=len(accuracy), place=LINE)]
    series = {"loss/train": falling(0.7, 0.3, 400), "accuracy/eval": (STEPS, np.asarray(accuracy))}
    return make_record(series=series, sources=sources, **{"loaders": loaders, "evaluations": evaluations} | facts)


class TestSmallValidationSet(CauseTestCase):
    cause = "small-validation-set"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield evaluated(JUMPING, 24)
        yield evaluated(JUMPING, 24, {"/x/train.py": "stop = EarlyStopping(patience=5)\n"})
        yield evaluated(np.full(20, 0.75), 8, losses=[CLASSES])

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "nothing is chosen by it", evaluated(JUMPING, 24, {"/x/train.py": "print(acc)\n"})
        yield "a few hundred samples", evaluated(JUMPING, 360)
        yield "a handful of texts, with an answer for every word", evaluated(np.full(20, 0.75), 8, losses=[WORDS])
        yield "a handful, once at the end", evaluated(np.full(20, 0.75), 8, losses=[CLASSES], evaluations=[Evaluation(index=0, samples=8, passes=1)])
        yield "a small data set", evaluated(JUMPING, 24, training=120)
        yield "the model really improves", evaluated(np.linspace(0.3, 0.95, 20), 24)
        yield "perfect throughout", evaluated(np.ones(20), 24)
        larger = [Evaluation(index=0, loader=1, samples=24, passes=20), Evaluation(index=1, loader=2, samples=800, passes=20)]
        yield "another evaluation, of many samples", evaluated(JUMPING, 24, evaluations=larger)


def test_the_split_is_where_it_is_set_aside() -> None:
    script = "X, X_test = train_test_split(X)\nX_train, X_val = train_test_split(X, test_size=0.01)\n" + CHOOSES["/x/train.py"]
    suspicion = assert_suspects(evaluated(JUMPING, 24, {"/x/train.py": script}), "small-validation-set", "likely")
    assert suspicion.place is not None and suspicion.place.line == 2


def predicting(shares: list[float], histogram: tuple[int, ...] = (400, 300, 300), steps: int = 200, **changes: Any) -> Record:
    labels = LabelOrder(classes=len(histogram), histogram=histogram, batches=40, place=LINE)
    predicted = {str(i): np.full(10, share) for i, share in enumerate(shares)}
    return make_record(series={"loss/train": np.full(steps, 1.09)}, families={"predicted_share/train": predicted}, labels=labels, **changes)


class TestMajorityClassPredictor(CauseTestCase):
    cause = "majority-class-predictor"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield predicting([1.0, 0.0, 0.0])
        yield predicting([0.0, 0.995, 0.005])

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "all classes are predicted", predicting([0.5, 0.3, 0.2])
        yield "one class has nearly all labels, too", predicting([1.0, 0.0, 0.0], (950, 30, 20))
        yield "the first steps", predicting([1.0, 0.0, 0.0], steps=20)


def test_weights_that_outweigh_everything() -> None:
    source = "loss_fn = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 90.0, 1.0]))\nloss = loss_fn(net(x), y)\n"
    head = Head(function="cross_entropy", module="CrossEntropyLoss", called_at=Place("train.py", 2))
    given = {"sources": {"train.py": source}, "losses": [Loss(index=0, heads=(head,))]}
    s = assert_suspects(predicting([0.0, 1.0, 0.0], **given), "majority-class-predictor")
    assert s.place is not None and s.place.line == 1 and added(s.fix.diff) == ["loss_fn = nn.CrossEntropyLoss(weight=None)"]
    given["sources"] = {"train.py": source.replace("weight=torch.tensor([1.0, 90.0, 1.0])", "")}
    plain = assert_suspects(predicting([0.0, 1.0, 0.0], **given), "majority-class-predictor")
    assert plain.place == head.called_at and "one small batch" in plain.fix.text


def test_training_samples_are_counted_without_loaders_and_modules() -> None:
    def run(rows: int, again: int) -> Record:
        seen = DataProbe(relation=Relation(rows=rows), again=again)
        return evaluated(JUMPING, samples=20, loaders=[], data_probe=seen)

    assert_suspects(run(700, 60), "small-validation-set")
    assert_silent(run(700, 0), "small-validation-set", "samples that never come again may be few, and augmented")
    assert_silent(run(120, 60), "small-validation-set", "a small data set")


def test_samples_that_are_scored_without_a_loss_are_counted_where_they_come_again() -> None:
    def run(rows: int, passes: int = 20) -> Record:
        data = EvaluationData(texts=("accuracy(model, X_val, y_val)",), called_from=LINE, passes=passes, rows=rows, distinct=20, train_distinct=1780)
        return evaluated(JUMPING, 20, evaluations=[], evaluation_data=[data], losses=[CLASSES])

    assert_suspects(run(rows=40), "small-validation-set", "likely")
    assert_silent(run(rows=20), "small-validation-set", "other samples each time")
    assert_silent(run(rows=40, passes=1), "small-validation-set", "once, at the end")


def sure(text: str = "criterion(out, y_val)", sources: dict[str, str] | None = None, **changes: Any) -> Record:
    given = {
        "rows": 800,
        "classes": 5,
        "accuracy": 0.8,
        "confidence": 0.99,
        "error": 0.19,
        "by_chance": 0.03,
        "loss": 2.0,
        "loss_tempered": 0.6,
        "temperature": 7.0,
    }
    labels = LabelOrder(classes=5, histogram=(300,) * 5, batches=40, place=LINE)
    told = Calibration(**given | {"place": LINE, "texts": (text,)} | changes)
    return make_record(series={"loss/train": falling(1.6, 0.5, 200)}, labels=labels, data_probe=DataProbe(calibration=(told,)), sources=sources or {})


class TestMiscalibrated(CauseTestCase):
    cause = "miscalibrated"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield sure()

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "a few points, as most networks", sure(confidence=0.86, error=0.06, loss=0.8, loss_tempered=0.7)
        yield "a small validation set", sure(rows=120, by_chance=0.08)
        yield "within chance", sure(by_chance=0.1)
        yield "a model that knows nothing", sure(accuracy=0.25)
        yield "training data", sure("criterion(model(x_train), y_train)")
        yield "before fine-tuning", sure(step=150)
        yield "less sure on purpose", sure(confidence=0.4, error=0.4, sources={"/x/train.py": "nn.CrossEntropyLoss(label_smoothing=0.5)"})


def test_too_modest_is_only_possible() -> None:
    assert_suspects(sure(confidence=0.4, error=0.4), "miscalibrated", "possible")


STUDENT = {"accuracy": 0.97, "confidence": 0.45, "error": 0.52, "loss": 0.83, "loss_tempered": 0.09, "temperature": 0.18}
DISTILS = {"/x/train.py": "soft = F.softmax(teacher(x) / temperature, 1)"}


def student(trained: float = 0.003, **changes: Any) -> Record:
    """Right and unsure, of a training loss that ends at some value."""
    place = Place("/x/train.py", 59, None, "log_p = F.log_softmax(student(x), 1)")
    loss = Loss(index=0, heads=(Head(function="kl_div", fed_by=(Op(name="log_softmax", place=place),)),))
    told = Calibration(**{"rows": 800, "classes": 5, "by_chance": 0.03, "place": LINE, "texts": ("nll(p, y_val)",)} | STUDENT | changes)
    labels = LabelOrder(classes=5, histogram=(300,) * 5, batches=40, place=LINE)
    return make_record(
        series={"loss/train": falling(0.43, trained, 200)}, labels=labels, losses=[loss], data_probe=DataProbe(calibration=(told,)), sources=DISTILS
    )


def test_a_student_of_softened_answers() -> None:
    found = assert_suspects(student(), "miscalibrated", "likely")
    assert found.place is not None and found.place.line == 59
    assert_silent(student(trained=0.3), "miscalibrated", "what it is trained for is not reached either")
    assert_silent(student(error=0.2, confidence=0.77, temperature=0.5, loss=0.3), "miscalibrated", "a little modest on purpose")


def smoothed(most: float = 0.505, hard: bool = False, smoothing: float = 0.0, **changes: Any) -> Record:
    """Right and unsure, in an evaluation that only counts right answers; targets that give no class more than so much."""
    place = Place("/x/train.py", 57, None, "loss = F.cross_entropy(model(x), soft(y))")
    soft = Values(count=800, minimum=(1 - most) / 9, maximum=most, mean=0.1, row_sum=(1.0, 1.0))
    classes = Values(count=800, minimum=0, maximum=9, mean=4.5, whole=True)
    head = Head(function="cross_entropy", called_at=place, classes=10, target=classes if smoothing else soft, label_smoothing=smoothing)
    heads = (head, Head(function="cross_entropy", classes=10, target=classes)) if hard else (head,)
    given = {"rows": 800, "classes": 10, "by_chance": 0.03, "place": LINE, "texts": ("model(x)",), "by_hand": True} | STUDENT
    return make_record(
        series={"loss/train": falling(2.3, 1.82, 200)},
        losses=[Loss(index=0, heads=heads)],
        data_probe=DataProbe(calibration=(Calibration(**given | changes),)),
        sources={"/x/train.py": "label_smoothing"},
    )


def test_targets_that_ask_for_modest_answers() -> None:
    found = assert_suspects(smoothed(), "miscalibrated", "likely")
    assert found.place is not None and found.place.line == 57 and "label_smoothing" in found.fix.diff
    assert any("no class more than 0.5" in e.text for e in found.evidence)
    assert_suspects(smoothed(smoothing=0.55), "miscalibrated", "likely")
    assert_silent(smoothed(smoothing=0.1), "miscalibrated", "smoothing in the usual measure")
    assert_silent(smoothed(most=0.9), "miscalibrated", "mixed targets that are mostly sure")
    assert_silent(smoothed(hard=True), "miscalibrated", "another loss has the classes themselves")
    assert_silent(smoothed(confidence=0.8, accuracy=0.97), "miscalibrated", "the model is surer than its targets")


def test_what_is_only_counted_by_hand_is_not_called_too_sure() -> None:
    assert_silent(sure(by_hand=True), "miscalibrated", "judged only where training asks for it")


def test_the_temperature_is_in_the_fix() -> None:
    assert "logits / 7," in assert_suspects(sure(), "miscalibrated").fix.diff


ADDS_UP = "prob = torch.sigmoid(model(x_val))\nprint(f'reserve for {prob.sum():.0f} claims')\n"
RANKS = "prob = torch.sigmoid(model(x_val))\nprint(roc_auc_score(y_val, prob), ((prob > 0.5) == y_val).float().mean())\n"


def weighed(weights: tuple[float, ...] = (1.0, 5.0), script: str = ADDS_UP, shape: tuple[int, ...] = (64,), **calibration: Any) -> Record:
    """A loss with weights for its classes, and a script that does something with the answers."""
    head = Head(function="binary_cross_entropy_with_logits", weights=weights, target_shape=shape, called_at=LINE)
    told = Calibration(**{"rows": 800, "classes": 2, "accuracy": 0.8, "confidence": 0.8, "place": LINE, "texts": ("bce(z, y_val)",)} | calibration)
    probe = DataProbe(calibration=(told,) if calibration else ())
    return make_record(
        series={"loss/train": falling(0.7, 0.4, 200)}, losses=[Loss(index=0, heads=(head,))], data_probe=probe, sources={"/x/train.py": script}
    )


def test_answers_to_weighed_classes_are_no_probabilities() -> None:
    found = assert_suspects(weighed(), "miscalibrated", "likely")
    assert "5 to 1" in found.evidence[0].text and "train.py:2" in found.evidence[0].text
    measured = assert_suspects(weighed((), told=0.39, seen=0.1), "miscalibrated", "likely")
    assert "10 % of the 800 samples" in measured.evidence[0].text and "39 %" in measured.evidence[0].text
    assert_silent(weighed(script=RANKS), "miscalibrated", "answers are only ranked and compared with a threshold")
    assert_silent(weighed(()), "miscalibrated", "no class is weighed")
    assert_silent(weighed((1.0, 1.3)), "miscalibrated", "hardly weighed")
    assert_silent(weighed(shape=(8, 1, 32, 32)), "miscalibrated", "an answer for every pixel")
    assert_silent(weighed((), told=0.13, seen=0.1), "miscalibrated", "a little off")
    assert_silent(weighed((), told=0.39, seen=0.1, rows=100), "miscalibrated", "few samples")
