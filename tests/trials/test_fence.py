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
open("fresh.txt", "x").close()
for already in ("script.py", "fresh.txt"):
    try:
        open(already, "x")
    except FileExistsError:
        pass
    else:
        raise AssertionError
os.remove("fresh.txt")
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

HDF5 = """
import h5py, os

class Plainly:
    def wrap(self, holder, name, around):
        setattr(holder, name, around(getattr(holder, name)))

fence.after_torch(Plainly())
with h5py.File("there.h5") as f:
    assert f["x"][()] == 1
with h5py.File("there.h5", "a") as f:
    f["y"] = 2
with h5py.File("there.h5", "r") as f:
    assert sorted(f) == ["x", "y"]
with h5py.File("there.h5", "w") as f:
    assert not list(f)
for mode in ("w-", "x"):
    try:
        h5py.File("there.h5", mode)
    except FileExistsError:
        pass
    else:
        raise AssertionError
with h5py.File(name="new.h5", mode="x") as f:
    f["z"] = 3
assert os.path.exists("new.h5")
print("all of it")
"""
NETWORK = """
import errno, socket, threading, urllib.error, urllib.request

ELSEWHERE = "192.0.2.1"  # an address that is nobody's: RFC 5737
def refused(call):
    try:
        call()
    except OSError as e:
        return e.errno == errno.ENETUNREACH and "SICKBAY_NETWORK=1" in str(e)

assert refused(lambda: socket.create_connection((ELSEWHERE, 443), timeout=0.2))
assert refused(lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", (ELSEWHERE, 8125)))
try:
    urllib.request.urlopen(urllib.request.Request(f"http://{ELSEWHERE}/hook", b"done"), timeout=0.2)
except urllib.error.URLError as e:
    assert e.reason.errno == errno.ENETUNREACH
server = socket.create_server(("127.0.0.1", 0))
own = socket.create_connection(("localhost", server.getsockname()[1]))
own.sendall(b"x")
assert server.accept()[0].recv(1) == b"x"
left, right = socket.socketpair()
left.sendall(b"y")
assert right.recv(1) == b"y"
print("all of it")
"""


def tree(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text(errors="replace") if p.is_file() else "" for p in sorted(folder.rglob("*"))}


def fenced(tmp_path: Path, script: str, **variables: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """How the script ended behind a fence, in `tmp_path / "project"`, and what it was told to be kept from."""
    folder, scratch, run = (tmp_path / name for name in ("project", "scratch", "run"))
    for each in (folder, scratch / "tmp", run):
        each.mkdir(parents=True, exist_ok=True)
    (folder / "script.py").write_text(PUT_UP + script)
    source = str(Path(sickbay.__file__).resolve().parents[1])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    environment = os.environ | {"PYTHONPATH": path, "TMPDIR": str(scratch / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"} | variables
    done = subprocess.run(
        [sys.executable, "script.py", str(scratch), str(run)], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    told = run / FENCED_FILE
    return done, told.read_text().splitlines() if told.exists() else []


def test_files_of_every_kind(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    (folder / "existing").mkdir(parents=True)
    (folder / "kept.txt").write_text("as it was")
    (folder / "existing" / "old.txt").write_text("old")
    (folder / "script.py").write_text(PUT_UP + WRITES)
    before = tree(folder)
    done, told = fenced(tmp_path, WRITES)
    assert (done.returncode, done.stdout) == (0, "all of it\n"), done.stderr
    assert tree(folder) == before
    assert str(folder / "log.csv") in told and str(folder / "existing" / "old.txt") in told
    assert len(told) == len(set(told))


def test_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    folder = tmp_path / "project"
    folder.mkdir()
    with h5py.File(folder / "there.h5", "w") as f:
        f["x"] = 1
    before = (folder / "there.h5").read_bytes()
    done, told = fenced(tmp_path, HDF5)
    assert (done.returncode, done.stdout) == (0, "all of it\n"), done.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["script.py", "there.h5"] and (folder / "there.h5").read_bytes() == before
    assert told == [str(folder / "there.h5"), str(folder / "new.h5")]


def test_other_machines_are_not_reached(tmp_path: Path) -> None:
    done, told = fenced(tmp_path, NETWORK)
    assert (done.returncode, done.stdout) == (0, "all of it\n"), done.stderr
    assert told == ["network: 192.0.2.1:443", "network: 192.0.2.1:8125", "network: 192.0.2.1:80"]
    done, told = fenced(tmp_path / "allowed", "import socket\nprint(socket.socket.connect.__qualname__)", SICKBAY_NETWORK="1")
    assert done.stdout == "socket.connect\n" and told == [], done.stderr
