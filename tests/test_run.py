"""`sickbay run` with a real torch: the script is the same as ever, and however it ends there is a record of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sickbay
from sickbay.doctor import examine
from sickbay.record.reader import Record
from sickbay.runs import RunInfo, open_run, shards

pytest.importorskip("torch")

SOURCE = str(Path(sickbay.__file__).resolve().parents[1])
STEPS = 30
TRAIN = f"""
import os, signal, sys, time
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(64, 4)
y = (x[:, 0] > 0).long()
for step in range({STEPS}):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item().hex())
    if step == {STEPS - 3}:
        time.sleep(0.3)  # longer than the writer waits before it writes
sys.stdout.flush()
"""
RANKS = """
import os, torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
dist.destroy_process_group()
"""


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SICKBAY", "PYTHON"))}
    return kept | {"PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}


def execute(folder: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment(), capture_output=True, timeout=120, check=False)


def watched(folder: Path, *words: str) -> tuple[subprocess.CompletedProcess[bytes], Path]:
    done = execute(folder, "-m", "sickbay", "run", "--quiet", "--name", "run", *words)
    return done, folder / ".sickbay" / "runs" / "run"


def train(folder: Path, then: str) -> tuple[subprocess.CompletedProcess[bytes], Record, RunInfo]:
    (folder / "train.py").write_text(TRAIN + then)
    done, run = watched(folder, "train.py")
    return done, open_run(run), RunInfo.load(run)


def test_a_script_that_fails_is_the_same_with_and_without_us(tmp_path: Path) -> None:
    done, record, info = train(tmp_path, "def deeper():\n    return model(x[:, :2])\ndeeper()\n")
    plain = execute(tmp_path, "train.py")
    assert done.stdout == plain.stdout
    assert done.stderr == plain.stderr
    assert b"RuntimeError: mat1 and mat2" in done.stderr
    assert done.returncode == plain.returncode == info.exit == 1
    assert (record.facts.run.steps, record.facts.run.exit) == (STEPS, 1)
    assert len(record.series("loss/train")) == STEPS
    assert record.facts.crash is not None
    assert record.facts.crash.kind == "RuntimeError"


@pytest.mark.parametrize(
    ("then", "code", "told"),
    [("sys.exit(3)", 3, 3), ("os._exit(4)", 4, 4), ("os.kill(os.getpid(), signal.SIGKILL)", 137, "SIGKILL")],
)
def test_however_it_ends_there_is_a_record(tmp_path: Path, then: str, code: int, told: int | str) -> None:
    done, record, info = train(tmp_path, then)
    assert (done.returncode, info.exit, record.facts.run.exit) == (code, told, told), done.stderr
    # Killed, what waited to be written is lost: the newest quarter of a second.
    assert record.facts.run.steps == len(record.series("loss/train"))
    assert record.facts.run.steps == STEPS if told != "SIGKILL" else record.facts.run.steps >= STEPS - 1
    assert record.damage == ()


def test_torch_without_training_gets_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "convert.py").write_text("import torch\nprint(torch.ones(2).sum().item())\n")
    done = execute(tmp_path, "-m", "sickbay", "run", "convert.py")
    assert done.stdout.startswith(b"2.0\nsickbay: convert.py imported torch but did not train: ")
    assert (done.stdout.count(b"\n"), done.stderr, done.returncode) == (2, b"", 0)


def test_every_rank_of_torchrun_is_recorded(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RANKS)
    done, run = watched(tmp_path, "torchrun", "--standalone", "--nproc-per-node", "2", "train.py")
    assert done.returncode == 0, done.stderr
    assert [(s.rank, s.steps) for s in shards(run) if s.trained] == [(0, 5), (1, 5)]
    record = open_run(run)
    assert record.path is not None
    assert record.path.stem.startswith("rank-00000")
    ranks = record.facts.ranks
    assert ranks is not None
    assert (ranks.world_size, ranks.read, [s.finished for s in ranks.all]) == (2, 0, [True, True])
    assert ranks.weights is not None
    assert (ranks.weights.steps, ranks.weights.differ) == ((0, 1, 2, 4), ())


def test_doctor_finds_this_environment_well() -> None:
    states = {check.name: check for check in examine()}
    assert [c for c in states.values() if c.state == "failed"] == []
    assert states["watching"].state == "ok"
