"""The command line in this process, on records made by hand. What it starts for real is in test_supervise.py and test_run.py."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from click.testing import CliRunner, Result

from sickbay import facts
from sickbay.cli import cli
from sickbay.cli.runs import parse_age, size
from sickbay.doctor import Check, release
from sickbay.errors import UsageError
from sickbay.nouns import Diagnosis, Evidence, Fix, Place, RunSummary, Suspicion
from sickbay.record.reader import Record
from sickbay.record.writer import RecordWriter
from sickbay.runs import RunInfo, new_run

Cli = Callable[..., Result]
SUSPICION = Suspicion(
    cause="lr-too-high", code="SB401", level="hyperparameters", title="The learning rate is too high", why="Every step overshoots.",
    certainty="likely", confidence=0.9, place=Place("train.py", 3), evidence=(Evidence("strong", "the loss rose 40 times"),), fix=Fix("Divide it by 10."),
)  # fmt: skip


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Call `sickbay ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SICKBAY_RUNS", raising=False)

    def invoke(*words: object, typed: str = "") -> Result:
        return CliRunner().invoke(cli, [str(w) for w in words], input=typed)

    return invoke


@pytest.fixture
def conclusion(monkeypatch: pytest.MonkeyPatch) -> Callable[[Diagnosis | Exception], None]:
    """Decide what the diagnosis will be."""
    fake = ModuleType("sickbay.conclude")
    monkeypatch.setitem(sys.modules, "sickbay.conclude", fake)
    verdicts: list[object] = ["healthy"]

    def diagnose(record: Record, summary: RunSummary, trials: object = ()) -> Diagnosis:
        if isinstance(verdicts[-1], Exception):
            raise verdicts[-1]
        sick = verdicts[-1] == "sick"
        reason = "it never trained" if verdicts[-1] == "untrained" else "because"
        return Diagnosis(verdicts[-1], reason, (SUSPICION,) if sick else (), (), (), summary)  # type: ignore[arg-type]

    fake.diagnose = diagnose  # type: ignore[attr-defined]
    return verdicts.append


def recorded(name: str = "baseline", root: Path = Path(".sickbay/runs"), **info: object) -> Path:
    folder = new_run(root, "train", name)
    given: dict[str, object] = {"command": ("python", "train.py"), "started": time.time(), "ended": time.time(), "seconds": 1.0, "exit": 0} | info
    RunInfo(**given).save(folder)  # type: ignore[arg-type]
    writer = RecordWriter(folder / "process-1.sickbay")
    for step in range(3):
        writer.frame("pulse", step, ("loss/train",), [1.0])
    writer.fact("run", facts.Run(steps=3, backwards=3, script="/x/train.py", cwd="/x"))
    writer.close()
    return folder


# -- diagnose and report -------------------------------------------------------------------------------------------------


def test_diagnose_shows_the_report_and_keeps_the_document(call: Cli, conclusion: Callable[[object], None]) -> None:
    folder = recorded()
    conclusion("sick")
    result = call("diagnose", "baseline")
    assert result.exit_code == 0, result.output
    assert "The learning rate is too high" in result.output
    assert json.loads((folder / "diagnosis.json").read_text())["verdict"] == "sick"


def test_diagnose_takes_the_last_run_by_default(call: Cli, conclusion: Callable[[object], None]) -> None:
    recorded("old", started=1.0)
    new = recorded("new")
    call("diagnose")
    assert (new / "diagnosis.json").exists()


@pytest.mark.parametrize(("verdict", "code"), [("sick", 1), ("healthy", 0), ("undecided", 0), ("untrained", 0)])
def test_exit_code(call: Cli, conclusion: Callable[[object], None], verdict: str, code: int) -> None:
    recorded()
    conclusion(verdict)
    assert call("diagnose", "--exit-code").exit_code == code
    assert call("diagnose").exit_code == 0


def test_json_to_a_file_and_to_standard_output(call: Cli, conclusion: Callable[[object], None], tmp_path: Path) -> None:
    recorded()
    conclusion("sick")
    assert "The learning rate is too high" in call("diagnose", "--json", "out.json").output
    shown = json.loads(call("diagnose", "--json", "-").output)
    assert shown == json.loads((tmp_path / "out.json").read_text())
    assert shown["diagnoses"][0]["cause"] == "lr-too-high"
    assert shown["run"]["name"] == "baseline"


def test_a_run_that_never_trained_gets_a_sentence(call: Cli, conclusion: Callable[[object], None]) -> None:
    recorded()
    conclusion("untrained")
    assert call("diagnose").output == "sickbay: it never trained.\n"
    assert call("report").exit_code == 2


def test_report_writes_one_file(call: Cli, conclusion: Callable[[object], None], tmp_path: Path) -> None:
    recorded()
    conclusion("sick")
    result = call("report", "baseline", "-o", "page.html")
    assert result.output == "wrote page.html\n", result.output
    assert "The learning rate is too high" in (tmp_path / "page.html").read_text()
    assert "cannot write nowhere/page.html" in call("report", "-o", "nowhere/page.html").output


@pytest.mark.parametrize("words", [["diagnose", "nowhere"], ["diagnose"], ["report", "nowhere"], ["explain", "no-such-cause"]])
def test_errors_are_one_line_with_exit_code_2(call: Cli, words: list[str]) -> None:
    result = call(*words)
    assert result.exit_code == 2
    assert result.output.startswith("sickbay: ")
    assert result.output.count("\n") == 1


# -- run: our own failures never hide the script's ending ----------------------------------------------------------------


def supervised(call: Cli, conclusion: Callable[[object], None], monkeypatch: pytest.MonkeyPatch, outcome: object, code: int, *options: str) -> Result:
    """`sickbay run` whose child has already left a record and ended with `code`."""
    from sickbay.cli import run
    from sickbay.supervise.child import Ending

    def start(what: object, folder: Path, settings: object, live: bool, variables: object) -> Ending:
        writer = RecordWriter(folder / "process-1.sickbay")
        writer.fact("run", facts.Run(steps=3, backwards=3))
        writer.close()
        RunInfo(command=("python", "train.py"), started=time.time(), ended=time.time(), exit=code).save(folder)
        return Ending(code, 1.0)

    monkeypatch.setattr(run, "start", start)
    Path("train.py").write_text("")
    conclusion(outcome)
    return call("run", *options, "train.py")


@pytest.mark.parametrize(
    ("outcome", "code", "options", "expected"),
    [
        ("sick", 0, (), 0), ("sick", 0, ("--exit-code",), 1), ("sick", 3, ("--exit-code",), 3),
        ("healthy", 0, ("--exit-code",), 0), ("healthy", 3, (), 3), ("undecided", 0, ("--exit-code",), 0),
    ],
)  # fmt: skip
def test_exit_code_of_run(
    call: Cli, conclusion: Callable[[object], None], monkeypatch: pytest.MonkeyPatch, outcome: str, code: int, options: tuple[str, ...], expected: int
) -> None:
    assert supervised(call, conclusion, monkeypatch, outcome, code, *options).exit_code == expected


def test_a_bug_in_the_diagnosis_keeps_the_scripts_exit_code(call: Cli, conclusion: Callable[[object], None], monkeypatch: pytest.MonkeyPatch) -> None:
    result = supervised(call, conclusion, monkeypatch, ZeroDivisionError("oh"), 3, "--exit-code")
    assert result.exit_code == 3
    assert result.output.startswith("sickbay: the run could not be diagnosed: ZeroDivisionError at test_cli.py")
    assert result.output.count("\n") == 1


def test_a_bug_in_one_report_leaves_the_others(call: Cli, conclusion: Callable[[object], None], monkeypatch: pytest.MonkeyPatch) -> None:
    import sickbay.report.html

    monkeypatch.setattr(sickbay.report.html, "render", lambda view: 1 / 0)
    result = supervised(call, conclusion, monkeypatch, "sick", 0, "--json", "out.json", "--name", "x")
    assert "sickbay: the HTML report could not be written: ZeroDivisionError" in result.output
    assert "The learning rate is too high" in result.output
    assert Path("out.json").exists()
    assert Path(".sickbay/runs/x/diagnosis.json").exists()


def test_what_run_leaves(call: Cli, conclusion: Callable[[object], None], monkeypatch: pytest.MonkeyPatch) -> None:
    result = supervised(call, conclusion, monkeypatch, "sick", 0, "--name", "a", "--runs", "elsewhere")
    assert "The learning rate is too high" in result.output
    assert sorted(p.name for p in Path("elsewhere/a").iterdir()) == ["diagnosis.json", "process-1.sickbay", "report.html", "run.json"]
    result = supervised(call, conclusion, monkeypatch, "sick", 0, "--name", "b", "--runs", "elsewhere", "--quiet", "--no-html")
    assert result.output == ""
    assert sorted(p.name for p in Path("elsewhere/b").iterdir()) == ["diagnosis.json", "process-1.sickbay", "run.json"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--budget", "fast"), "'fast' is not a share of step time: expected"),
        (("--record-budget", "7XB"), "'7XB' is not a size: expected"),
        (("--detail-steps", "-1"), "'-1' is not a number of steps: expected"),
        (("--json", "nowhere/out.json"), "cannot write nowhere/out.json: its folder does not exist"),
        (("--name", "a/b"), "'a/b' cannot be the name of a run"),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(call: Cli, options: tuple[str, ...], words: str) -> None:
    Path("train.py").write_text("print('started')")
    result = call("run", *options, "train.py")
    assert result.exit_code == 2
    assert words in result.output
    assert "started" not in result.output


def test_forgetting_run_is_told(call: Cli) -> None:
    result = call("train.py", "--epochs", "3")
    assert result.exit_code == 2
    assert "write `sickbay run train.py --epochs 3`" in result.output


# -- runs ----------------------------------------------------------------------------------------------------------------


def test_runs_shows_name_date_verdict_ending_and_size(call: Cli) -> None:
    assert "no runs in .sickbay/runs yet" in call("runs").output
    recorded("first", started=time.mktime((2026, 1, 31, 17, 45, 0, 0, 0, -1)), exit="SIGKILL")
    folder = recorded("second")
    (folder / "diagnosis.json").write_text('{"verdict": "healthy"}')
    second, first = call("runs").output.splitlines()
    assert first.split() == ["first", "2026-01-31", "17:45", "not", "diagnosed", "SIGKILL", *first.split()[-2:]]
    assert second.split()[0] == "second"
    assert second.split()[3] == "healthy"
    rows = json.loads(call("runs", "--json").output)
    assert [r["name"] for r in rows] == ["second", "first"]
    assert rows[1]["exit"] == "SIGKILL"


def test_prune(call: Cli) -> None:
    for i in range(3):
        recorded(f"run{i}", started=time.time() - i * 86_400)
    result = call("runs", "--prune", "--keep", "1")
    assert result.exit_code == 2
    assert "deleting 2 runs needs a yes: add --yes" in result.output
    result = call("runs", "--prune", "--older", "36h", "--yes")
    assert "deleted 1 run, freed " in result.output
    assert [p.name for p in sorted(Path(".sickbay/runs").iterdir())] == ["run0", "run1"]
    assert call("runs", "--prune", "--yes").output == "nothing to delete\n"
    assert "belong to --prune" in call("runs", "--keep", "1").output
    assert "is not an age" in call("runs", "--prune", "--older", "soon").output


def test_prune_asks(call: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import click

    from sickbay.cli import runs

    recorded("a")
    monkeypatch.setattr(runs, "_can_ask", lambda: True)
    answers = iter([False, True])
    monkeypatch.setattr(click, "confirm", lambda text: text.startswith("Delete 1 run and free ") and next(answers))
    call("runs", "--prune", "--keep", "0")
    assert Path(".sickbay/runs/a").exists()
    call("runs", "--prune", "--keep", "0")
    assert not Path(".sickbay/runs/a").exists()


def test_words_for_sizes_and_ages() -> None:
    assert [size(n) for n in (0, 1023, 1536, 20 * 2**20, 3 * 2**30)] == ["0 B", "1023 B", "1.5 KB", "20 MB", "3.0 GB"]
    assert [parse_age(t) for t in ("90m", "12h", "30d", "2W")] == [5400, 43_200, 2_592_000, 1_209_600]
    with pytest.raises(UsageError, match="'soon' is not an age"):
        parse_age("soon")


# -- the catalogue and the environment -----------------------------------------------------------------------------------


def test_the_catalogue(call: Cli) -> None:
    rows = json.loads(call("causes", "--json").output)
    assert {"cause", "code", "level", "title", "why", "explains"} == set(rows[0])
    shown = call("causes").output
    explained = call("explain", rows[0]["cause"])
    assert all(r["code"] in shown for r in rows)
    assert explained.exit_code == 0
    assert call("explain", rows[0]["code"].lower()).output == explained.output


def test_doctor(call: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import sickbay.doctor

    checks = [Check("python", "ok", "3.11"), Check("torch", "warning", "2.99 is outside the tested range")]
    monkeypatch.setattr(sickbay.doctor, "examine", lambda: iter(checks))
    result = call("doctor")
    assert result.output == "ok    python: 3.11\nwarn  torch: 2.99 is outside the tested range\n"
    assert result.exit_code == 0
    checks.append(Check("watching", "failed", "no"))
    result = call("doctor", "--json")
    assert result.exit_code == 1
    assert json.loads(result.output)[2] == {"name": "watching", "state": "failed", "text": "no"}


def test_torch_versions() -> None:
    assert [release(v) for v in ("2.13.0+cpu", "2.5.1", "3.0a0", "2.6.0.dev20250101")] == [(2, 13), (2, 5), (3, 0), (2, 6)]


def test_version(call: Cli) -> None:
    from sickbay import __version__

    assert call("--version").output == f"sickbay {__version__}\n"
