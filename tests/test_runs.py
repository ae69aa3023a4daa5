"""Run folders: made, listed, found, opened, cleaned away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sickbay
from sickbay import facts
from sickbay.errors import NotARecord, RecordNotFound, UsageError
from sickbay.record.writer import RecordWriter
from sickbay.runs import (
    RunInfo,
    delete,
    find_run,
    is_run,
    list_runs,
    new_run,
    open_run,
    runs_root,
    shards,
    summarise,
    to_prune,
    why_unseen,
    write_atomically,
)  # fmt: skip

SOURCE = str(Path(sickbay.__file__).resolve().parents[1])


def record(path: Path, *, steps: int = 3, **run: object) -> Path:
    writer = RecordWriter(path)
    for step in range(steps):
        writer.frame("pulse", step, ("loss/train",), [1.0 / (step + 1)])
    writer.fact("run", facts.Run(steps=steps, backwards=steps, **run))  # type: ignore[arg-type]
    writer.close()
    return path


def made(root: Path, name: str, **info: object) -> Path:
    folder = new_run(root, "train", name)
    RunInfo(command=("python", "train.py"), **info).save(folder)  # type: ignore[arg-type]
    return folder


# -- making --------------------------------------------------------------------------------------------------------------


def test_names_are_readable_and_never_taken_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda *_: "-20260131-174501")
    names = [new_run(tmp_path, "my train").name for _ in range(3)]
    assert names == ["my-train-20260131-174501", "my-train-20260131-174501-2", "my-train-20260131-174501-3"]
    assert new_run(tmp_path, "x", "baseline").name == "baseline"
    assert new_run(tmp_path, "x", "baseline").name == "baseline-2"


@pytest.mark.parametrize("name", ["", "a/b", "..", "last", "/tmp/x"])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be the name of a run"):
        new_run(tmp_path, "train", name)


def test_only_our_own_folder_gets_a_gitignore(tmp_path: Path) -> None:
    new_run(tmp_path / ".sickbay" / "runs", "train")
    new_run(tmp_path / "elsewhere" / "runs", "train")
    assert (tmp_path / ".sickbay" / ".gitignore").read_text() == "*\n"
    assert not (tmp_path / "elsewhere" / ".gitignore").exists()


def test_a_place_that_cannot_hold_runs_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot make a run folder in"):
        new_run(tmp_path / "file" / "runs", "train")


def test_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SICKBAY_RUNS", raising=False)
    assert runs_root() == Path(".sickbay/runs")
    monkeypatch.setenv("SICKBAY_RUNS", "/data/runs")
    assert runs_root() == Path("/data/runs")
    assert runs_root("/given") == Path("/given")


def test_run_json_survives_a_round_trip_and_nonsense(tmp_path: Path) -> None:
    info = RunInfo(command=("a", "b c"), cwd="/x", started=1.5, ended=2.5, seconds=1.0, exit="SIGKILL", reached="torch")
    info.save(tmp_path)
    assert RunInfo.load(tmp_path) == info
    for text in ("", "{", "[]", '{"unknown": 1, "exit": 3}'):
        (tmp_path / "run.json").write_text(text)
        assert RunInfo.load(tmp_path).exit in (None, 3)


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    target = tmp_path / "file"
    write_atomically(target, "first")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(target, "second \udcff")
    assert target.read_text() == "first"
    assert list(tmp_path.iterdir()) == [target]


# -- listing and finding -------------------------------------------------------------------------------------------------


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    made(tmp_path, "old", started=100.0, ended=101.0, exit=0)
    folder = made(tmp_path, "new", started=200.0, ended=201.0, exit="SIGKILL")
    (folder / "diagnosis.json").write_text('{"verdict": "sick"}')
    record(folder / "process-1.sickbay")
    (tmp_path / "not a run").mkdir()
    (tmp_path / "file").write_text("")
    first, second = list_runs(tmp_path)
    assert (first.name, first.verdict, first.info.exit, first.running) == ("new", "sick", "SIGKILL", False)
    assert (second.name, second.verdict) == ("old", "")
    assert first.size == sum(p.stat().st_size for p in folder.iterdir())
    assert list_runs(tmp_path / "nowhere") == []


def test_a_run_is_running_while_its_supervisor_lives(tmp_path: Path) -> None:
    made(tmp_path, "alive", started=time.time(), supervisor=os.getpid())
    made(tmp_path, "number reused", started=1.0, supervisor=os.getpid())
    made(tmp_path, "dead", started=2.0, supervisor=2**22 + 1)
    assert [r.name for r in list_runs(tmp_path) if r.running] == ["alive"]


def test_a_run_is_found_by_name_beginning_path_or_last(tmp_path: Path) -> None:
    a = made(tmp_path, "mnist-20260101", started=1.0)
    b = made(tmp_path, "cifar-20260102", started=3.0)
    c = made(tmp_path, "cifar-20260102-2", started=2.0)
    shard = record(c / "process-1.sickbay")
    assert find_run("mnist", tmp_path) == a
    assert find_run("cifar-20260102", tmp_path) == b
    assert find_run("last", tmp_path) == b
    assert find_run(str(c), tmp_path / "elsewhere") == c
    assert find_run(str(shard), tmp_path) == shard
    with pytest.raises(UsageError, match="'cifar' fits 2 runs"):
        find_run("cifar", tmp_path)
    with pytest.raises(RecordNotFound, match="there is no run 'imagenet'"):
        find_run("imagenet", tmp_path)
    with pytest.raises(RecordNotFound, match="there are no runs in"):
        find_run("last", tmp_path / "elsewhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordNotFound, match="holds no run"):
        find_run(str(tmp_path / "empty"), tmp_path)


# -- opening -------------------------------------------------------------------------------------------------------------


def test_opening_adds_how_the_run_ended(tmp_path: Path) -> None:
    folder = made(tmp_path, "a", started=1.0, ended=9.0, seconds=8.0, exit="SIGKILL")
    record(folder / "process-12.sickbay", epochs=2, training_seconds=4.0, overhead_seconds=0.1, script="/x/train.py")
    opened = open_run(folder)
    assert (opened.facts.run.exit, opened.facts.run.seconds, opened.facts.run.steps) == ("SIGKILL", 8.0, 3)
    assert len(opened.series("loss/train")) == 3
    summary = summarise(opened, folder)
    assert (summary.name, summary.steps, summary.epochs, summary.overhead, summary.exit) == ("a", 3, 2, 0.025, "SIGKILL")


def test_the_main_process_is_rank_0_or_the_one_that_trained_most(tmp_path: Path) -> None:
    folder = made(tmp_path, "a", started=1.0, ended=2.0, exit=0)
    record(folder / "process-1.sickbay", steps=0)  # a launcher
    record(folder / "process-2.sickbay", steps=7)
    assert shards(folder)[0].path.stem == "process-2"
    assert open_run(folder).facts.limits == ()
    record(folder / "rank-00001.sickbay", steps=5)
    record(folder / "rank-00000.sickbay", steps=5)
    assert shards(folder)[0].path.stem == "rank-00000"
    (limit,) = open_run(folder).facts.limits
    assert limit.what == "the other processes of this run"
    assert "rank-00000 was read; process-2, rank-00001 trained too" in limit.why


def test_one_record_file_can_be_opened(tmp_path: Path) -> None:
    folder = made(tmp_path, "a", started=1.0, ended=2.0, exit=3)
    record(folder / "rank-00000.sickbay", steps=5)
    other = record(folder / "rank-00001.sickbay", steps=4)
    opened = open_run(other)
    assert (opened.facts.run.steps, opened.facts.run.exit) == (4, 3)


def test_what_a_killed_process_left_in_its_log_is_folded_in(tmp_path: Path) -> None:
    folder = made(tmp_path, "a", started=1.0, ended=2.0, exit="SIGKILL")
    code = f"""
import os, sys; sys.path.insert(0, {SOURCE!r})
from pathlib import Path
from sickbay.record.writer import RecordWriter
w = RecordWriter(Path({str(folder)!r}, "process-1.sickbay"))
for step in range(100):
    w.frame("pulse", step, ("loss/train",), [0.5])
w.flush()
os.kill(os.getpid(), {int(signal.SIGKILL)})
"""
    subprocess.run([sys.executable, "-c", code], check=False)
    assert (folder / "process-1.sickbay-wal").stat().st_size > 0
    opened = open_run(folder)
    assert len(opened.series("loss/train")) == opened.facts.run.steps == 100
    assert not (folder / "process-1.sickbay-wal").exists()
    assert not (folder / "process-1.sickbay-shm").exists()


def test_a_growing_record_can_be_opened_and_goes_on_growing(tmp_path: Path) -> None:
    folder = made(tmp_path, "a", started=time.time(), supervisor=os.getpid())
    writer = RecordWriter(folder / "process-1.sickbay")
    for step in range(6):
        writer.frame("pulse", step, ("loss/train",), [0.5])
        writer.flush()
        assert len(open_run(folder).series("loss/train")) == step + 1
    writer.close()
    assert len(open_run(folder).series("loss/train")) == 6


def test_a_run_that_was_not_seen_says_why(tmp_path: Path) -> None:
    def sentence(**info: object) -> str:
        folder = made(tmp_path, "a", started=1.0, ended=2.0, exit=0, **info)
        assert open_run(folder).facts.run.script == "train.py"
        return why_unseen(folder) or ""

    assert sentence(reached="python") == "train.py never imported torch, so there was no training to watch"
    assert sentence(reached="torch").startswith("train.py imported torch but did not train")
    assert "no Python process was started that reads PYTHONPATH" in sentence()
    folder = made(tmp_path, "b", started=1.0, ended=2.0, exit=0, reached="torch")
    (folder / "bootstrap-errors.txt").write_text("process 7: ImportError: no numpy\n")
    assert "ImportError: no numpy" in (why_unseen(folder) or "")
    record(folder / "process-8.sickbay")
    assert why_unseen(folder) is None
    assert "no numpy" in open_run(folder).facts.limits[0].why


def test_what_is_no_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordNotFound, match="holds no run"):
        open_run(tmp_path)
    with pytest.raises(RecordNotFound, match="there is no run 'nowhere'"):
        open_run("nowhere")
    folder = made(tmp_path, "a", started=1.0, ended=2.0)
    (folder / "process-1.sickbay").write_bytes(b"")
    with pytest.raises(NotARecord):
        open_run(folder)


# -- cleaning up ---------------------------------------------------------------------------------------------------------


def test_pruning_keeps_the_newest_the_young_and_the_running(tmp_path: Path) -> None:
    now, day = time.time(), 86_400
    for name, age in (("a", 0), ("b", 2), ("c", 40), ("d", 50)):
        made(tmp_path, name, started=now - age * day, ended=now)
    made(tmp_path, "e", started=now - 60 * day, supervisor=os.getpid())
    runs = list_runs(tmp_path)
    assert [r.name for r in to_prune(runs, 1, 0)] == ["b", "c", "d", "e"]
    assert [r.name for r in to_prune(runs, 0, 30 * day)] == ["c", "d", "e"]
    assert [r.name for r in to_prune(runs, 3, 30 * day)] == ["d", "e"]
    made(tmp_path, "running", started=now, supervisor=os.getpid())
    assert "running" not in [r.name for r in to_prune(list_runs(tmp_path), 0, 0)]


def test_deleting_never_follows_a_link_out(tmp_path: Path) -> None:
    outside = made(tmp_path / "outside", "precious", started=1.0, ended=2.0)
    root = tmp_path / "runs"
    root.mkdir()
    (root / "link").symlink_to(outside)
    delete(list_runs(root))
    assert is_run(outside)
    assert list_runs(root) == []
