"""Jobs: every one has an ending that is told, whatever happens to it."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from sickbay.trials.runner import Job, LocalRunner


def job(folder: Path, name: str, code: str, seconds: float | None = 30) -> Job:
    (folder / name).mkdir()
    return Job(name, (sys.executable, "-c", code), str(folder), dict(os.environ), folder / name, seconds)


def test_endings(tmp_path: Path) -> None:
    jobs = [
        job(tmp_path, "well", "print('hello')"),
        job(tmp_path, "fails", "raise SystemExit(3)"),
        job(tmp_path, "killed", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"),
        job(tmp_path, "hangs", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)", 1.0),
    ]
    (tmp_path / "absent").mkdir()
    jobs.append(Job("absent", (str(tmp_path / "nowhere"),), str(tmp_path), {}, tmp_path / "absent"))
    done = {d.job.name: d for d in LocalRunner(2).run(jobs)}
    assert {name: d.returncode for name, d in done.items()} == {"well": 0, "fails": 3, "killed": -9, "hangs": -9, "absent": None}
    assert done["hangs"].trouble == "ended at its time limit"
    assert "could not be started" in done["absent"].trouble
    assert (tmp_path / "well" / "output.txt").read_text() == "hello\n"


def test_what_runs_is_ended_when_nobody_waits_any_more(tmp_path: Path) -> None:
    quick = job(tmp_path, "quick", "print(1)")
    slow = job(tmp_path, "slow", f"import os, time; open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid())); time.sleep(60)")
    running = LocalRunner(2).run([quick, slow])
    assert next(running).job.name == "quick"
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        time.sleep(0.05)
    running.close()
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists()
