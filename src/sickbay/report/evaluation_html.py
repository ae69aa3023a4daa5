"""Draws an evaluation as one HTML file, and as a small piece of HTML for a notebook."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass

from sickbay.facts.evaluated import Evaluated, Score
from sickbay.report import evaluation_words as said
from sickbay.report import words
from sickbay.report.charts import Chart, Line
from sickbay.report.html import environment, page
from sickbay.report.tables import Table

MATRIX = 25
"""Classes whose matrix can be read on a screen."""
CELL, LETTER, SHADE = 34, 7, 0.7
"""Pixels, and the darkest shade on which the numbers can still be read."""
ROWS = 500
SHOWN = 12
"""Rows of a table in a notebook."""


@dataclass(frozen=True, slots=True)
class Cell:
    row: int
    column: int
    share: float
    text: str


@dataclass(frozen=True, slots=True)
class Matrix:
    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    left: int
    top: int
    cell: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class EvaluationView:
    """Everything that is shown, as plain strings and numbers."""

    verdict: str
    title: str
    statement: str
    of: str
    facts: tuple[str, ...]
    notes: tuple[str, ...]
    scores: Table
    slices: Table
    slices_lead: str
    classes: Table
    classes_title: str
    confused: Table
    matrix: Matrix | None
    charts: tuple[Chart, ...]
    charts_title: str
    worst: Table


def render(e: Evaluated, of: str = "") -> str:
    """The page; `of` says what was evaluated."""
    view = build(e, of)
    data = {"charts": {c.key: asdict(c) for c in view.charts}, "marks": [], "names": [], "heatmaps": []}
    return page("evaluation.html.j2", data, view=view)


def fragment(e: Evaluated) -> str:
    """For `_repr_html_`."""
    return environment().get_template("evaluation_notebook.html.j2").render(view=build(e), shown=SHOWN)


def build(e: Evaluated, of: str = "") -> EvaluationView:
    facts = [said.units(e), *([f"outputs read as {e.read_as}"] if e.read_as else []), *([f"loss {said.value(e.loss)}"] if e.loss is not None else [])]
    return EvaluationView(
        verdict=said.VERDICTS[e.standing],
        title=said.TITLES[e.standing].capitalize(),
        statement=words.sentence(said.statement(e)),
        of=words.clean(of),
        facts=tuple(facts),
        notes=tuple(words.sentence(n) for n in (*e.notes, said.sureness(e)) if n),
        scores=Table(("score", "value", "95 %", "constant"), tuple(_score(s) for s in (e.score, *e.more))),
        slices=_slices(e),
        slices_lead=f"By {e.slice_score}, those that are worse than all other samples beyond chance first; the chance is that of any slice to look as different (Holm).",
        classes=_classes(e),
        classes_title="By output" if e.outputs else f"By {said.class_word(e)}",
        confused=Table(
            ("given", "taken for", "cases", "of", "share"),
            tuple((words.clean(c.given), words.clean(c.taken_for), f"{c.count:,}", f"{c.support:,}", words.percent(c.share)) for c in e.confused),
        ),
        matrix=_matrix(e),
        charts=tuple(_charts(e)),
        charts_title="How sure, and how right" if e.reliability is not None else "Errors",
        worst=Table(
            ("sample", "loss", "predicted", "target", "sure"),
            tuple(
                (
                    str(m.index),
                    said.value(m.loss),
                    words.clean(m.predicted),
                    words.clean(m.target),
                    "" if m.confidence is None else words.percent(m.confidence),
                )
                for m in e.worst
            ),
        ),
    )


def _score(s: Score) -> tuple[str, ...]:
    low, middle, high = said.ends(s.low, s.value, s.high)
    return s.name, middle, f"{low} to {high}" if math.isfinite(s.low) else "", said.value(s.constant)


def _slices(e: Evaluated) -> Table:
    rows = []
    for s in e.slices[:ROWS]:
        low, middle, high = said.ends(s.low, s.score, s.high)
        name, worse = f"{words.clean(s.by)} = {words.clean(s.value)}", "worse" if s.worse else ""
        rows.append((name, worse, f"{s.rows:,}", middle, f"{low} to {high}", said.value(s.others), f"{s.chance:.2g}"))
    return Table(("slice", "", "samples", e.slice_score, "95 %", "all others", "chance"), tuple(rows))


def _classes(e: Evaluated) -> Table:
    if e.outputs:
        return Table(
            ("output", "R²", "mean absolute error", "of a constant"),
            tuple((words.clean(o.name), said.value(o.r2), said.value(o.mae), said.value(o.constant_mae)) for o in e.outputs[:ROWS]),
        )
    rows = tuple(
        (
            words.clean(c.name),
            f"{c.support:,}",
            f"{c.predicted:,}",
            f"{c.precision:.3f}",
            f"{c.recall:.3f}",
            f"{c.recall_low:.2f} to {c.recall_high:.2f}",
            f"{c.f1:.3f}",
        )
        for c in e.classes[:ROWS]
    )
    return Table((said.class_word(e), "support", "predicted", "precision", "recall", "95 %", "F1"), rows)


def _matrix(e: Evaluated) -> Matrix | None:
    if not 2 <= len(e.confusion) <= MATRIX:
        return None
    names = tuple(words.clean(c.name)[:16] for c in e.classes)
    longest = LETTER * max(map(len, names))
    cell = max(CELL, longest + 8) if len(names) <= 10 else CELL
    left, top, size = longest + 16, 28, cell * len(names)
    cells = tuple(
        Cell(r, c, SHADE * n / max(sum(row), 1), f"{n:,}" if n and n < 100_000 else f"{n:.0e}" if n else "")
        for r, row in enumerate(e.confusion)
        for c, n in enumerate(row)
    )
    return Matrix(names if len(names) <= 10 else tuple(n[:4] for n in names), cells, left, top, cell, left + size + 4, top + size + 4)


def _charts(e: Evaluated) -> list[Chart]:
    found = []
    if e.reliability is not None and len(e.reliability.bins) > 1:
        r = e.reliability
        places = tuple(round(100 * b.confidence) for b in r.bins)
        right = Line("right, %", "train", places, tuple(round(100 * b.right, 1) for b in r.bins))
        perfect = Line("calibrated", "soft", (0, 100), (0.0, 100.0))
        caption = f"Probability of the {r.of} in per cent, and how often it came true; on the grey line both are the same. {words.sentence(said.sureness(e))}"
        found.append(Chart("reliability", "Reliability", caption, (right, perfect), False, axis="per cent"))
    if e.residuals is not None:
        tenths = tuple(range(1, len(e.residuals.bins) + 1))
        mean = Line("mean error", "train", tenths, tuple(float(f"{m:.4g}") for _, m, _ in e.residuals.bins))
        spread = Line("spread of the errors", "eval", tenths, tuple(float(f"{s:.4g}") for _, _, s in e.residuals.bins))
        caption = "Errors (target minus prediction) in tenths of the samples, from the smallest predictions to the largest."
        found.append(Chart("residuals", "Errors by prediction", caption, (mean, spread), False, axis="tenth"))
    return found
