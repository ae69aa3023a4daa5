"""train-val-leakage and train-val-mismatch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from causes.scripts import added
from sickbay.facts import (
    DataProbe,
    EvaluatedExamples,
    EvaluationData,
    FeatureScale,
    Filled,
    Head,
    Loader,
    Loss,
    NearCopies,
    Overlap,
    Randomness,
    Relation,
    Renamed,
    Start,
    WordShift,
)
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.testing import CauseTestCase, assert_silent, assert_suspects, make_record, place_in

LINE = Place("/x/train.py", 40, None, "score(x_val, y_val)")
CALL = Place("/x/train.py", 30, None, "out = model(x)")


def evaluation(**changes: Any) -> EvaluationData:
    return EvaluationData(
        **{
            "place": CALL,
            "called_from": LINE,
            "texts": ("model(x)", "score(x_val, y_val)"),
            "rows": 400,
            "distinct": 400,
            "found": 120,
            "found_distinct": 120,
            "batches": 4,
            "train_rows": 5000,
            "train_distinct": 1000,
            "train_again": 1.0,
            "width": 20,
        }
        | changes
    )


def run(*data: EvaluationData, **facts: Any) -> Record:
    return make_record(steps=200, evaluation_data=list(data), **facts)


SPLIT = "train, val = random_split(data, [800, 200])\n"


def second_stage(before: float = 0.3, after: float = 0.3, **changes: Any) -> Record:
    """Validation shows the same rows for some passes, and then others; the training loss just goes on, or begins anew."""
    losses = np.concatenate([np.linspace(2.0, before, 50), np.full(50, before), np.linspace(after, before, 100)])
    none = {"found": 0, "found_distinct": 0, "found_first": 0, "found_later": 0, "anew_rows": 200, "anew_found": 160, "anew_after": 99}
    return run(evaluation(**none | changes), series={"loss/train": losses}, sources={"/x/train.py": SPLIT})


def near(found: int, by_chance: float = 0.001, **changes: Any) -> Record:
    """No row in common; a sample of the evaluation was compared with one of training."""
    copies = NearCopies(rows=300, found=found, by_chance=by_chance, closer=4.0)
    told = DataProbe(evaluations=(EvaluatedExamples(place=CALL, called_from=LINE, copies=copies),))
    return run(evaluation(**{"found": 0, "found_distinct": 0} | changes), data_probe=told)


def windows(found: int, source: str = "", **changes: Any) -> Record:
    """No row in common; some windows lie between two of training's."""
    told = Overlap(rows=300, found=found, covered=0.96, steps=8)
    sources = {"sources": {"/x/train.py": source}} if source else {}
    return run(evaluation(**{"found": 0, "found_distinct": 0, "overlap": told} | changes), **sources)


def parts(**changes: Any) -> Record:
    """All rows are known in the end; the loaders' parts of one data set overlap."""
    given = {"found": 400, "found_first": 160, "found_later": 190, "first_rows": 200, "loader": 1, "part": 200, "part_shared": 150}
    facts = {k: changes.pop(k) for k in ("randomness",) if k in changes}
    return run(evaluation(**given | changes), evaluation(found=0, found_distinct=0), **facts)


class TestTrainValLeakage(CauseTestCase):
    cause = "train-val-leakage"

    def sick(self) -> Iterable[Record]:
        yield run(evaluation())
        yield run(evaluation(found=30, found_distinct=12))
        yield run(evaluation(whole_numbers=True, width=784))
        yield run(evaluation(found=400, found_first=0, found_later=150))
        yield second_stage()
        yield second_stage(found_first=None)
        yield second_stage(whole_numbers=True, width=64)
        yield parts()
        yield parts(found_first=None)
        yield windows(280)
        yield windows(120)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "one empty picture, many times", run(evaluation(found=60, found_distinct=1))
        yield "new pairs of known samples", run(evaluation(found=400))
        yield "trained on all samples in the end", run(evaluation(found=400, found_first=0, found_later=0))
        yield "pairs of samples, more of which are known later", run(evaluation(found=400, found_first=90, found_later=160))
        yield "none in common", run(evaluation(found=0, found_distinct=0))
        yield "a few duplicates, as many data sets have", run(evaluation(found=6, found_distinct=6))
        yield "training accuracy by name", run(evaluation(found=400, texts=("model(x)", "score(x_train, y_train)")))
        yield "training accuracy from the training loader", run(evaluation(found=400, train_loader=True))
        yield "training and validation rows in turn", run(evaluation(found=200, whole_batches=2, rows_in_whole_batches=200, texts=("model(x)",)))
        yield "all of it, without a name that says what it is", run(evaluation(found=400, texts=("model(x)",)))
        yield "a small world", run(evaluation(whole_numbers=True, width=9, found=380))
        yield "short texts of few words", run(evaluation(whole_numbers=True, width=20, found=100, train_twins=0.001))
        yield "an agent that acts before it learns", run(evaluation(passes=180))
        yield "a later pass over other samples, none of which was trained on", second_stage(anew_found=2)
        yield "folds whose weights are set back by hand", second_stage(after=2.0)
        yield "folds, of which none has learned yet when the next begins", second_stage(before=1.95)
        part = {"found": 60, "found_distinct": 30, "train_distinct": 30, "train_again": 0.1, "loader": 1}
        yield "a loader over the training data, of which a part was watched", run(evaluation(texts=("model(x)", "accuracy(model, known)"), **part))
        yield "the training data, to be evaluated", run(evaluation(texts=("model(x)", "accuracy(model, train_eval)"), **part))
        yield "two numbers a row", run(evaluation(width=2))
        yield "pairs of known samples, from parts that share none", parts(part_shared=0)
        yield "samples that are made anew whenever one is asked for", parts(found=0, found_distinct=0, found_first=0, found_later=0)
        yield "a part of the training data, as its name says", parts(texts=("model(x)", "score(val_of_train)"))
        yield "a part of all data that is called nothing in particular", parts(texts=("model(x)", "score(some)"))
        yield "parts of folds", parts(randomness=Randomness(starts=tuple(Start(step=100 * i, place=LINE) for i in range(5))))
        yield "a few near copies", near(40)
        yield "near samples of a signal that repeats", near(280, by_chance=0.3)
        yield "near copies of what is called nothing in particular", near(280, texts=("model(x)",))
        yield "a few windows between training's", windows(60)
        yield "windows of a series that is cut in two", windows(0)
        yield "windows of what is called nothing in particular", windows(280, texts=("model(x)",))
        yield "windows of the training data, by name", windows(280, texts=("model(x)", "score(x_train)"))
        yield "crops of a long text, training's and validation's in turn", run(evaluation(found=40, train_again=0.15, texts=("model(*batch(s))",)))
        yield "part of the training data, of which not all was seen", run(evaluation(found=250, train_again=0.5, texts=("model(x)",)))


WINDOWS = """\
x = np.concatenate([cut(r) for r in recordings])
order = rng.permutation(len(x))
x_val, x_train = x[order[:200]], x[order[200:]]
for epoch in range(9):
    loss = model(x_train).mean()
    score(model(x_val))
"""


def test_windows_that_were_cut_before_the_split() -> None:
    line = Place("/x/train.py", 6, None, "score(model(x_val))")
    found = assert_suspects(windows(280, WINDOWS, place=line, called_from=None, texts=("model(x_val)",)), "train-val-leakage", "proven")
    assert "280 of 300 windows" in found.evidence[0].text and "96% of their stretches of 8 steps" in found.evidence[0].text
    assert "recordings" in found.fix.text


def test_near_copies_that_were_made_before_the_split() -> None:
    found = assert_suspects(near(280), "train-val-leakage", "likely")
    assert "280 of 300 samples" in found.evidence[0].text and "4.0 times closer" in found.evidence[0].text


def test_near_copies_of_other_folds_are_none() -> None:
    record = near(280)
    begun = Randomness(starts=tuple(Start(step=100 * i, place=LINE) for i in range(5)))
    assert_silent(replace(record, facts=replace(record.facts, randomness=begun)), "train-val-leakage")


def test_a_split_that_each_stage_draws_anew_gets_a_seed() -> None:
    found = assert_suspects(second_stage(), "train-val-leakage", "proven")
    assert found.place is not None
    assert found.place.text == SPLIT.strip()
    assert added(found.fix.diff) == ["train, val = random_split(data, [800, 200], generator=torch.Generator().manual_seed(0))"]


MODULE = """\
class Digits:
    def split(self):
        return random_split(self.pool, [800, 200])

    def train_dataloader(self):
        return DataLoader(self.split()[0], 32, shuffle=True)

    def val_dataloader(self):
        return DataLoader(self.split()[1], 256)

score(net, data.val_dataloader())
"""


def test_a_split_that_each_loader_draws_anew_gets_a_seed() -> None:
    built = [place_in(MODULE, "self.split()[0]"), place_in(MODULE, "self.split()[1]")]
    loaders = [Loader(index=i, role=role, built_at=at) for i, (role, at) in enumerate(zip(("train", "eval"), built, strict=True))]
    record = parts(texts=("net(x)", "score(net, data.val_dataloader())"))
    record = replace(record, facts=replace(record.facts, loaders=tuple(loaders)), sources={"train.py": MODULE})
    found = assert_suspects(record, "train-val-leakage", "proven")
    assert "150 of 200 samples" in found.evidence[0].text
    assert found.place is not None and found.place.text == "return random_split(self.pool, [800, 200])"
    assert added(found.fix.diff) == ["        return random_split(self.pool, [800, 200], generator=torch.Generator().manual_seed(0))"]


FOLDS = """\
net = build()
for train, val in KFold(5).split(X):
    fit(net, X[train])
    score(net, X[val])
"""


def test_one_model_for_all_folds() -> None:
    at = place_in(FOLDS, "score(net")
    data = evaluation(found=400, found_first=0, found_later=150, called_from=at, texts=("net(x)", "score(net, X[val])"))
    found = assert_suspects(run(data, sources={"train.py": FOLDS}), "train-val-leakage", "proven")
    assert found.place is not None and found.place.text == "net = build()" and "each fold" in found.fix.text


def test_one_model_for_all_folds_under_another_name() -> None:
    source = "def score(model, x):\n    return model(x)\n" + FOLDS
    at = place_in(source, "    score(net")
    given = {"found": 330, "found_first": 0, "called_from": at, "texts": ("model(x)", "score(net, X[val])")}
    found = assert_suspects(run(evaluation(**given), sources={"train.py": source}), "train-val-leakage", "proven")
    assert found.place is not None and found.place.text == "net = build()" and "each fold" in found.fix.text
    known = assert_suspects(run(evaluation(**given | {"found_first": 100}), sources={"train.py": source}), "train-val-leakage")
    assert known.place == at, "the first fold had them, too"
    within = source.replace("net = build()\n", "").replace("    fit(net", "    net = build()\n    fit(net")
    other = assert_suspects(
        run(evaluation(**given | {"called_from": place_in(within, "    score(net")}), sources={"train.py": within}), "train-val-leakage"
    )
    assert other.place is not None and "build" not in other.place.text


def test_one_model_for_all_folds_that_a_function_calls_otherwise() -> None:
    text = "def score(model, x):\n    return model(x)\n\n" + FOLDS.replace("for", "loss = Loss()\nfor")
    at = place_in(text, "score(net")
    data = evaluation(called_from=at, place=place_in(text, "return model(x)"), texts=("model(x)", "score(net, X[val])"))
    found = assert_suspects(run(data, sources={"train.py": text}), "train-val-leakage", "proven")
    assert found.place is not None and found.place.text == "net = build()" and "each fold" in found.fix.text


def test_all_of_the_validation_set() -> None:
    loaders = [Loader(index=0, role="train"), Loader(index=1, role="eval", variable="val_loader")]
    suspicion = assert_suspects(run(evaluation(found=400, loader=1), loaders=loaders), "train-val-leakage")
    assert "all of the validation set" in suspicion.evidence[0].text


def test_the_loop_over_the_loader_is_the_place() -> None:
    loop = Place("/x/train.py", 28, None, "for x, y in val_loader:")
    record = run(evaluation(loader=1), loaders=[Loader(index=0, role="train"), Loader(index=1, role="eval", iterated_at=loop, variable="val_loader")])
    assert assert_suspects(record, "train-val-leakage").place == loop


def scale(mean: float, std: float, features: int = 12, rows: int = 500) -> FeatureScale:
    means, spreads = mean + 0.1 * std * np.arange(features) / features, np.full(features, std)
    return FeatureScale(rows=rows, minimum=mean - 3 * std, maximum=mean + 3 * std, mean=tuple(means), std=tuple(spreads))


def curves(validation: float) -> dict[str, Any]:
    steps = np.arange(0, 200, 20)
    return {"series": {"loss/train": np.linspace(2.0, 0.1, 200), "loss/eval": (steps, np.full(len(steps), validation))}}


def different(train: FeatureScale | None, other: FeatureScale | None, validation: float = 5.0, **changes: Any) -> Record:
    return run(evaluation(found=0, train=train, evaluation=other, **changes), **curves(validation))


def barely_begun(validation: float) -> Record:
    """Training has lost a sixth of its loss when the run ends."""
    steps = np.arange(0, 200, 20)
    series = {"loss/train": np.linspace(2.3, 1.9, 200), "loss/eval": (steps, np.linspace(2.35, validation, len(steps)))}
    losses = [Loss(index=0, heads=(Head(function="cross_entropy", classes=10, reduction="mean"),))]
    return run(evaluation(found=0, train=scale(0.0, 1.0), evaluation=scale(3.0, 4.0)), series=series, losses=losses)


class TestTrainValMismatch(CauseTestCase):
    cause = "train-val-mismatch"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield different(scale(0.5, 0.25), scale(127.0, 64.0))
        yield different(scale(0.0, 1.0), scale(250.0, 80.0))
        yield different(scale(0.0, 1.0), scale(3.0, 1.0))
        yield barely_begun(validation=2.6)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "the same", different(scale(0.0, 1.0), scale(0.05, 1.02))
        yield "augmented", different(scale(0.0, 1.0), scale(0.3, 1.6))
        yield "elsewhere, but validation copes", different(scale(0.0, 1.0), scale(3.0, 1.0), validation=0.1)
        yield "validation follows, as far as training has come", barely_begun(validation=2.1)
        yield "a handful of samples", different(scale(0.0, 1.0), scale(3.0, 1.0, rows=8))
        yield "another kind of input", different(scale(0.0, 1.0), scale(3.0, 1.0), same_shape=False)
        yield "constant features", different(scale(1.0, 0.0), scale(0.0, 0.0))


def test_the_rule_is_named() -> None:
    suspicion = assert_suspects(different(scale(0.5, 0.25), scale(128.0, 64.0)), "train-val-mismatch")
    assert "validation is not divided by 255" in suspicion.evidence[0].text and suspicion.fix.diff == "x_val = x_val / 255"
    assert "times 40" in assert_suspects(different(scale(0.5, 0.25), scale(20.0, 10.0)), "train-val-mismatch").evidence[0].text
    halved = assert_suspects(different(scale(0.0, 0.5), scale(0.5, 0.25)), "train-val-mismatch")
    assert "times 0.5 plus 0.49" in halved.evidence[0].text or "times 0.5 plus 0.5" in halved.evidence[0].text
    assert "standardised" in assert_suspects(different(scale(0.0, 1.0), scale(250.0, 80.0)), "train-val-mismatch").evidence[0].text


def rows(mean: tuple[float, float], std: tuple[float, float]) -> FeatureScale:
    return replace(scale(0.0, 1.0), row_mean=mean, row_std=std)


def test_samples_that_are_standardised_by_themselves() -> None:
    own, other = rows((-1e-7, 1e-7), (1.0127, 1.0127)), rows((-0.4, 0.3), (0.5, 1.4))
    assert "by themselves" in assert_suspects(different(own, other), "train-val-mismatch").evidence[0].text
    assert "these samples are each" in assert_suspects(different(other, own), "train-val-mismatch").evidence[0].text
    assert_silent(different(own, own), "train-val-mismatch", "both are")
    assert_silent(different(other, rows((-0.3, 0.3), (0.6, 1.3))), "train-val-mismatch", "neither is")


def ids(*means: float) -> FeatureScale:
    return FeatureScale(rows=400, minimum=0, maximum=30, mean=means, std=(6.0,) * len(means))


def test_sequences_that_are_filled_up_at_the_other_end() -> None:
    right, left = ids(13, 13, 12, 12, 10, 8, 5, 3, 1, 0), ids(0, 1, 3, 5, 8, 10, 12, 12, 13, 13)
    given = {"whole_numbers": True, "shape": (10,)}
    assert "other end" in assert_suspects(different(left, right, **given), "train-val-mismatch").evidence[0].text
    assert_silent(different(left, left, **given), "train-val-mismatch", "the same end")
    assert_silent(different(left, ids(12, 13, 12, 13, 12, 13, 12, 13, 12, 13), **given), "train-val-mismatch", "sequences of full length")


@pytest.mark.parametrize(
    ("here", "there", "found"),
    [
        ((0.9, 0.0), (0.0, 0.8), True),
        ((0.0, 0.5), (0.9, 0.01), True),
        ((0.9, 0.0), (0.9, 0.0), False),
        ((0.4, 0.4), (0.0, 0.8), False),
        ((0.9, 0.0), (0.0, 0.05), False),
    ],
)
def test_rows_of_several_lengths_that_are_filled_up_at_the_other_end(here: tuple[float, float], there: tuple[float, float], found: bool) -> None:
    record = different(None, None, whole_numbers=True, same_shape=False, filled=Filled(train=here, evaluation=there))
    if found:
        assert "filled up (with 0)" in assert_suspects(record, "train-val-mismatch").evidence[0].text
    else:
        assert_silent(record, "train-val-mismatch", "the same end, both ends, or next to none")


def colours(*means: float) -> FeatureScale:
    """96 features of a 3 x 8 x 8 image, every other pixel: 32 of each channel."""
    return FeatureScale(rows=400, minimum=0.0, maximum=1.0, mean=tuple(np.repeat(means, 32).tolist()), std=(0.2,) * 96)


def test_reversed_channels_are_named() -> None:
    record = different(colours(0.6, 0.45, 0.3), colours(0.31, 0.44, 0.6), shape=(3, 8, 8))
    assert "channels are reversed" in assert_suspects(record, "train-val-mismatch").evidence[0].text
    assert_silent(different(colours(0.6, 0.45, 0.3), colours(0.6, 0.45, 0.31), shape=(3, 8, 8)), "train-val-mismatch", "the same colours")
    assert_silent(different(colours(0.6, 0.45, 0.3), colours(0.5, 0.5, 0.4), shape=(3, 8, 8)), "train-val-mismatch", "other colours")


def test_channels_reversed_before_each_was_normalised() -> None:
    """Raw means 0.9, 0.8, 0.6 and spreads 0.2, normalised with 0.86, 0.80, 0.65 and 0.14, 0.20, 0.12."""
    mean, std = np.array([0.86, 0.80, 0.65]), np.array([0.14, 0.20, 0.12])

    def normalised(*raw: float) -> FeatureScale:
        return replace(colours(*((np.array(raw) - mean) / std)), std=tuple(np.repeat(0.2 / std, 32).tolist()))

    found = assert_suspects(different(normalised(0.9, 0.8, 0.6), normalised(0.6, 0.8, 0.9), shape=(3, 8, 8)), "train-val-mismatch")
    assert "as if the channels had been reversed before they were normalised" in found.evidence[0].text
    for why, other in {"a darker lamp": (0.75, 0.65, 0.45), "a warmer one": (1.05, 0.8, 0.3), "the same": (0.9, 0.8, 0.6)}.items():
        assert_silent(different(normalised(0.9, 0.8, 0.6), normalised(*other), shape=(3, 8, 8)), "train-val-mismatch", why)


def worded(distance: float, by_chance: float, in_order: float) -> Record:
    words = WordShift(positions=10, ids=80, train_rows=1500, evaluation_rows=300, distance=distance, by_chance=by_chance, in_order=in_order)
    return different(scale(20.0, 10.0), scale(20.0, 10.0), words=words, whole_numbers=True)


def test_another_vocabulary_is_named() -> None:
    suspicion = assert_suspects(worded(0.55, 0.08, 0.1), "train-val-mismatch")
    assert "the same words or categories have other ids" in suspicion.evidence[0].text and "vocabulary" in suspicion.fix.text
    assert_silent(worded(0.15, 0.1, 0.08), "train-val-mismatch", "the same words")
    assert_silent(worded(0.25, 0.05, 0.06), "train-val-mismatch", "a text of another time")
    assert_silent(worded(0.6, 0.1, 0.5), "train-val-mismatch", "another kind of text")


def test_classes_under_other_numbers_are_named() -> None:
    def numbered(right: float, renamed: float) -> Record:
        told = Renamed(rows=400, right=right, renamed=renamed, names=((0, 2), (2, 0)))
        return run(evaluation(found=0), data_probe=DataProbe(evaluations=(EvaluatedExamples(place=CALL, renamed=told),)), **curves(5.0))

    assert "training's 0 is 2, 2 is 0" in assert_suspects(numbered(0.3, 0.95), "train-val-mismatch").evidence[0].text
    assert_silent(numbered(0.9, 0.92), "train-val-mismatch", "the same numbers")
    assert_silent(numbered(0.2, 0.4), "train-val-mismatch", "nothing to be told")


def test_channels_in_opposite_order_are_no_other_numbers() -> None:
    def coloured(turned: float) -> Record:
        told = Renamed(rows=400, right=0.22, renamed=0.71, names=((0, 2), (2, 0)), turned=turned)
        return run(evaluation(found=0), data_probe=DataProbe(evaluations=(EvaluatedExamples(place=CALL, renamed=told),)), **curves(5.0))

    suspicion = assert_suspects(coloured(0.96), "train-val-mismatch")
    assert (
        "has its channels reversed" in suspicion.evidence[0].text and "96 %" in suspicion.evidence[0].text and "channel order" in suspicion.fix.text
    )
    assert "numbers its classes otherwise" in assert_suspects(coloured(0.3), "train-val-mismatch").evidence[0].text


def test_samples_of_another_task_are_no_mismatch_if_the_model_answers_them() -> None:
    def strange(accuracy: float) -> Record:
        kept = Relation(rows=1500, score=0.94, chance=0.1, majority=0.15)
        own = Relation(rows=400, score=0.98, chance=0.17, majority=0.18)
        shown = EvaluatedExamples(place=CALL, relation=own, renamed=Renamed(rows=400, right=0.38, renamed=0.58, within=0.94))
        given = curves(5.0)
        given["series"]["accuracy/eval"] = (np.arange(0, 200, 20), np.full(10, accuracy))
        return run(evaluation(found=0), data_probe=DataProbe(targets="classes", relation=kept, evaluations=(shown,)), **given)

    assert "does not mean the same" in assert_suspects(strange(0.4), "train-val-mismatch").evidence[0].text
    assert_silent(strange(0.97), "train-val-mismatch", "a task that it was tuned for later")


DEALT = """for epoch in range(EPOCHS):
    for x, y in train_batches():
        step(model(x), y)
    with torch.no_grad():
        for x, y in zip(Xv.split(200), Yv.split(200)):
            known += criterion(model(x), y).item()
"""


@pytest.mark.parametrize(
    ("loop", "met", "found"),
    [
        ("zip(Xv.split(200), Yv.split(200))", 400, True),
        ("[(x_valid, y_valid)]", 400, True),
        ("zip(X.split(200), Y.split(200))", 400, False),
        ("zip(X_train[:400].split(200), y_train[:400].split(200))", 400, False),
        ("(train_sets if epoch % 2 else val_sets)", 400, False),
        ("zip(Xv.split(200), Yv.split(200))", 0, False),
    ],
)
def test_all_of_what_is_called_validation_was_trained_on(loop: str, met: int, found: bool) -> None:
    source = DEALT.replace("zip(Xv.split(200), Yv.split(200))", loop)
    place = place_in(source, "known +=")
    data = evaluation(place=place, called_from=None, texts=("model(x)",), found=400, found_distinct=400, found_first=met, found_later=met)
    record = run(data, sources={"train.py": source})
    if found:
        assert "calls validation" in assert_suspects(record, "train-val-leakage", "likely").evidence[0].text
    else:
        assert_silent(record, "train-val-leakage")
    graph = replace(data, distinct=1000, rows=1000, found=1000, found_distinct=1000, found_first=1000, found_later=1000)
    assert_silent(run(graph, sources={"train.py": source}), "train-val-leakage")
    other = evaluation(place=Place("train.py", 90), called_from=None, texts=("model(x_test)",), found=0, found_distinct=0)
    assert_silent(run(data, other, sources={"train.py": source}), "train-val-leakage")
