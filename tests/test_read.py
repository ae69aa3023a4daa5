"""`sickbay read` from the outside: the report, the document, the exit code."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from rich.console import Console
from rich.progress import Progress

from record.foreign.styles import table
from sickbay.cli import cli, reading
from sickbay.record.foreign import read_logs
from sickbay.record.foreign.progress import listening
from sickbay.report import document


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, ["read", *map(str, arguments)])


@pytest.fixture
def overfits(tmp_path: Path) -> Path:
    path = tmp_path / "training.csv"
    rows: list[list[object]] = [[i, math.exp(-i / 8), 0.6 + 0.4 * math.exp(-i / 3) + i / 30] for i in range(40)]
    path.write_text(table(["epoch", "loss", "val_loss"], rows))
    return path


def written(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(path.read_text())
    Draft202012Validator(document.schema()).validate(loaded)
    return loaded


def test_the_report_says_what_was_taken_for_what(overfits: Path) -> None:
    result = run(overfits)
    assert result.exit_code == 0, result.output
    assert "SICK" in result.output and "overfits" in result.output
    assert "'val_loss'" in result.output and "CSV table" in result.output
    assert "Overhead" not in result.output


def test_the_document_has_the_shape_and_the_columns(overfits: Path, tmp_path: Path) -> None:
    run(overfits, "--json", tmp_path / "out.json")
    loaded = written(tmp_path / "out.json")
    assert loaded["shapes"][0] == loaded["diagnoses"][0]["cause"] == "overfitting"
    assert loaded["log"]["columns"]["loss/eval"] == ["val_loss"] and loaded["log"]["axis"] == "epoch"
    assert "earlier" not in loaded


def test_earlier_runs_stand_under_earlier(overfits: Path, tmp_path: Path) -> None:
    overfits.write_text(overfits.read_text() + "\n".join(f"{i},{math.exp(-i / 9) + 0.1},{math.exp(-i / 9) + 0.12}" for i in range(30)))
    result = run(overfits, "--json", tmp_path / "out.json")
    loaded = written(tmp_path / "out.json")
    assert loaded["verdict"] == "healthy" and loaded["log"]["run"] == 1
    assert [d["verdict"] for d in loaded["earlier"]] == ["sick"]
    assert "earlier: " in result.output


def test_of_several_files_those_that_are_no_logs_are_named(overfits: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.csv"
    other.write_text(table(["epoch", "loss"], [[i, math.exp(-i / 9) + 0.1] for i in range(30)]))
    (tmp_path / "model.bin").write_bytes(bytes(range(256)) * 40)
    result = run(overfits, other, tmp_path / "model.bin")
    assert result.exit_code == 0 and "also: " in result.output and "earlier: " not in result.output
    assert "left out: " in result.output and "model.bin" in result.output


def test_a_pattern_that_matches_nothing(tmp_path: Path) -> None:
    result = run(tmp_path / "no*.csv")
    assert result.exit_code == 2 and "no file matches" in result.output


def test_a_run_that_has_only_just_begun_is_not_judged_first(overfits: Path, tmp_path: Path) -> None:
    overfits.write_text(overfits.read_text() + "0,1.0,1.0\n1,0.9,0.9\n")
    run(overfits, "--json", tmp_path / "out.json")
    assert written(tmp_path / "out.json")["log"]["run"] == 0


def test_exit_code_and_html(overfits: Path, tmp_path: Path) -> None:
    assert run(overfits, "--exit-code", "-o", tmp_path / "report.html").exit_code == 1
    assert "training.csv" in (tmp_path / "report.html").read_text()


def test_a_folder_and_a_pattern(overfits: Path, tmp_path: Path) -> None:
    assert run(tmp_path).exit_code == 0
    assert run(tmp_path / "*.csv").exit_code == 0


def test_an_error_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"PK\x03\x04" + bytes(50))
    result = run(tmp_path / "x.bin")
    assert result.exit_code == 2 and result.output.count("\n") == 1 and "zip archive" in result.output


def test_long_reading_is_shown_and_short_reading_is_not(overfits: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []
    bar = reading.Bar()
    monkeypatch.setattr(reading, "_progress", lambda: Progress(console=Console(file=io.StringIO(), force_terminal=True)))
    with listening(bar):
        read_logs([overfits])
        drawn.append("short" if bar.progress is None else "shown")
        bar.started -= reading.PATIENCE
        read_logs([overfits])
        drawn.append("short" if bar.progress is None else "shown")
    bar.close()
    assert drawn == ["short", "shown"]
    assert bar.progress is not None and bar.progress.tasks[0].percentage == 100
