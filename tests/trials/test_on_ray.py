"""Jobs on a real Ray cluster of this machine: every one has an ending that is told, whatever happens to its worker."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Sickbay
from sickbay.cli.options import runner_for
from sickbay.errors import UsageError
from sickbay.supervise import on_ray
from sickbay.trials.runner import Job
from sickbay.trials.storage import load_trials
from trials.test_trying import SOFTMAX, files

KILLED_ONCE = """
import os, pathlib, signal
mark = pathlib.Path({mark!r})
first = not mark.exists()
mark.touch()
if first:
    os.kill(os.getppid(), signal.SIGKILL)
    import time; time.sleep(60)
print("second time")
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'sickbay[ray]'")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    yield on_ray.RayRunner(at_once=2)
    ray.shutdown()


def job(folder: Path, name: str, code: str, seconds: float | None = 60) -> Job:
    (folder / name).mkdir()
    return Job(name, (sys.executable, "-c", code), str(folder), dict(os.environ), folder / name, seconds)


def test_without_ray_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"pip install 'sickbay\[ray\]'"):
        runner_for("ray", None)
    with pytest.raises(UsageError, match="expected ray or ray://HOST:PORT"):
        runner_for("slurm", None)


def test_endings(cluster: Any, tmp_path: Path) -> None:
    jobs = [
        job(tmp_path, "well", "print('hello')"),
        job(tmp_path, "fails", "raise SystemExit(3)"),
        job(tmp_path, "hangs", "import time; time.sleep(60)", 1.0),
        job(tmp_path, "killed once", KILLED_ONCE.format(mark=str(tmp_path / "mark"))),
        job(tmp_path, "kills", "import os, signal; os.kill(os.getppid(), signal.SIGKILL); import time; time.sleep(60)"),
    ]
    (tmp_path / "absent").mkdir()
    jobs.append(Job("absent", ("true",), str(tmp_path / "nowhere"), {}, tmp_path / "absent"))
    done = {d.job.name: d for d in cluster.run(jobs)}
    codes = {name: d.returncode for name, d in done.items()}
    assert codes == {"well": 0, "fails": 3, "hangs": -signal.SIGTERM, "killed once": 0, "kills": None, "absent": None}, done
    assert done["hangs"].trouble == "ended at its time limit"
    assert done["kills"].trouble.startswith("its worker died (") and done["kills"].trouble.endswith("and so did the one after it")
    assert "no folder" in done["absent"].trouble
    assert (tmp_path / "killed once" / "output.txt").read_text() == "second time\n"
    assert not list(tmp_path.rglob(on_ray.HOME_MARK))


def test_a_worker_that_hangs_is_given_up(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice, and then its end is told; the job after it runs."""
    monkeypatch.setattr(on_ray, "HANGS", 0.5)
    monkeypatch.setattr(on_ray, "GRACE", 0.5)
    work = cluster._task

    def hang(job: Job) -> None:
        import time

        time.sleep(3600)

    monkeypatch.setattr(cluster, "_task", cluster.ray.remote(hang).options(num_cpus=1, max_retries=0))
    began = time.monotonic()
    (done,) = cluster.run([job(tmp_path, "stuck", "print(1)", 0.5)])
    assert (done.returncode, done.trouble) == (None, "its worker hung, and so did the one after it")
    assert time.monotonic() - began < 30
    monkeypatch.setattr(cluster, "_task", work)
    (done,) = cluster.run([job(tmp_path, "after", "print(2)")])
    assert (done.returncode, done.trouble) == (0, "")


def test_a_treated_script_that_never_ends_is_reported(tmp_path: Path, sickbay: Sickbay) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("ray", reason="ray is not installed: pip install 'sickbay[ray]'")
    stuck = "import os, time\n" + SOFTMAX + '\nif "SICKBAY_TRIAL" in os.environ:\n    time.sleep(3600)\n'
    (tmp_path / "train.py").write_text(stuck)
    assert sickbay("run", "--quiet", "--name", "run", "train.py").returncode == 0
    began = time.monotonic()
    done = sickbay("try", "run", "--on", "ray", "--treat", "lr=x0.5", "--budget-time", "10s", timeout=280)
    assert done.returncode == 0, done.stderr
    (trial,) = load_trials(tmp_path / ".sickbay/runs/run")
    assert "(ended at its time limit)" in trial.text
    assert time.monotonic() - began < 120, "the limit, and what it takes to start a cluster"


def test_what_runs_is_ended_when_nobody_waits_any_more(cluster: Any, tmp_path: Path) -> None:
    quick = job(tmp_path, "quick", "print(1)")
    slow = job(tmp_path, "slow", f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    running = cluster.run([slow, quick])
    assert next(running).job.name == "quick"
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.05)
    running.close()
    deadline = time.monotonic() + 20
    while Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()


def test_results_come_home_where_nothing_is_shared(tmp_path: Path) -> None:
    """As a worker of another machine would: the folder is not there, nor is the mark in it."""
    home = job(tmp_path, "home", "import os, pathlib; pathlib.Path(os.environ['WHERE'], 'record').write_text('x')")
    home = Job(home.name, home.command, home.cwd, {**os.environ, "WHERE": str(home.folder), "TMPDIR": str(tmp_path / "scratch" / "tmp")}, home.folder)
    returned = on_ray.carry_out(home)
    assert (returned.returncode, returned.files["record"]) == (0, b"x")
    assert not home.folder.exists() and not (tmp_path / "scratch").exists()
    home.folder.mkdir()
    assert on_ray._kept(home, returned).returncode == 0
    assert (home.folder / "record").read_text() == "x"


def test_trials_and_seeds(tmp_path: Path, sickbay: Sickbay) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("ray", reason="ray is not installed: pip install 'sickbay[ray]'")
    (tmp_path / "train.py").write_text(SOFTMAX)
    done = sickbay("run", "--trials", "--on", "ray", "--budget-time", "3m", "--json", "d.json", "train.py", timeout=280)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "d.json").read_text())
    assert document["diagnoses"][0]["trial"]["effect"] == "CURED", done.stderr
    before = files(tmp_path)
    done = sickbay("seeds", "-n", "2", "--steps", "30", "--on", "ray", "train.py", timeout=280)
    assert done.returncode == 0 and "over 2 seeds" in done.stdout, done.stderr
    assert files(tmp_path) == before
