"""Trials in the reports: text, page and document."""

from __future__ import annotations

import io
import math
from dataclasses import replace

import jsonschema
from rich.console import Console

from report import fakes
from sickbay.nouns import Diagnosis, Trial
from sickbay.report import document, html, terminal, view
from sickbay.report.trials import bars, trial_view

CURED = Trial(
    "softmax-before-cross-entropy",
    "feed-logits",
    "logits <recovered>",
    "CURED",
    "loss 2.3 → 0.1 (untreated 2.3 → 1.6)",
    steps=120,
    seconds=3.0,
    untreated=tuple((i, 2.3 - 0.005 * i) for i in range(60)),
    treated=tuple((i, 2.3 * 0.95**i if i != 30 else math.nan) for i in range(60)),
    fenced=("/home/ada/digits/model.pt",),
)
OTHER = replace(CURED, cause="", treatment="lr=x0.1", label="learning rate ×0.1", effect="NO EFFECT", text="nothing")


def tried() -> tuple[Diagnosis, object]:
    diagnosis, record = fakes.softmax()
    causes = (replace(diagnosis.causes[0], trial=CURED), *diagnosis.causes[1:])
    return replace(diagnosis, causes=causes, trials=(CURED, OTHER)), record


def text(encoding: str = "utf-8") -> str:
    diagnosis, record = tried()
    raw = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=raw, width=80, color_system=None)
    terminal.render(view.build(diagnosis, record), console)  # type: ignore[arg-type]
    raw.flush()
    return raw.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


def test_the_terminal_shows_both_curves() -> None:
    shown = text()
    assert "Tried    Logits <recovered>: CURED (120 steps, 3.0 s)" in shown
    assert "untreated  █" in shown and "treated    █" in shown
    assert "Tried    Learning rate ×0.1: NO EFFECT (120 steps, 3.0 s)" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "untreated  #" in text("ascii")


def test_the_page_draws_them_and_escapes_names() -> None:
    diagnosis, record = tried()
    page = html.render(view.build(diagnosis, record))  # type: ignore[arg-type]
    assert '<figure class="trial">' in page and "logits &lt;recovered&gt;" in page.lower()
    assert "Also tried: Learning rate ×0.1" in page
    assert 'class="effect no-effect"' in page


def test_the_document_obeys_its_schema() -> None:
    made = document.build(tried()[0], fakes.CWD)
    jsonschema.validate(made, document.schema())
    assert made["diagnoses"][0]["trial"]["treated"][30] == [30, "NaN"]
    assert made["trials"][1]["cause"] is None


def test_bars_are_of_one_scale_and_broken_where_nothing_is_finite() -> None:
    assert bars([0.0, 1.0, math.nan], (0.0, 1.0, False)) == "▁█×"
    assert bars([], (0.0, 1.0, False)) == ""
    exploded = trial_view(replace(CURED, untreated=((0, 2.0), (1, 1e30)), treated=((0, 2.0), (1, 0.5))))
    assert dict(exploded.rows)["treated"][0] != dict(exploded.rows)["treated"][1], "an explosion leaves the rest to be seen"
