"""misaligned-labels, label-noise and target-leakage: whether targets follow from inputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from causes.scripts import added
from sickbay.conclude import suspect_all
from sickbay.facts import (
    Column,
    ColumnGroup,
    DataProbe,
    EvaluatedExamples,
    Evaluation,
    EvaluationData,
    FeatureScale,
    Head,
    LabelOrder,
    Loader,
    Loss,
    Offset,
    Op,
    Relation,
    Renamed,
    Suspects,
)
from sickbay.nouns import Place, Series
from sickbay.record.reader import Record
from sickbay.signs import read_signs
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, falling, make_record, place_in

LINE = Place("/x/train.py", 30, None, "loss = criterion(model(x), y)")
HEAD = Head(function="cross_entropy", reduction="mean", classes=10, target_dtype="int64")
LABELS = LabelOrder(classes=10, histogram=(200,) * 10, batches=40, place=LINE)
CHANCE = float(np.log(10))
UNRELATED = Relation(rows=1400, score=0.11, chance=0.1, spread=0.008, beyond=0.9, majority=0.11, method="neighbours")
RELATED = Relation(rows=1400, score=0.97, chance=0.1, spread=0.008, beyond=180.0, majority=0.11, method="neighbours")
BY_LUCK = Relation(rows=1400, score=0.13, chance=0.1, spread=0.008, beyond=3.7, majority=0.11, method="neighbours")


def probe(**changes: Any) -> DataProbe:
    return DataProbe(**{"kind": "table", "targets": "classes", "classes": 10, "features": 64, "place": LINE, "relation": UNRELATED} | changes)


def run(data: DataProbe, train: Any = None, accuracy: float = 0.1, validation: float = CHANCE + 0.1, **changes: Any) -> Record:
    """200 training steps, evaluated ten times on 400 samples."""
    steps = np.arange(19, 200, 20)
    facts: dict[str, Any] = {
        "losses": [Loss(index=0, heads=(HEAD,))],
        "labels": LABELS,
        "evaluations": [Evaluation(index=0, samples=400, passes=10)],
    }
    series = {
        "loss/train": falling(CHANCE, 0.3, 200) if train is None else train,
        "loss/eval": (steps, np.full(10, validation)),
        "accuracy/eval": (steps, np.full(10, accuracy)),
    }
    return make_record(series=series, data_probe=data, **facts | changes)


class TestMisalignedLabels(CauseTestCase):
    cause = "misaligned-labels"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run(probe())
        yield run(probe(kind="image"))
        yield run(probe(), train=np.full(200, CHANCE))
        yield run(probe(kind="image", evaluations=(EvaluatedExamples(relation=RELATED),)))
        yield run(probe(relation=BY_LUCK, evaluations=(EvaluatedExamples(relation=RELATED),)), train=np.full(200, CHANCE))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "targets follow from inputs", run(probe(relation=RELATED))
        yield "a little, in a model that learns them", run(probe(relation=BY_LUCK, evaluations=(EvaluatedExamples(relation=RELATED),)))
        yield "a little, and no more on validation", run(probe(relation=BY_LUCK), train=np.full(200, CHANCE))
        yield "too hard for simple means, not for the model", run(probe(), accuracy=0.8, validation=0.6)
        yield "too few rows to say", run(probe(relation=Relation(rows=100, score=0.1, chance=0.1, beyond=0.1, majority=0.1)))
        yield "targets that a model makes", run(probe(again=5000, changed=4900))
        next_words = probe(kind="tokens", relation=RELATED, again=5000, changed=3500)
        yield "the same words, followed by others", run(next_words, train=np.full(200, CHANCE))
        made_up = {"/x/train.py": "x = torch.randn(64, 10)\ny = torch.randint(0, 10, (64,))\n"}
        yield "random numbers to measure speed with", run(probe(noise_inputs=True), sources=made_up)
        yield "a model that has seen too little yet, on images", run(probe(kind="image"), train=falling(CHANCE, 2.1, 200))


def test_a_shift_is_proof_and_is_named() -> None:
    suspicion = assert_suspects(run(probe(offset=Offset(by=-1, relation=RELATED))), "misaligned-labels", "proven")
    assert "97 % when each sample takes the label 1 place after its own" in suspicion.evidence[0].text
    assert suspicion.fix.diff == "x, y = x[:-1], y[1:]"
    suspicion = assert_suspects(run(probe(offset=Offset(reversed=True, relation=RELATED))), "misaligned-labels", "proven")
    assert "opposite order" in suspicion.evidence[0].text


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("y = y[torch.randperm(len(y))]", True),
        ("x = x[np.argsort(x[:, 0])]", True),
        ("y = y.roll(1)", True),
        ("random.shuffle(y)", True),
        ("order = torch.randperm(len(x)); x = x[order]; y = y[order]", False),
        ("x, y = x[order], y[order]", False),
        ("y = y.long()", False),
    ],
)
def test_the_line_that_reorders_one_of_them_is_the_place(line: str, found: bool) -> None:
    record = run(probe(), sources={"/x/train.py": f"import torch\n{line}\nloss = criterion(model(x), y)\n"})
    place = assert_suspects(record, "misaligned-labels").place
    assert place is not None and place.line == (2 if found else LINE.line)


def test_labels_that_change_from_epoch_to_epoch_are_proof() -> None:
    record = run(probe(again=5000, changed=4500), train=np.full(200, CHANCE))
    assert "90 % had another label" in assert_suspects(record, "misaligned-labels", "proven").evidence[0].text


def test_numbers_that_do_not_follow() -> None:
    relation = Relation(rows=900, score=-0.1, spread=0.03, beyond=0.4, method="linear")
    data = probe(targets="numbers", classes=0, relation=relation, variance=1.0)
    head = Head(function="mse_loss", reduction="mean")
    record = run(data, train=falling(1.0, 0.2, 200), validation=1.3, losses=[Loss(index=0, heads=(head,))], labels=None)
    assert "explains 0 % of the targets' variance" in assert_suspects(record, "misaligned-labels", "likely").evidence[0].text


def suspects(**changes: Any) -> Suspects:
    given = {
        "rows": 1400,
        "known": 1400,
        "odd": 300,
        "margin": 0.5,
        "deep": 420,
        "deep_odd": 85,
        "most": 840,
        "most_odd": 170,
        "count": 240,
        "indices": (7, 11, 19),
    }
    return Suspects(**given | changes)


def by_a_rule(told: float = 0.9, again: int = 1000, deep_odd: int = 55) -> DataProbe:
    """Labels that look like overlap from inside, beside a validation set."""
    relation = Relation(rows=1400, score=0.62, chance=0.1, spread=0.008, beyond=60.0, majority=0.3, method="linear")
    evaluation = EvaluatedExamples(relation=Relation(rows=500, score=told, chance=0.1, spread=0.01, beyond=90.0, majority=0.2, method="linear"))
    overlap = suspects(odd=500, deep_odd=deep_odd, most_odd=200, margin=0.25)
    return probe(relation=relation, suspects=overlap, evaluations=(evaluation,), again=again)


def told_by_training(right: float = 0.87, deep_odd: int = 125) -> DataProbe:
    """Inputs that are augmented anew in every epoch, whose labels tell more of validation's than of each other's."""
    given = by_a_rule(again=0, deep_odd=deep_odd)
    evaluation = replace(given.evaluations[0], renamed=Renamed(rows=500, right=right, renamed=right, within=0.61))
    return replace(given, evaluations=(evaluation,))


class TestLabelNoise(CauseTestCase):
    cause = "label-noise"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield run(probe(relation=RELATED, suspects=suspects()), accuracy=0.8)
        yield run(probe(relation=RELATED, suspects=suspects(margin=0.75, odd=90, most_odd=50, deep_odd=22)), accuracy=0.8)
        yield run(by_a_rule(), accuracy=0.8)
        yield run(told_by_training(), accuracy=0.8)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "clean labels", run(probe(relation=RELATED, suspects=suspects(odd=15, deep_odd=0, most_odd=1, margin=0.85)))
        yield "classes that overlap", run(probe(relation=RELATED, suspects=suspects(odd=420, deep_odd=56, most_odd=190, margin=0.49)))
        yield "a task that a smooth map does not grasp", run(probe(relation=RELATED, suspects=suspects(odd=580, deep_odd=370, margin=0.2)))
        yield "a few odd labels", run(probe(relation=RELATED, suspects=suspects(odd=40, deep_odd=8, most_odd=20, margin=0.8)))
        uncertain = suspects(odd=500, deep_odd=125, margin=0.35)
        yield "an outcome that is uncertain by nature", run(probe(relation=RELATED, classes=2, suspects=uncertain))
        yield "too few samples", run(probe(relation=RELATED, suspects=suspects(deep=30, deep_odd=6)))
        yield "inputs that are augmented anew in every epoch", run(by_a_rule(again=0), accuracy=0.8)
        yield "augmented inputs, labels that are told as well as validation's", run(told_by_training(right=0.7), accuracy=0.8)
        yield "inputs that augmentation makes hard: the clear ones have their labels", run(told_by_training(deep_odd=4), accuracy=0.8)
        yield "many classes upon each other", run(probe(relation=RELATED, suspects=suspects(odd=470, deep_odd=109, margin=0.47, count=105)))
        yield "a hard task, in validation too", run(by_a_rule(told=0.65), accuracy=0.8)
        yield "clear samples that agree with their labels", run(by_a_rule(deep_odd=4), accuracy=0.8)


def test_training_samples_that_are_evaluated_tell_their_own_labels() -> None:
    """`evaluate(model, x_train, y_train)` beside the validation: each row resembles itself most."""
    where = {"place": LINE, "called_from": replace(LINE, line=80)}
    given = told_by_training()
    data = replace(given, evaluations=(replace(given.evaluations[0], **where),))
    assert_suspects(run(data, accuracy=0.8, evaluation_data=[EvaluationData(**where, rows=500, found=0)]), "label-noise", "likely")
    assert_silent(run(data, accuracy=0.8, evaluation_data=[EvaluationData(**where, rows=500, found=500)]), "label-noise")


def test_suspects_are_named_by_their_index() -> None:
    loader = Loader(index=0, role="train", variable="train_loader", dataset="Subset")
    suspicion = assert_suspects(run(probe(relation=RELATED, suspects=suspects(), loader=0), loaders=[loader]), "label-noise")
    assert "(train_loader.dataset.dataset)" in suspicion.evidence[0].text and "samples 7, 11, 19" in suspicion.evidence[1].text
    assert "suspects = {7, 11, 19}" in suspicion.fix.diff


VOTES = """\
x, truth = load()
votes = ask(truth)
labels = votes[:, 0]
loss = F.cross_entropy(net(x), labels)
"""


def test_one_vote_of_several_is_answered_with_the_majority() -> None:
    data = probe(relation=RELATED, suspects=suspects(), place=Place("train.py", 4), target="labels")
    s = assert_suspects(run(data, sources={"train.py": VOTES}), "label-noise")
    assert s.place is not None and s.place.line == 3 and s.place.guess
    assert s.fix.diff == "labels = torch.mode(votes, dim=1).values" and s.fix.safety == "advice"


def column(**changes: Any) -> Column:
    return Column(**{"column": 3, "columns": 8, "score": 0.995, "others": 0.8, "next_best": 0.7, "chance": 0.6} | changes)


def used_without(*empty: int) -> Record:
    """A column that tells most of a number, and the model used on rows in which some columns have one value."""
    told = column(score=0.985, others=0.86, next_best=0.5, chance=0.0)
    known = FeatureScale(rows=3000, mean=(0.0,) * 8, std=(1.0,) * 8)
    uses = [
        EvaluationData(rows=300, width=8, train=known, evaluation=FeatureScale(rows=300, std=tuple(float(j != i) for j in range(8)))) for i in empty
    ]
    return run(probe(relation=RELATED, targets="numbers", column=told), validation=0.02, evaluation_data=uses)


COLLATE = """\
def collate(samples):
    words, kinds = zip(*samples)
    kinds, lengths = torch.tensor(kinds), torch.tensor([len(w) for w in words])
    lengths, order = lengths.sort(descending=True)
    return pad_sequence([words[i] for i in order]), lengths, kinds
loader = DataLoader(data, 64, collate_fn=collate)
"""


def test_labels_that_a_sorted_batch_leaves_behind() -> None:
    loader = Loader(index=0, role="train", built_at=place_in(COLLATE, "loader ="))
    record = replace(run(probe(), train=np.full(200, CHANCE), loaders=[loader]), sources={"train.py": COLLATE})
    found = assert_suspects(record, "misaligned-labels")
    assert found.place is not None and found.place.line == 5
    assert added(found.fix.diff) == ["    return pad_sequence([words[i] for i in order]), lengths, kinds[order]"]


def lag_zero(kind: str = "table", **changes: Any) -> DataProbe:
    """Lagged values, one of which is the value to be told."""
    told = {"score": 1.0, "others": 0.962, "next_best": 0.904, "chance": 0.0, "continuous": True, "on_a_line": 1.0}
    return probe(kind=kind, relation=RELATED, targets="numbers", column=column(**told | changes))


def few(**changes: Any) -> Record:
    """Three of twelve columns stand out, and what is left without one of them still tells nearly all."""
    told = {"columns": (3, 4, 9), "least": 0.8, "next_best": 0.64, "others": 0.84, "alike": 0.05, "fixed": 0.03}
    group = ColumnGroup(**told | changes)
    best = column(columns=12, score=0.99, others=0.97, next_best=0.92, chance=0.5, group=group)
    return run(probe(relation=RELATED, column=best), accuracy=0.995, validation=0.02)


class TestTargetLeakage(CauseTestCase):
    cause = "target-leakage"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield few()
        yield run(probe(relation=RELATED, column=column()), accuracy=0.99, validation=0.02)
        yield run(probe(relation=RELATED, column=column(score=0.93, others=0.76, sealed=0.7, sealed_classes=2)), accuracy=0.99, validation=0.02)

        copied = column(score=0.95, others=0.6, next_best=0.3, chance=0.0, on_a_line=0.9)
        yield run(probe(relation=RELATED, targets="numbers", column=copied), validation=0.02)
        yield used_without(3)
        yield run(lag_zero(), validation=0.02)
        yield run(lag_zero(kind="series"), validation=0.02)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "sensors of one thing", few(alike=0.8)
        yield "a cloud of points for each class", few(fixed=0.97)
        yield "some columns tell more, some less", few(next_best=0.7)
        yield "the other columns say nothing", few(others=0.6)
        yield "what is left comes near", few(others=0.95)
        yield "the best column stands beside the others", few(columns=(1, 2))
        near = column(score=0.95, others=0.6, next_best=0.3, chance=0.0, on_a_line=0.2)
        yield "the value before, mostly unchanged", run(probe(relation=RELATED, targets="numbers", column=near), validation=0.02)
        near = column(score=0.93, others=0.76, sealed=0.7, sealed_classes=1)
        yield "the value before, which is known where the model is used", used_without()
        yield "another column is empty", used_without(4)
        yield "a study that empties each column in turn", used_without(0, 1, 2, 3, 4, 5)
        yield "a value that excludes one class", run(probe(relation=RELATED, column=near), accuracy=0.99, validation=0.02)
        near = column(score=0.93, others=0.76, sealed=0.3, sealed_classes=2)
        yield "few rows are certain", run(probe(relation=RELATED, column=near), accuracy=0.99, validation=0.02)
        near = column(score=0.93, others=0.9, sealed=0.7, sealed_classes=2)
        yield "certain by the other columns too", run(probe(relation=RELATED, column=near), accuracy=0.99, validation=0.02)
        yield "no column is good enough", run(probe(relation=RELATED, column=column(score=0.96)), accuracy=0.99, validation=0.02)
        yield "an easy task: the others do as well", run(probe(relation=RELATED, column=column(others=0.99)), accuracy=0.99, validation=0.02)
        yield "an easy task: two good columns", run(probe(relation=RELATED, column=column(next_best=0.95)), accuracy=0.99, validation=0.02)
        yield "a task of one column", run(probe(relation=RELATED, column=column(others=0.61)), accuracy=0.99, validation=0.02)
        yield "pixels", run(probe(kind="image", relation=RELATED, column=column()), accuracy=0.99, validation=0.02)
        yield "the value before, which the next is in half of all pairs", run(lag_zero(on_a_line=0.55), validation=0.02)
        yield "a trend without noise", run(lag_zero(others=0.9999), validation=0.02)
        yield "the value before in a window", run(lag_zero(kind="series", score=0.97, on_a_line=0.0), validation=0.02)
        yield "a rule of one number, and nothing else", run(lag_zero(kind="series", others=0.02), validation=0.02)
        yield "validation does not profit", run(probe(relation=RELATED, column=column()))


@pytest.mark.parametrize(("ends", "found"), [(1.05, True), (0.94, False)])
def test_a_variance_from_few_samples_is_no_bar_by_itself(ends: float, found: bool) -> None:
    """Validation below the variance of 500 kept samples by a few per cent may be below it by chance; that it falls, be it little, shows that something is learned."""
    relation = Relation(rows=515, score=-0.1, spread=0.03, beyond=0.4, method="neighbours")
    data = probe(kind="image", targets="numbers", classes=0, relation=relation, variance=1.08)
    by_hand = Loss(index=0, operations=tuple(Op(name=n) for n in ("mean", "pow", "sub")))
    record = run(data, train=falling(1.0, 0.87, 500, speed=0.1), losses=[by_hand], labels=None, evaluations=[])
    printed = {"loss/eval": Series("loss/eval", np.arange(40, 500, 40), np.linspace(1.0, ends, 12))}
    record = replace(record, all_series={n: s for n, s in record.all_series.items() if not n.endswith("/eval")} | printed)
    assert any(s.cause == "misaligned-labels" for s in suspect_all(record, read_signs(record))) is found
