"""What the view makes of a diagnosis and its record, beyond what the snapshots show."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from report import fakes
from report.conftest import Made
from sickbay.conclude import diagnose
from sickbay.facts import Facts, Parameter, Run
from sickbay.nouns import Place, Series
from sickbay.record.reader import Record
from sickbay.report import charts, layers, run_view, words
from sickbay.report.excerpts import diff_lines, excerpt, replacement
from sickbay.report.layers import layer_rows
from sickbay.testing import falling, make_record, model_facts


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (120, "120"), (2.30258, "2.303"), (0.00123, "0.00123"), (0.000123, "1.23e-4"), (1e-5, "1e-5"), (5144.4, "5,144"),
     (123456.7, "123,457"), (2.5e9, "2.5e9"), (float("nan"), "NaN"), (float("-inf"), "-infinity"), (None, "unknown"), (-0.5, "-0.5")],
)  # fmt: skip
def test_numbers(value: float | None, text: str) -> None:
    assert words.number(value) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.82, "0.8 s"), (12.3, "12 s"), (61, "1 min 01 s"), (3599, "1 h 00 min"), (86_000, "23 h 53 min")])
def test_durations(seconds: float, text: str) -> None:
    assert words.duration(seconds) == text


@pytest.mark.parametrize(("share", "text"), [(0.0134, "1.3 %"), (0.5, "50 %"), (0.0, "0 %"), (0.0002, "under 0.1 %")])
def test_shares(share: float, text: str) -> None:
    assert words.percent(share) == text


def test_paths_are_told_from_the_runs_folder() -> None:
    assert words.relative("/a/b/c.py", "/a/b") == "c.py"
    assert words.relative("/a/bc/c.py", "/a/b") == "/a/bc/c.py"
    assert words.relative("C:\\run\\src\\x.py", "C:\\run") == "src/x.py"
    assert words.relative("train.py", "") == "train.py"


def test_sentences() -> None:
    assert words.sentence("the loss fell") == "The loss fell."
    assert words.sentence("loss.backward() was never called") == "loss.backward() was never called."
    assert words.sentence("lr is 3?") == "Lr is 3?"
    assert words.sentence("") == ""


def test_an_excerpt_has_its_shared_indentation_removed() -> None:
    shown = excerpt(Place(f"{fakes.CWD}/train.py", 11), fakes.SOURCES, fakes.CWD)
    assert shown is not None
    assert [line.text for line in shown.lines] == [
        "for x, y in train_loader:", "    optimizer.zero_grad()", "    loss = criterion(model(x), y)", "    loss.backward()", "    optimizer.step()",
    ]  # fmt: skip
    assert [line.number for line in shown.lines if line.guilty] == [11]


def test_an_excerpt_without_source_falls_back_to_the_line_that_was_kept() -> None:
    shown = excerpt(Place("gone.py", 400, None, "x = y"), {}, "/")
    assert shown is not None
    assert [(line.number, line.text) for line in shown.lines] == [(400, "x = y")]
    assert excerpt(Place("gone.py", 400), {}, "/") is None
    assert excerpt(Place(layer="fc1"), {}, "/") is None


def test_a_relative_place_finds_its_source() -> None:
    shown = excerpt(Place("net.py", 19), fakes.SOURCES, fakes.CWD)
    assert shown is not None
    assert len(shown.lines) == 3


def test_diffs_and_snippets() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1,4 +1,4 @@\n \n-    a = 1\n+    a = 2\n     b\n \n"
    lines = diff_lines(diff)
    assert [(line.kind, line.text) for line in lines] == [("head", "x.py"), ("same", ""), ("remove", "a = 1"), ("add", "a = 2"), ("same", "b")]
    assert [line.kind for line in diff_lines(diff, "x.py")] == ["remove", "add", "same"]
    assert replacement(diff) == "    a = 2"
    assert [line.kind for line in diff_lines("x = x / 255\ny = 1")] == ["same", "same"]
    assert replacement("x = x / 255\ny = 1") == "x = x / 255\ny = 1"
    assert diff_lines("") == ()
    assert replacement("-a") == ""


def test_a_short_series_is_drawn_whole_and_a_long_one_within_its_extremes() -> None:
    short = charts.line("a", "train", fakes.series("a", np.arange(charts.POINTS)))
    assert len(short.steps) == charts.POINTS
    assert short.low == ()
    values = np.zeros(100_000)
    values[77_777] = 50.0
    values[5] = np.nan
    long = charts.line("a", "train", fakes.series("a", values))
    assert len(long.steps) == len(long.values) == len(long.low) == len(long.high) == charts.STRETCHES
    assert (long.steps[0], long.steps[-1]) == (0, 99_999)
    assert max(v for v in long.high if v is not None) == 50.0
    assert long.nonfinite == (5,)


def test_many_nonfinite_steps_are_thinned() -> None:
    broken = charts.line("a", "train", fakes.series("a", np.full(5000, np.inf)))
    assert len(broken.nonfinite) == 40
    assert set(broken.values) == {None}


def test_updates_that_are_all_nan_have_no_chart() -> None:
    steps = np.arange(5)
    record = make_record(series={"loss/train": np.full(5, np.nan)}, families={"update_ratio": {"a.weight": (steps, np.full(5, np.nan))}})
    assert [c.key for c in charts.charts(record)] == ["loss"]


def test_marks_leave_out_spans_of_the_whole_run_and_near_repeats(made: Made) -> None:
    assert [(m.first, m.last, m.label) for m in made("exploding").causes[0].marks] == [
        (20, 132, "diverging loss"),
        (132, 199, "nonfinite loss"),
    ]
    assert made("large").causes[0].marks == ()


def test_the_second_chart_follows_the_signs(made: Made) -> None:
    assert made("softmax").causes[0].chart == "updates"
    assert made("large").causes[0].chart == "gradient"
    assert made("exploding").causes[1].chart is None


def test_nan_gradients_are_told_from_steps_that_were_not_measured() -> None:
    values = np.array([[1.0, np.nan], [np.nan, np.nan], [2.0, np.nan]])
    loss = Series("loss/train", np.arange(3), np.array([1.0, np.nan, 1.0]))
    record = Record(all_series={"loss/train": loss}, families={"grad_norm": fakes.family("grad_norm", ("a", "b"), values)})
    (heat,) = layers.heat_maps(record)
    assert heat.values[0] == (1.0, math.inf, 2.0)
    assert [math.isnan(v) for v in heat.values[1]] == [True, False, True]


def test_many_layers_are_gathered_and_tables_cut(made: Made) -> None:
    record = fakes.large(1000, 2000)[1]
    heat = layers.heat_maps(record)[0]
    assert len(heat.rows) == layers.HEAT_ROWS
    assert len(heat.steps) <= layers.HEAT_COLUMNS[0]
    assert " to " in heat.rows[0]
    rows, left_out = layers.parameter_rows(record)
    assert len(rows) == layers.TABLE_ROWS
    assert left_out == 1000 - layers.TABLE_ROWS
    assert sum("no gradient" in r.notes for r in rows) == 25, "rows with something to say are kept"


def test_notes_on_parameters() -> None:
    def notes(**known: object) -> tuple[str, ...]:
        record = Record(Facts(parameters=(Parameter(name="w", **known),)))  # type: ignore[arg-type]
        return layers.parameter_rows(record)[0][0].notes

    assert notes(optimizer=0, reached=True, moved=True) == ()
    assert notes(trainable=False) == ("frozen",)
    assert notes(reached=False, moved=False) == ("in no optimizer", "no gradient", "never moved")
    assert notes(optimizer=0, in_model=False, replaced_by="fc.weight") == ("replaced by fc.weight",)


def test_what_shares_a_reason_shares_a_line(made: Made) -> None:
    assert [what for what, _ in made("softmax").not_checked] == ["label noise", "train and validation overlap"]
    assert any("the file is damaged" in why for _, why in made("hostile").not_checked)


def test_time_shares_add_up(made: Made) -> None:
    shares = dict(made("softmax").time)
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["backward"] == pytest.approx(0.4)


def test_an_empty_record_gives_a_view(made: Made) -> None:
    shown = made("untrained")
    assert shown.charts == shown.heat_maps == shown.parameters == shown.signs == ()
    assert shown.run.overhead == "Our own cost was not measured."


@pytest.mark.parametrize(
    ("script", "again"),
    [("train.py", "train.py --name 'a b'"), ("pkg/train.py", ""), ("site-packages/ipykernel_launcher.py", "")],
    ids=["a script", "a module of a package", "a notebook's kernel"],
)
def test_a_script_is_started_again_only_by_a_command_that_does_it(tmp_path: Path, script: str, again: str) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").touch()
    run = Run(script=str(tmp_path / script), argv=(script, "--name", "a b"), cwd=str(tmp_path), steps=100, finished=True)
    record = make_record(series={"loss/train": falling(2, 0.1)}, run=run)
    assert run_view._again(record, run_view.run_view(diagnose(record), record)) == again


def test_only_layers_whose_weights_no_forward_pass_used_were_never_called() -> None:
    facts = model_facts("used", "spare")
    facts["parameters"] = (facts["parameters"][0], replace(facts["parameters"][1], called=False))
    rows, _ = layer_rows(make_record(steps=10, **facts))
    assert [r.name for r in rows if "never called" in r.notes] == ["spare"]
