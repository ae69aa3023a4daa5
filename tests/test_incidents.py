"""Incidents from end to end, with real processes: kept through a kill, shown without torch, loaded safely, replayed."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import sickbay
from sickbay.cli import cli
from sickbay.errors import NotARecord, RecordNotFound, RecordVersionError
from sickbay.incidents import load_incident
from sickbay.record.incident_reader import read_description
from sickbay.runs import open_run

torch = pytest.importorskip("torch")

SOURCE = str(Path(sickbay.__file__).resolve().parents[1])
BREAKS = 40
TRAIN = f"""
import os, signal, sys
import torch
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
try:
    for step in range({BREAKS + 20}):
        x = torch.rand(8, 4)
        if step == {BREAKS}:
            x[5] = 0.0
        total = x.sum(1, keepdim=True)
        loss = (model(x) - x.max() / total).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        AFTER
finally:
    print("cleaned up after", step)
"""
GUILTY = "loss = (model(x) - x.max() / total).pow(2).mean()"


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SICKBAY", "PYTHON"))}
    return kept | {"PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1", "COLUMNS": "80", "NO_COLOR": "1"}


def tool(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sickbay", *words]
    return subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=120, check=False)


def train(folder: Path, after: str = "pass", before: str = "", *options: str) -> tuple[subprocess.CompletedProcess[str], Path]:
    (folder / "train.py").write_text(before + TRAIN.replace("AFTER", after))
    return tool(folder, "run", "--quiet", "--name", "run", *options, "train.py"), folder / ".sickbay" / "runs" / "run"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with an incident, in a folder of its own. Tests copy it before they change anything."""
    folder = tmp_path_factory.mktemp("broken")
    done, run = train(folder)
    assert done.returncode == 0, done.stderr
    assert list(run.glob("*.incident.json"))
    return folder


@pytest.fixture
def run(broken: Path, tmp_path: Path) -> Path:
    shutil.copytree(broken, tmp_path / "copy")
    return tmp_path / "copy" / ".sickbay" / "runs" / "run"


def description(run: Path) -> Path:
    (path,) = run.glob("*.incident.json")
    return path


def line_of(folder: Path, text: str) -> int:
    return next(i for i, line in enumerate((folder / "train.py").read_text().splitlines(), 1) if text in line)


# -- showing --------------------------------------------------------------------------------------------------------------


def shown(*words: str | Path) -> str:
    result = CliRunner().invoke(cli, ["incident", *map(str, words)])
    assert result.exit_code == 0, result.output
    return result.output


def test_an_incident_is_shown(run: Path) -> None:
    text = shown(run)
    assert f"The loss was infinity at step {BREAKS} of train.py, learning rate 0.01." in text
    assert "Inputs    Sequential  [0]  8 × 4 float32, 0 to 0.9" in text
    assert "weights before the update: 4 tensors" in text
    assert "incident = sickbay.load_incident(" in text and "sickbay replay" in text
    assert "no report" in text.replace("\n", " ")
    assert max(map(len, text.splitlines())) <= 80 or "/" in max(text.splitlines(), key=len), "only paths may be longer"


def test_what_is_called_after_the_model_is_not_loaded(tmp_path: Path) -> None:
    """A loss that is a module has no weights: the lines that are shown load the model before it."""
    judge = "class Judge(torch.nn.Module):\n    def forward(self, a, b): return (a - b).pow(2).mean()\njudge = Judge()\noptimizer ="
    text = (
        TRAIN.replace("AFTER", "pass")
        .replace("optimizer =", judge, 1)
        .replace("(model(x) - x.max() / total).pow(2).mean()", "judge(model(x), x.max() / total)")
    )
    (tmp_path / "train.py").write_text(text)
    tool(tmp_path, "run", "--quiet", "--name", "run", "train.py")
    shown = tool(tmp_path, "incident", "run").stdout
    assert 'incident.weights["Sequential"]' in shown and "call = incident.inputs[-2]" in shown
    kept = load_incident(tmp_path / ".sickbay" / "runs" / "run")
    assert list(kept.weights) == ["Sequential"] and kept.inputs[-2]["model"] == "Sequential"


def test_a_loss_that_is_left_out_is_not_blamed_on_the_budget(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        TRAIN.replace("AFTER", "pass").replace(
            "        optimizer.zero_grad()", "        if not loss.isfinite(): continue\n        optimizer.zero_grad()"
        )
    )
    tool(tmp_path, "run", "--quiet", "--name", "run", "train.py")
    assert "--blackbox was 0 and" not in tool(tmp_path, "incident", "run").stderr


def test_it_can_be_named_by_its_files_and_by_its_record(run: Path) -> None:
    told = shown(run).splitlines()[1]
    for path in (description(run), description(run).with_suffix(".pt"), next(run.glob("*.sickbay"))):
        assert shown(path).splitlines()[1] == told


def test_showing_needs_no_torch(run: Path) -> None:
    block = f"import sys; sys.path.insert(0, {SOURCE!r}); sys.modules['torch'] = None\nfrom sickbay.cli import cli\ncli(['incident', {str(run)!r}])"
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr


def test_reports_tell_of_it_and_hold_no_sample(run: Path) -> None:
    document = json.loads((run / "diagnosis.json").read_text())["incident"]
    assert (document["kind"], document["step"], document["kept"]) == ("loss", BREAKS, ["inputs", "rng", "weights"])
    assert document["file"] == description(run).with_suffix(".pt").name
    assert "<h2>Incident</h2>" in (run / "report.html").read_text()
    told = CliRunner().invoke(cli, ["diagnose", str(run)]).output
    assert f"Incident     The loss was infinity at step {BREAKS}; kept:" in told
    value = f"{load_incident(run).inputs[0]['args'][0][0, 0].item():.4f}"
    assert value not in (run / "report.html").read_text() + (run / "diagnosis.json").read_text() + description(run).read_text()


def test_a_run_without_one(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("AFTER", "pass").replace(f"step == {BREAKS}", "False"))
    tool(tmp_path, "run", "--quiet", "--name", "run", "train.py")
    for command in ("incident", "replay"):
        done = tool(tmp_path, command, "run")
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert "no loss, gradient or weight was seen to be NaN or infinite" in done.stderr


def test_a_run_that_kept_nothing_can_still_be_replayed(tmp_path: Path) -> None:
    train(tmp_path, "pass", "", "--blackbox", "0")
    done = tool(tmp_path, "incident", "run")
    assert done.returncode == 2 and f"step {BREAKS} was not finite, but --blackbox was 0" in done.stderr
    assert "RECURRED" in tool(tmp_path, "replay", "run").stdout


# -- loading --------------------------------------------------------------------------------------------------------------


def test_a_fresh_model_shows_it_again(run: Path) -> None:
    incident = load_incident(run)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    model.load_state_dict(incident.weights["Sequential"])
    (x,) = incident.inputs[-1]["args"]
    loss = (model(x) - x.max() / x.sum(1, keepdim=True)).pow(2).mean()
    assert torch.isinf(loss)
    assert incident.missing == ()
    assert load_incident(description(run)).description == incident.description
    assert load_incident(description(run).with_suffix(".pt")).description == incident.description


class Evil:
    def __reduce__(self) -> object:
        return Path.touch, (Path("/tmp/sickbay-was-tricked"),)


def test_a_hostile_file_is_not_executed(run: Path) -> None:
    tensors = description(run).with_suffix(".pt")
    torch.save({"id": "x", "batch": Evil()}, tensors)
    told = json.loads(description(run).read_text())
    description(run).write_text(json.dumps(told | {"bytes": tensors.stat().st_size}))
    with pytest.raises(NotARecord, match="cannot be loaded safely"):
        load_incident(run)
    tensors.write_bytes(pickle.dumps(Evil()))
    description(run).write_text(json.dumps(told | {"bytes": tensors.stat().st_size}))
    with pytest.raises(NotARecord, match="cannot be loaded safely"):
        load_incident(run)
    assert not Path("/tmp/sickbay-was-tricked").exists()


def test_tensors_of_another_incident_are_refused(run: Path) -> None:
    told = json.loads(description(run).read_text())
    description(run).write_text(json.dumps(told | {"id": "another"}))
    with pytest.raises(NotARecord, match="belongs to another incident"):
        load_incident(run)


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", NotARecord, "not valid JSON"),
        ("[1, 2]", NotARecord, "expected a JSON object"),
        ('{"schema": "other"}', NotARecord, "expected a JSON object whose schema is"),
        ('{"schema": "sickbay/incident/9"}', RecordVersionError, "upgrade"),
        ('{"schema": "sickbay/incident/1", "step": "soon"}', NotARecord, "is damaged"),
        ('{"schema": "sickbay/incident/1", "file": "../../etc/passwd"}', NotARecord, "always lie beside it"),
        ("[" * 100_000, NotARecord, "not valid JSON"),
        ('{"schema": "sickbay/incident/1", "step": 1, "new in a later version": 2}', None, ""),
    ],
)
def test_descriptions_from_anywhere(tmp_path: Path, text: str, error: type[Exception] | None, words: str) -> None:
    path = tmp_path / "x.incident.json"
    path.write_text(text)
    if error is None:
        assert read_description(path).step == 1
        return
    with pytest.raises(error, match=words):
        read_description(path)


def test_pieces_that_are_missing_or_cut(run: Path) -> None:
    tensors = description(run).with_suffix(".pt")
    whole = tensors.read_bytes()
    tensors.write_bytes(whole[:-100])
    with pytest.raises(NotARecord, match="cut short"):
        load_incident(run)
    tensors.unlink()
    with pytest.raises(RecordNotFound, match="is missing"):
        load_incident(run)
    with pytest.raises(NotARecord, match="is missing: the process was killed while"):
        load_incident(tensors.with_name("other.incident.pt"))


def test_terminal_escapes_in_a_description_are_shown_not_obeyed(run: Path) -> None:
    told = json.loads(description(run).read_text())
    description(run).write_text(json.dumps(told | {"script": "/x/\x1b[2Jtrain.py", "inputs": [{"model": "\x1b[31mNet"}]}))
    assert "\x1b" not in shown(run)


# -- killed ---------------------------------------------------------------------------------------------------------------

KILL = "os.kill(os.getpid(), signal.SIGKILL)"
WHILE_WRITING = f"""
import os, pathlib, signal
writing, renaming, opening = os.fsync, pathlib.Path.replace, pathlib.Path.open
class Half:
    def __init__(self, file): self.file, self.count = file, 0
    def __enter__(self): return self
    def __exit__(self, *_): self.file.close()
    def __getattr__(self, name): return getattr(self.file, name)
    def write(self, data):
        self.file.write(bytes(data)[: len(data) // 2])
        self.file.flush()
        self.count += 1
        if self.count > 6: {KILL}
def open(self, *args, **named):
    file = opening(self, *args, **named)
    return Half(file) if MOMENT == "half" and ".incident.pt." in self.name else file
def fsync(fd):
    if MOMENT == "written": {KILL}
    return writing(fd)
def replace(self, target):
    if MOMENT == "tensors done" and str(target).endswith(".incident.json"): {KILL}
    return renaming(self, target)
os.fsync, pathlib.Path.replace, pathlib.Path.open = fsync, replace, open
del open, replace
"""


@pytest.mark.parametrize("moment", ["half", "written", "tensors done"])
def test_killed_while_it_is_written(tmp_path: Path, moment: str) -> None:
    done, run = train(tmp_path, before=WHILE_WRITING.replace("MOMENT", repr(moment)))
    assert done.returncode == 137
    record = open_run(run)
    assert not record.damage and record.facts.run.steps >= BREAKS // 2
    assert not list(run.glob("*.incident.json"))
    shown = tool(tmp_path, "incident", "run")
    assert shown.returncode == 2 and "was not written to its end" in shown.stderr and "sickbay replay run" in shown.stderr
    with pytest.raises(RecordNotFound, match="was not written to its end"):
        load_incident(run)


def test_killed_after_it(tmp_path: Path) -> None:
    done, run = train(tmp_path, f"if not loss.isfinite(): {KILL}")
    assert done.returncode == 137
    incident = load_incident(run)
    assert incident.description.step == BREAKS
    record = open_run(run)
    assert record.facts.incident == incident.description and record.facts.losses[0].invalid, "the facts were written at once"
    again = tool(tmp_path, "replay", "run")
    assert again.returncode == 0 and "RECURRED" in again.stdout, again.stdout + again.stderr


def test_an_unwritable_folder_costs_only_the_incident(tmp_path: Path) -> None:
    refuse = "import os\ndef fsync(fd): raise OSError(28, 'No space left on device')\nos.fsync = fsync\n"
    done, run = train(tmp_path, before=refuse)
    assert (done.returncode, done.stderr) == (0, "")
    assert "No space left on device" in tool(tmp_path, "incident", "run").stderr
    assert open_run(run).facts.run.steps == BREAKS + 20


# -- replaying ------------------------------------------------------------------------------------------------------------


def test_a_replay_confirms_and_stops(run: Path) -> None:
    folder = run.parents[2]
    told = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(told | {"cwd": str(folder)}))
    done = tool(folder, "replay", "run")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("sickbay: running `") and "writes again" in done.stderr.splitlines()[0]
    assert f"cleaned up after {BREAKS}" in done.stdout, "its finally block runs, right after the step"
    assert f"RECURRED  At step {BREAKS}, as before" in done.stdout
    assert f"train.py:{line_of(folder, GUILTY)}" in done.stdout
    assert f"Identical to the bit on all {BREAKS + 1} steps" in done.stdout
    again = load_incident(run / "replay")
    assert again.description.first is not None and again.description.first.traced
    assert torch.equal(again.inputs[0]["args"][0], load_incident(run).inputs[0]["args"][0])


def test_a_script_that_does_not_repeat_itself(tmp_path: Path) -> None:
    unseeded = (
        TRAIN.replace("torch.manual_seed(0)", "").replace("AFTER", "pass").replace(f"step == {BREAKS}", "not os.path.exists('mark') and step == 40")
    )
    (tmp_path / "train.py").write_text(unseeded + "open('mark', 'w').close()\n")
    tool(tmp_path, "run", "--quiet", "--name", "run", "train.py")
    done = tool(tmp_path, "replay", "run")
    assert done.returncode == 1, done.stdout + done.stderr
    assert (
        "DID NOT RECUR" in done.stdout
        and "differ from the first step on" in done.stdout
        and "no seed is set" in done.stdout.replace("\n          ", " ")
    )


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ((f"step == {BREAKS}", "step == 12"), 3, "RECURRED ELSEWHERE"),
        (("total = x.sum", "assert step < 9, 'no more data'\n        total = x.sum"), 2, "no more data"),
    ],
)
def test_a_script_that_was_changed_meanwhile(tmp_path: Path, change: tuple[str, str], code: int, words: str) -> None:
    train(tmp_path)
    script = tmp_path / "train.py"
    script.write_text(script.read_text().replace(*change))
    done = tool(tmp_path, "replay", "run")
    assert done.returncode == code, done.stdout + done.stderr
    assert words in " ".join(done.stdout.split())
    assert "train.py is not as in the run that was recorded" in done.stdout


def test_what_cannot_be_replayed(run: Path, tmp_path: Path) -> None:
    told = json.loads((run / "run.json").read_text())
    for change, words in (({"cwd": "/no/such/folder"}, "there is no such folder"), ({"command": []}, "holds no command")):
        (run / "run.json").write_text(json.dumps(told | change))
        result = CliRunner().invoke(cli, ["replay", str(run)])
        assert result.exit_code == 2 and words in result.output
