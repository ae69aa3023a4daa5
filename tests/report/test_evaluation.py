"""Evaluations as pages and documents: one sentence first, nothing of single samples unless asked for, nothing that breaks out."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest

from sickbay.facts.evaluated import ClassScore, Confused, Evaluated, Mistake, OutputScore, Reliability, ReliabilityBin, Residuals, Score, SliceScore
from sickbay.report import evaluation_document, evaluation_html, evaluation_page, evaluation_words
from sickbay.report.document import dumps

NAN = float("nan")


def one_class(name: str) -> ClassScore:
    return ClassScore(name=name, support=45, predicted=40, precision=0.8, recall=0.7, recall_low=0.55, recall_high=0.8, f1=0.75)


CLASSES = Evaluated(
    task="classes", unit="samples", samples=450, counted=450, standing="beyond", read_as="logits",
    score=Score(name="accuracy", value=0.91, low=0.88, high=0.932, constant=0.52),
    more=(Score(name="mean F1 of the classes", value=0.9, low=NAN, high=NAN, constant=0.1),),
    classes=tuple(one_class(n) for n in ("3", "5", "<b>x</b>")), confusion=((30, 14, 1), (0, 45, 0), (1, 2, 42)),
    confused=(Confused(given="3", taken_for="5", count=14, support=45, low=0.2),),
    reliability=Reliability(
        of="predicted class", error=0.08, by_chance=0.03, confidence=0.98, accuracy=0.9,
        bins=(ReliabilityBin(count=50, confidence=0.55, right=0.5), ReliabilityBin(count=400, confidence=0.97, right=0.9)),
    ),
    slice_score="accuracy",
    slices=(SliceScore(by="site", value="north", rows=80, score=0.7, low=0.6, high=0.8, others=0.95, chance=1e-5, worse=True),),
    notes=("the loader shuffles",),
)  # fmt: skip
NUMBERS = Evaluated(
    task="numbers", unit="samples", samples=100, counted=98, standing="unclear",
    score=Score(name="R²", value=0.05, low=-0.1, high=0.2, constant=0.0),
    more=(Score(name="mean absolute error", value=12.3, low=11.0, high=14.0, constant=12.9, larger_is_better=False),),
    outputs=(OutputScore(name="a", r2=NAN, mae=1.0, constant_mae=2.0), OutputScore(name="b", r2=0.5, mae=1.0, constant_mae=2.0)),
    residuals=Residuals(bias=0.1, bias_low=-1, bias_high=1.2, bins=tuple((float(i), 0.1, 2.0) for i in range(10)), spread_with_prediction=0.1, explained=0.0),
    worst=(Mistake(index=3, loss=900.0, predicted="1.5", target="31.5"),),
)  # fmt: skip
CASES = {"classes": CLASSES, "numbers": NUMBERS}
every = pytest.mark.parametrize("name", CASES)


def test_the_sentence_that_says_most_comes_first() -> None:
    said = evaluation_words.statement(CLASSES)
    assert said == (
        "accuracy 0.91 (0.88–0.93) on 450 samples; a constant would score 0.52; class 3 is taken for 5 in 31 % of its 45 cases; worse where site is north"
    )
    assert "mean absolute error 12.30 (11.00–14.00), a constant's is 12.9" in evaluation_words.statement(NUMBERS)
    assert "too sure: 98 % sure on average, right in 90 %" in evaluation_words.sureness(CLASSES)


@every
def test_the_terminal_page_fits_80_columns(name: str) -> None:
    lines = evaluation_page.text(CASES[name]).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1] in evaluation_words.TITLES.values()


@every
def test_documents_obey_the_schema(name: str) -> None:
    document = json.loads(dumps(evaluation_document.build(CASES[name])))
    jsonschema.validate(document, evaluation_document.schema())
    assert document["schema"] == evaluation_document.SCHEMA == evaluation_document.schema()["$id"]


@every
def test_the_page_asks_for_nothing_and_names_stay_text(name: str) -> None:
    text = evaluation_html.render(CASES[name], "<script>alert(1)</script>")
    assert "default-src 'none'" in text and "<script>alert" not in text and "<b>x</b>" not in text
    assert not re.search(r"""<[^>]+\s(src|style|on\w+)=""", text.split("<main>")[1].split("</main>")[0])
    assert len(text) < 1_000_000


@every
def test_a_notebook_shows_a_fragment(name: str) -> None:
    text = evaluation_html.fragment(CASES[name])
    assert "<script" not in text and "<b>x</b>" not in text and evaluation_words.statement(CASES[name])[1:20] in text


def test_many_classes_still_fit() -> None:
    many = Evaluated(
        task="classes", unit="samples", samples=5000, counted=5000, score=CLASSES.score, classes=tuple(one_class(f"class {i}") for i in range(900)),
        confusion=tuple(tuple(1 for _ in range(900)) for _ in range(900)),
    )  # fmt: skip
    assert len(evaluation_html.render(many)) < 1_000_000
    assert "and 880 more" in evaluation_page.text(many)
