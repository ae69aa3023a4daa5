"""`sickbay run --trials` and `sickbay try` on real scripts: the right cure is found, nothing is left behind."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from conftest import Sickbay
from sickbay.facts import Facts, Loader
from sickbay.record.reader import Record
from sickbay.report.document import schema
from sickbay.supervise import trying
from sickbay.supervise.planning import Plan, Planned, eases
from sickbay.testing import make_record
from sickbay.trials.runner import Done, Job
from sickbay.trials.storage import load_trials
from sickbay.trials.treatment import parse
from trials.conftest import start_for_ctrl_c

pytest.importorskip("torch")

SOFTMAX = """
import csv, os
import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 8)
y = x[:, :4].argmax(1)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4), nn.Softmax(dim=1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
log = csv.writer(open("log.csv", "w"))
os.makedirs("checkpoints", exist_ok=True)
for step in range(120):
    rows = torch.randint(0, 256, (64,))
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    log.writerow([step, loss.item()])
    if step % 50 == 0:
        torch.save(model.state_dict(), f"checkpoints/{step}.pt")
        torch.load(f"checkpoints/{step}.pt")
"""


def files(folder: Path) -> dict[str, Any]:
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in folder.rglob("*") if ".sickbay" not in p.parts and p.is_file()}


def test_a_cure_is_tried_and_kept(tmp_path: Path, sickbay: Sickbay) -> None:
    (tmp_path / "train.py").write_text(SOFTMAX)
    done = sickbay("run", "--name", "run", "--quiet", "train.py")
    assert done.returncode == 0, done.stderr
    before = files(tmp_path)
    plan = sickbay("try", "run", "--dry-run")
    assert "1 trial, the whole script each" in plan.stderr and "logits recovered" in plan.stderr
    assert not (tmp_path / ".sickbay/runs/run/trials.json").exists()

    done = sickbay("try", "run", "--json", "-")
    assert done.returncode == 0, done.stderr
    assert files(tmp_path) == before, "the script's folder is as it was"
    document = json.loads(done.stdout)
    jsonschema.validate(document, schema())
    trial = document["diagnoses"][0]["trial"]
    assert document["diagnoses"][0]["cause"] == "softmax-before-cross-entropy"
    assert (trial["effect"], trial["treatment"], trial["steps"]) == ("CURED", "feed-logits", 120)
    assert {Path(f).name for f in trial["fenced"]} >= {"log.csv", "0.pt"}
    assert document["trials"] == [trial]

    again = sickbay("diagnose", "run")
    assert "Tried    Logits recovered: CURED" in again.stdout
    assert "untreated  " in again.stdout
    assert "whether a cure helps" not in again.stdout
    assert "CURED" in (tmp_path / ".sickbay/runs/run/report.html").read_text()

    given = sickbay("try", "run", "--treat", "lr=x1.01", "--steps", "40")
    assert given.returncode == 0, given.stderr
    (only,) = load_trials(tmp_path / ".sickbay/runs/run")
    assert (only.treatment, only.steps, only.effect) == ("lr=x1.01", 40, "NO EFFECT")
    assert "Tried    Learning rate ×1.01: NO EFFECT (40 steps" in given.stdout


HEALTHY = SOFTMAX.replace(", nn.Softmax(dim=1)", "")


def test_a_healthy_script_stays_healthy(tmp_path: Path, sickbay: Sickbay) -> None:
    (tmp_path / "train.py").write_text(HEALTHY)
    done = sickbay("run", "--trials", "--json", "d.json", "train.py")
    assert done.returncode == 0, done.stderr
    assert "no trials: nothing is suspected" in done.stderr
    assert json.loads((tmp_path / "d.json").read_text())["verdict"] == "healthy"


def test_a_treated_run_says_so_and_the_script_is_the_same(tmp_path: Path, sickbay: Sickbay) -> None:
    (tmp_path / "train.py").write_text(HEALTHY)
    done = sickbay("run", "--treat", "lr=x0.5,clip=1", "train.py")
    assert done.returncode == 0, done.stderr
    assert "TREATED  learning rate ×0.5 and gradients clipped at 1" in done.stdout
    assert (tmp_path / "checkpoints" / "0.pt").exists(), "only trials are fenced"
    wrong = sickbay("run", "--treat", "lrr=2", "train.py")
    assert wrong.returncode == 2 and "there is no treatment 'lrr'; did you mean lr" in wrong.stderr
    refused = sickbay("try", "last")
    assert refused.returncode == 2 and "is a treated run itself" in refused.stderr


def test_an_unseeded_script_is_compared_with_itself_under_the_same_seed(tmp_path: Path, sickbay: Sickbay) -> None:
    (tmp_path / "train.py").write_text(SOFTMAX.replace("torch.manual_seed(0)\n", ""))
    done = sickbay("run", "--trials", "--name", "run", "--budget-time", "2m", "train.py")
    assert done.returncode == 0, done.stderr
    assert "as it is, once more: the script sets no seed" in done.stderr
    (trial,) = load_trials(tmp_path / ".sickbay/runs/run")
    assert trial.effect == "CURED"
    assert trial.treated[0][1] == pytest.approx(trial.untreated[0][1], rel=0.05), "both begin with the same weights and batch"


def test_ctrl_c_keeps_what_is_done(tmp_path: Path, sickbay: Sickbay) -> None:
    (tmp_path / "train.py").write_text(HEALTHY)
    assert sickbay("run", "--quiet", "--name", "run", "train.py").returncode == 0
    slow = HEALTHY.replace("range(120)", "range(10**9)").replace("optimizer.step()", "optimizer.step(); time.sleep(0.05)")
    (tmp_path / "train.py").write_text("import time\n" + slow)
    running = start_for_ctrl_c(tmp_path, "try", "run", "--treat", "lr=x0.5", "--treat", "clip=1", "--budget-time", "10m", "--steps", "60")
    folder = tmp_path / ".sickbay/runs/run"
    deadline = time.monotonic() + 100
    while len(list((folder / "trials").glob("clip*/*.sickbay"))) < 1 and time.monotonic() < deadline:
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert "stopped; 1 of 2 trials are kept" in errors
    assert [t.treatment for t in load_trials(folder)] == ["lr=x0.5"]


def test_where_noise_hides_an_effect_more_seeds_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With runs that are made up: what counts is which are asked for."""
    rng, t = np.random.default_rng(0), np.arange(60) / 60

    def noisy(level: object) -> Record:
        return make_record(series={"loss/train": 2.3 * np.exp(0.6 * rng.normal(size=60)) * np.asarray(level)})

    class Never:
        at_once = 1

        def run(self, jobs: object, tick: object) -> Iterator[Done]:
            raise AssertionError("no process is started here")

    asked: list[str] = []

    def ran(together: list[Planned], number: int, of: int) -> Iterator[tuple[Planned, Done, Path]]:
        for planned in together:
            asked.append(planned.text)
            yield planned, Done(Job(planned.text, (), "", {}, tmp_path), 0, 1.0), Path(planned.text)

    plan = Plan((Planned("", parse("lr=x0.1")),), None, False, 60.0, 1.0)
    for decay, effect in ((1.2, "CURED"), (0.0, "NO EFFECT")):
        asked.clear()
        monkeypatch.setattr(trying, "_opened", lambda folder, d=decay: noisy(np.exp(-d * t) if "lr" in str(folder) else 1.0))
        trial = trying.Trying(tmp_path, noisy(1.0), plan, Never())
        monkeypatch.setattr(trial, "_run", ran)
        first, *more = trial.carry_out()
        assert first.effect == "INCONCLUSIVE"
        assert asked[:5] == ["lr=x0.1", "seed=1", "seed=1,lr=x0.1", "seed=2", "seed=2,lr=x0.1"]
        assert len(asked) <= 1 + 2 * trying.MORE_SEEDS
        (last,) = more
        assert (last.effect, trial.results) == (effect, [last]) and "seeds" in last.text, last.text


def test_many_samples_that_are_left_out_make_the_loss_lower_by_themselves() -> None:
    loaded = Record(facts=Facts(loaders=(Loader(index=0, role="train", samples=1000, batch_size=50),)))
    assert not eases(Planned("corrupt-samples", parse("drop-samples=3,17,40,99,123")), loaded), "five of twenty batches"
    assert eases(Planned("label-noise", parse("drop-samples=3,17,40,99,123,200")), loaded)
    assert not eases(Planned("lr-too-high", parse("lr=x0.1")), loaded)
