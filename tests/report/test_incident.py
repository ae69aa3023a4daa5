"""How an incident is told: in words, in the terminal, in HTML and in the document."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from rich.console import Console

from report import fakes
from sickbay.facts import FirstInvalid, Incident, ModelGiven, NonfiniteBatch, PartKept, PartMissing, TensorKept
from sickbay.nouns import Place
from sickbay.record.comparison import Comparison, Happened, Losses, compare_losses
from sickbay.record.reader import Record, with_facts
from sickbay.report import document, html, incident, incident_page, replay_page, terminal, view
from sickbay.testing import make_record

FIRST = FirstInvalid(
    step=132, origin="operation", op="div", place=Place(f"{fakes.CWD}/train.py", 9), call="x / total", kind="nan", lowest=0.0, highest=3.0,
    parameters_finite=True, traced=True, rows=(3,), samples=(812,),
)  # fmt: skip
KEPT = Incident(
    id="1", kind="loss", step=132, epoch=1, loss="nan", rates=(3.0,), script=f"{fakes.CWD}/train.py", cwd=fakes.CWD, first=FIRST,
    data=(NonfiniteBatch(role="input", kind="nan", rows=(3,), samples=(812,), variable="x"),),
    batch=(TensorKept(name="[0]", shape=(32, 8), dtype="float32", minimum=-2.0, maximum=3.5, invalid=8, rows=(3,)),
           TensorKept(name="[1]", shape=(32,), dtype="int64", minimum=0, maximum=9)),
    inputs=(ModelGiven(model="Net", tensors=(TensorKept(name="[0]", shape=(32, 8), dtype="float32", minimum=-2.0, maximum=3.5, kept=False),)),),
    samples=tuple(range(800, 832)), rng={"torch": "forward", "numpy": "incident", "python": "incident"},
    kept=(PartKept(part="batch", tensors=2, bytes=1280), PartKept(part="inputs", tensors=1), PartKept(part="rng", tensors=2, bytes=5056),
          PartKept(part="weights", tensors=7, bytes=2**20)),
    missing=(PartMissing(part="weights", why="there was no room for it within --blackbox", names=("2.weight",), tensors=1, bytes=150 * 2**20),),
    budget=2**20, file="process-1.incident.pt", bytes=2**20 + 9000,
)  # fmt: skip
RECURS = Comparison(
    outcome="recurred", before=Happened("loss", 132, FIRST), now=Happened("loss", 132, FIRST), losses=Losses(133, 132), steps=133, ended="", changed=(),
    sources={}, seeded=True,
)  # fmt: skip


def told(draw: object, *arguments: object) -> str:
    out = io.StringIO()
    draw(*arguments, Console(file=out, width=80, highlight=False))  # type: ignore[operator]
    return out.getvalue()


def test_every_report_has_one_line_of_it() -> None:
    diagnosis, record = fakes.exploding()
    shown = view.build(diagnosis, with_facts(record, incident=KEPT))
    assert shown.incident == "The loss was NaN at step 132; kept: batch, model inputs, random states and weights (1.0 MB); not all fitted."
    assert "Incident     The loss was NaN at step 132" in told(terminal.render, shown)
    assert "<h2>Incident</h2>" in html.render(shown) and "sickbay incident train-loud-finch" in html.render(shown)
    assert "Incident" not in told(terminal.render, view.build(diagnosis, record))


def test_the_document_obeys_its_schema() -> None:
    made = document.build(fakes.exploding()[0], fakes.CWD, KEPT)
    Draft202012Validator(document.schema()).validate(made)
    assert made["incident"]["place"] == {"file": "train.py", "line": 9, "layer": None}
    assert made["incident"]["missing"] == [{"what": "weights", "why": "there was no room for it within --blackbox"}]
    assert document.build(fakes.exploding()[0], fakes.CWD)["incident"] is None


def test_the_page() -> None:
    page = told(incident_page.render, KEPT, Path("/runs/r/process-1.incident.json"), "r", Record())
    for line in (
        "The loss was NaN at step 132 of train.py, epoch 1, learning rate 3.",
        "First     `x / total` at train.py:9 gave NaN, given values from 0 to 3, in row 3",
        "Data      `x` held NaN when it entered the model in row 3 (data set index 812).",
        "Batch     [0]  32 × 8 float32, -2 to 3.5, 8 not finite in row 3",
        "          [1]  32 int64, 0 to 9",
        "Inputs    Net  [0]  32 × 8 float32, -2 to 3.5, not kept",
        "          model inputs: 1 tensor, the same as above",
        "Missing   weights: 1 tensor, 150 MB (2.weight): there was no room for it",
        '          model.load_state_dict(incident.weights["Net"], strict=False)',
        "Next      sickbay replay r",
    ):
        assert line in page, page
    assert max(map(len, page.splitlines())) <= 80


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"origin": "parameter", "name": "fc.weight", "updated_at": 131},
            "the weight fc.weight was not finite already, since the update of step 131",
        ),
        ({"origin": "data"}, "the data was not finite already; it was used by `x / total`"),
        ({"op": "", "call": "", "origin": "unknown"}, "which operation it came from is not known"),
        ({"backward": True}, "the loss was finite; its gradient first was not in the slope of `x / total`"),
        ({"traced": False}, "(its line is from an earlier step)"),
    ],
)
def test_where_it_came_from(change: dict[str, object], words: str) -> None:
    assert words in incident.origin(replace(FIRST, **change), fakes.CWD)  # type: ignore[arg-type]


def test_a_crash() -> None:
    crash = replace(KEPT, kind="crash", message="Traceback...\nIndexError: Target 9 is out of bounds.", first=None, data=())
    page = told(incident_page.render, crash, Path("/runs/r/process-1.incident.json"), "r", Record())
    assert "An exception ended step 132 of train.py" in page and "Error     IndexError: Target 9 is out of bounds." in page


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (RECURS, "RECURRED  At step 132, as before: the loss is not finite."),
        (replace(RECURS, outcome="elsewhere", now=Happened("loss", 90, FIRST)), "RECURRED ELSEWHERE  At step 90; before, it was at step 132"),
        (replace(RECURS, outcome="elsewhere"), "At step 132 as before, but not in the same way"),
        (replace(RECURS, outcome="absent", now=None), "DID NOT RECUR  Step 132 went well this time"),
        (replace(RECURS, outcome="unreached", now=None, steps=9, ended="exit code 1"), "NOT REACHED  The script ended after 9 steps"),
        (replace(RECURS, before=Happened("loss", 132)), "Before    the run itself could not tell the line"),
        (replace(RECURS, before=Happened("loss", 132, replace(FIRST, traced=False))), "Before    the run named the same line"),
        (replace(RECURS, before=Happened("loss", 132, replace(FIRST, traced=False, call="y"))), "Before    the run named `y` on that line"),
        (replace(RECURS, losses=Losses(9, 8, 4, 0.5, 0.25), seeded=False), "The first that differs is of step 4: 0.5 before, 0.25 now; no seed"),
        (replace(RECURS, losses=Losses(1, 0)), "Identical to the bit on the one step that both recorded, step 0."),
        (replace(RECURS, changed=(f"{fakes.CWD}/net.py",)), "Changed   net.py is not as in the run that was recorded."),
    ],
)
def test_the_page_of_a_replay(found: Comparison, words: str) -> None:
    page = told(replay_page.render, found, fakes.CWD, Path("/runs/r/replay"))
    assert words in page, page
    assert max(map(len, page.splitlines())) <= 80


def test_losses_are_compared_step_by_step() -> None:
    nan = float("nan")
    one = make_record(series={"loss/train": [1.0, 2.0, nan, 4.0]})
    assert compare_losses(one, make_record(series={"loss/train": [1.0, 2.0, nan]})) == Losses(3, 2)
    assert compare_losses(one, make_record(series={"loss/train": ([1, 3], [2.0, 4.5])})) == Losses(2, 3, 3, 4.0, 4.5)
    assert compare_losses(one, make_record()) == Losses()
