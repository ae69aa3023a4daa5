"""The whole process: however it ends and whatever it starts, its output is its own and the record tells the story.

Each test starts Python with torch, which takes a second: as much as possible is asked of each.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import sickbay
from observe.watched import exact, watching
from sickbay.record.reader import Record, read_record
from sickbay.settings import Settings
from sickbay.supervise.child import environment


def clean() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SICKBAY"))} | {"OMP_NUM_THREADS": "1", "COLUMNS": "80"}


def run(folder: Path, text: str, watched: bool, *options: str) -> tuple[subprocess.CompletedProcess[str], list[Record]]:
    (folder / "train.py").write_text(text)
    runs = folder / "run"
    runs.mkdir(exist_ok=True)
    env = environment(runs, Settings(), clean()) | {"SICKBAY_HOME": str(Path(sickbay.__file__).parents[1])} if watched else clean()
    command = [sys.executable, *options, "train.py"]
    child = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=120, check=False)
    records = [read_record(p) for p in sorted(runs.glob("*.sickbay"))]
    assert not (runs / "bootstrap-errors.txt").exists(), (runs / "bootstrap-errors.txt").read_text()
    return child, records


CRASH = """\
import warnings
import torch
from torch import nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x):
        warnings.warn("look at me")
        try:
            return self.body(x)
        except RuntimeError as e:
            raise ValueError("wrong input") from e  # crash


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    optimizer.zero_grad()
    loss = F.mse_loss(model(torch.ones(6, 4 if step < 4 else 5)), torch.zeros(6))
    nn.L1Loss()(model(torch.ones(6, 4)), torch.zeros(6))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    optimizer.step()
    print("step", step, float(loss.detach()))
"""


def test_a_crash_looks_as_always_and_is_told(tmp_path: Path) -> None:
    """Same output, same warnings on the same lines, same traceback, same exit code; the crash is a fact."""
    plain, _ = run(tmp_path, CRASH, watched=False)
    watched, (record,) = run(tmp_path, CRASH, watched=True)
    assert watched.stdout == plain.stdout
    assert watched.stderr == plain.stderr
    assert watched.returncode == plain.returncode == 1
    assert "UserWarning: Using a target size" in plain.stderr  # the run really warns, below a wrapper of ours
    assert "Traceback" in plain.stderr
    crash = record.facts.crash
    assert crash is not None
    assert (crash.kind, crash.step) == ("ValueError", 4)
    assert crash.message == "ValueError: wrong input"
    assert crash.place is not None
    assert (Path(crash.place.file or "").name, crash.place.text) == ("train.py", 'raise ValueError("wrong input") from e  # crash')
    assert record.facts.run.steps == 4
    assert record.facts.run.finished
    assert len(record.series("loss/train")) == 4
    assert str(tmp_path / "train.py") in record.sources


CHILDREN = """\
import os
import sys
import multiprocessing
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)


def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(2, 4)).pow(2).mean().backward()
        optimizer.step()


def fork(then):
    pid = os.fork()
    if pid == 0:
        then()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) in (0, 5), "child failed"


train(3)
fork(lambda: (train(50), os._exit(0)))
fork(lambda: sys.exit(5))
fork(lambda: (train(20), sys.exit(0)))
worker = multiprocessing.get_context("fork").Process(target=train, args=(10,))
worker.start()
worker.join()
assert worker.exitcode == 0
train(4)
print("done", flush=True)
os._exit(3)
"""


def test_forked_children_leave_the_record_alone_and_os_exit_closes_it(tmp_path: Path) -> None:
    child, records = run(tmp_path, CHILDREN, watched=True)
    assert (child.stdout, child.stderr, child.returncode) == ("done\n", "", 3)
    (record,) = records
    assert record.damage == ()
    assert record.facts.run.steps == 7
    assert record.facts.run.finished
    assert list(record.series("loss/train").steps) == list(range(7))


def test_forks_under_watch_in_a_notebook_too(tmp_path: Path) -> None:
    """The same without the bootstrap: `sickbay.watch` in a process that forks."""
    import torch
    from torch import nn

    path = tmp_path / "run.sickbay"
    with watching(path, exact()) as session:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

        def train(steps: int) -> None:
            for _ in range(steps):
                optimizer.zero_grad()
                model(torch.ones(2, 4)).pow(2).mean().backward()
                optimizer.step()

        train(2)
        assert session.tracing
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                silent = session.off and torch._C._len_torch_function_stack() == 0
                train(30)
                session.close()
                code = 0 if silent and session.step == 2 else 1
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        train(2)
    record = read_record(path)
    assert record.damage == ()
    assert record.facts.run.steps == 4


TOP_LEVEL = """\
import torch
weight = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for step in range(300):  # beyond the steps that are all watched
    optimizer.zero_grad()
    torch.autograd.backward((weight**2).sum())
    optimizer.step()
for step in range(20):
    (gradient,) = torch.autograd.grad((weight**2).sum(), weight)
print(weight.sum().item())
"""


def test_everything_may_be_called_from_a_scripts_own_top_level(tmp_path: Path) -> None:
    """There is no frame above it that a wrapper could look at."""
    plain, _ = run(tmp_path, TOP_LEVEL, False)
    watched, (record,) = run(tmp_path, TOP_LEVEL, True)
    assert (watched.returncode, watched.stdout, watched.stderr) == (0, plain.stdout, "")
    assert len(record.series("loss/train")) == 300
