"""A fenced script finds what it wrote, and its folder is as it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sickbay
from sickbay.trials.ground import FENCED_FILE

pytest.importorskip("torch")

PUT_UP = """
import sys
from sickbay.trials import fence
fence.put_up(sys.argv[1], sys.argv[2])
"""
WRITES = """
import csv, glob, json, logging, os, pathlib, shutil, sqlite3, tempfile
import numpy as np

assert open("kept.txt").read() == "as it was"
with open("log.csv", "w", newline="") as f:
    csv.writer(f).writerows([["step", "loss"], [1, 2.0]])
assert list(csv.reader(open("log.csv")))[1] == ["1", "2.0"]
with open("kept.txt", "a") as f:
    f.write(" and more")
assert pathlib.Path("kept.txt").read_text() == "as it was and more"

os.makedirs("runs/first", exist_ok=True)
os.makedirs("runs/first", exist_ok=True)
with open("runs/first/events.out.tfevents.1", "wb") as f:
    f.write(b"x")
assert os.path.exists("runs/first/events.out.tfevents.1") and os.path.isdir("runs")
assert os.listdir("runs/first") == ["events.out.tfevents.1"] == [p.name for p in pathlib.Path("runs/first").iterdir()]
assert sorted(os.listdir(".")) == ["existing", "kept.txt", "log.csv", "runs", "script.py"], os.listdir(".")
assert sorted(glob.glob("*.csv")) == ["log.csv"]
try:
    os.mkdir("existing")
except FileExistsError:
    pass
else:
    raise AssertionError
try:
    open("no/such/folder.txt", "w")
except FileNotFoundError:
    pass
else:
    raise AssertionError

np.save("weights.npy", np.arange(3))
assert np.load("weights.npy").tolist() == [0, 1, 2]
pathlib.Path("model.tmp").write_text("new")
os.replace("model.tmp", "model.bin")
assert pathlib.Path("model.bin").read_text() == "new" and not os.path.exists("model.tmp")
os.rename("kept.txt", "moved.txt")
assert open("moved.txt").read() == "as it was and more" and not os.path.exists("kept.txt")
os.remove("existing/old.txt")
assert not os.path.exists("existing/old.txt") and os.listdir("existing") == []
shutil.rmtree("existing")
assert not os.path.exists("existing")
os.makedirs("existing")
assert os.listdir("existing") == []
shutil.rmtree("runs")
assert not os.path.exists("runs")
db = sqlite3.connect("store.db")
db.execute("create table t (x)")
db.commit()
db.close()
logging.basicConfig(filename="train.log", force=True)
logging.warning("written")
with tempfile.NamedTemporaryFile("w") as f:
    f.write("x")
print("all of it")
"""


def tree(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text(errors="replace") if p.is_file() else "" for p in sorted(folder.rglob("*"))}


def test_files_of_every_kind(tmp_path: Path) -> None:
    folder, scratch, run = (tmp_path / name for name in ("project", "scratch", "run"))
    for each in (folder / "existing", scratch / "tmp", run):
        each.mkdir(parents=True)
    (folder / "kept.txt").write_text("as it was")
    (folder / "existing" / "old.txt").write_text("old")
    (folder / "script.py").write_text(PUT_UP + WRITES)
    before = tree(folder)
    source = str(Path(sickbay.__file__).resolve().parents[1])
    environment = os.environ | {"PYTHONPATH": source, "TMPDIR": str(scratch / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "script.py", str(scratch), str(run)], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "all of it\n"), done.stderr
    assert tree(folder) == before
    told = (run / FENCED_FILE).read_text().splitlines()
    assert str(folder / "log.csv") in told and str(folder / "existing" / "old.txt") in told
    assert len(told) == len(set(told))
