"""`sickbay bisect`: the commit that made a script sick is found, and the repository is as it was, whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import Sickbay
from sickbay.facts import Crash
from sickbay.record.reader import Record, with_facts
from sickbay.supervise.bisecting import Question
from sickbay.supervise.examining import Examined
from sickbay.supervise.history import History, Tree, what_matters
from sickbay.testing import make_record
from sickbay.trials.runner import Done, Job
from trials.conftest import start_for_ctrl_c

TRAIN = """
import sys
import torch
from torch import nn
from net import make

torch.manual_seed(0)
x = torch.load("data/x.pt")
y = x[:, :4].argmax(1)
model = make()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(80):
    rows = torch.randint(0, 256, (64,))
    loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save(model.state_dict(), "model.pt")
"""
NET = """
from torch import nn

def make():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
"""
SICK = NET.replace("nn.Linear(32, 4))", "nn.Linear(32, 4), nn.Softmax(dim=1))")


def git(folder: Path, *words: str) -> str:
    who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in (("NAME", "A"), ("EMAIL", "a@b"))}
    command = ["git", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false", *words]
    return subprocess.run(command, cwd=folder, env=os.environ | who, capture_output=True, text=True, check=True).stdout


def commit(folder: Path, message: str, **files: str) -> str:
    for name, text in files.items():
        (folder / name.replace("__", "/")).with_suffix(".py").write_text(text)
    git(folder, "add", "-A", ".")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD").strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Nine commits: the third does not run, the sixth makes the model sick; data is ignored, a change is staged, one is not, one is stashed."""
    torch = pytest.importorskip("torch")
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("data/\n.sickbay/\n")
    (folder / "data").mkdir()
    torch.manual_seed(0)
    torch.save(torch.randn(256, 8), folder / "data" / "x.pt")
    commit(folder, "Begin", train=TRAIN, net=NET)
    commit(folder, "Say more", train=TRAIN + "print('done')\n")
    commit(folder, "Break it", net="import nothing_of_the_kind\n")
    commit(folder, "Mend it", net=NET)
    commit(folder, "Nothing", notes="# one\n")
    commit(folder, "Give probabilities\n\nThe service wants them.", net=SICK, notes="# two\n")
    commit(folder, "More notes", notes="# three\n")
    commit(folder, "Even more", notes="# four\n")
    commit(folder, "Say less", train=TRAIN)
    (folder / "notes.py").write_text("# stashed\n")
    git(folder, "stash")
    (folder / "notes.py").write_text("# staged\n")
    git(folder, "add", "notes.py")
    (folder / "train.py").write_text("raise SystemExit('this is not what is bisected')\n")
    return folder


def state(folder: Path) -> dict[str, Any]:
    """Everything that git and the file system know of a checkout, but for our own records."""
    found = [p for p in folder.rglob("*") if ".sickbay" not in p.parts and p.is_file()]
    files = {str(p.relative_to(folder)): p.stat().st_mtime_ns if ".git" not in p.parts else 0 for p in found}
    told = [git(folder, *words) for words in (("status", "--porcelain"), ("rev-parse", "HEAD"), ("diff", "--cached"), ("stash", "list"))]
    return {"files": files, "told": told, "refs": git(folder, "for-each-ref"), "worktrees": git(folder, "worktree", "list")}


def test_the_first_bad_commit_is_found_and_nothing_is_touched(repository: Path, sickbay: Sickbay) -> None:
    before = state(repository)
    done = sickbay("bisect", "--good", "HEAD~8", "train.py", cwd=repository, timeout=280)
    assert done.returncode == 0, done.stderr
    assert state(repository) == before
    assert "8 commits: 2 runs to check both ends, then about 3" in done.stderr
    assert "not committed is no part of it" in done.stderr
    assert "FIRST BAD  Give probabilities" in done.stdout and "The service wants them." in done.stdout
    assert "+    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4), nn.Softmax(dim=1))" in done.stdout
    assert "did not load: notes.py" in done.stdout and "# two" not in done.stdout
    assert "softmax-before-cross-entropy" in done.stdout
    assert "sickbay-bisect" not in done.stdout, "places are told as the repository has them"


def test_a_stretch_that_does_not_run_is_told(repository: Path, sickbay: Sickbay) -> None:
    git(repository, "checkout", "-q", "--force", "--detach", "HEAD~6")  # the broken one
    sick = commit(repository, "Sick", net=SICK)
    git(repository, "checkout", "-q", "main")
    done = sickbay("bisect", "--good", f"{sick}~2", "--bad", sick, "--cause", "softmax-before-cross-entropy", "train.py", cwd=repository, timeout=280)
    assert done.returncode == 0, done.stderr
    assert "skipped" in done.stderr and "nothing_of_the_kind" in done.stderr
    assert "FIRST BAD?" in done.stdout and "Break it" in done.stdout, done.stdout


def test_a_revision_that_is_not_what_it_was_called(repository: Path, sickbay: Sickbay) -> None:
    done = sickbay("bisect", "--good", "HEAD~8", "--bad", "HEAD~4", "--steps", "30", "train.py", cwd=repository, timeout=280)
    assert done.returncode == 2 and "was given as the bad revision, but is not: " in done.stderr, done.stderr


def seen(record: Record | None) -> Examined:
    return Examined("x", record, Done(Job("x", ("python",), ".", {}, Path("x")), 1, 0.0))


def test_what_makes_a_revision_bad() -> None:
    falls = make_record(series={"loss/train": 2.3 * np.exp(-np.arange(200) / 30)})
    stays = make_record(series={"loss/train": np.full(200, 2.3)})
    nan = make_record(series={"loss/train": [2.3] * 10 + [np.nan] * 190})
    question = Question(worse_than=1.0)
    assert [question.asked(seen(r))[0] for r in (falls, stays, nan, None)] == ["good", "bad", "bad", "skipped"]
    crashed = with_facts(falls, crash=Crash(kind="OSError", message="disk full", step=100))
    assert Question().asked(seen(crashed)) == ("skipped", "it does not run through: OSError")
    assert Question(cause="nonfinite-loss").asked(seen(falls))[0] == "good"


def test_ctrl_c_leaves_everything_as_it_was(repository: Path) -> None:
    before = state(repository)
    scratch = repository.parent / "tmp"
    scratch.mkdir()
    running = start_for_ctrl_c(repository, "bisect", "--good", "HEAD~8", "train.py", TMPDIR=str(scratch))
    deadline = time.monotonic() + 60
    while not list(repository.glob(".sickbay/runs/*/*/*.sickbay")) and time.monotonic() < deadline:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 130 and "stopped; nothing is known yet" in errors, errors
    assert state(repository) == before
    assert not list(scratch.glob("sickbay-*")), "nothing is left in the scratch folder"


def test_revisions_that_cannot_be_bisected(repository: Path, sickbay: Sickbay) -> None:
    for words, told in (
        (("--good", "nowhere"), "there is no revision 'nowhere'"),
        (("--good", "HEAD"), "are the same commit"),
        (("--good", "HEAD", "--bad", "HEAD~1"), "must be an ancestor"),
        (("--good", "HEAD~1", "--cause", "x", "--worse-than", "1"), "ask one of them"),
    ):
        done = sickbay("bisect", *words, "train.py", cwd=repository)
        assert done.returncode == 2 and told in done.stderr, done.stderr


def test_a_folder_without_a_repository(tmp_path: Path, sickbay: Sickbay) -> None:
    (tmp_path / "train.py").write_text("")
    done = sickbay("bisect", "--good", "HEAD~1", "train.py")
    assert done.returncode == 2 and "not a git repository" in done.stderr


def test_a_tree_has_the_revision_and_what_git_does_not_track(repository: Path, tmp_path: Path) -> None:
    history = History(repository)
    tree = Tree(history, tmp_path / "tree")
    for sha, sick in ((history.commit("HEAD"), True), (history.commit("HEAD~8"), False), (history.commit("HEAD~3"), True)):
        tree.show(sha)
        assert ("Softmax" in (tree.top / "net.py").read_text()) is sick
        assert (tree.top / "data" / "x.pt").samefile(repository / "data" / "x.pt")
    assert (repository / "data" / "x.pt").is_file(), "links are taken away, not what they lead to"
    here = repository.resolve()
    assert tree.word(str(here / "train.py"), here) == str(tree.top / "train.py")
    assert tree.word("train.py", here) == "train.py" and tree.word("--lr=0.1", here) == "--lr=0.1"
    (tmp_path / "elsewhere").mkdir()
    assert tree.word("../elsewhere", here) == str(tmp_path.resolve() / "elsewhere")
    assert tree.word(str(here / "data"), here) == str(here / "data"), "untracked: there is only one"


def test_what_matters_in_a_diff() -> None:
    assert what_matters(["net.py", "notes.md", "conf/a.yaml"], ["net.py", "train.py"]) == ["net.py", "conf/a.yaml"]
    assert what_matters(["notes.md"], ["train.py"]) == ["notes.md"]
