"""Distributed runs, for real: several processes with gloo on this machine, watched and diagnosed as one run.

Every process imports torch, which takes seconds: as much as possible is asked of each run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import sickbay
from sickbay.runs import open_run, shards

SOURCE = str(Path(sickbay.__file__).parents[1])
BEGIN = """\
import os, socket, sys
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

def tell(rank, model, losses):
    weights = sum(p.double().abs().sum().item() for p in model.parameters())
    print(f"rank {rank}", repr(losses[-1]), repr(sum(losses)), repr(weights), torch.get_rng_state().sum().item(), flush=True)

def start(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(rank)
    model = DDP(nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.1), nn.ReLU(), nn.Linear(16, 1)))
    return model, torch.optim.SGD(model.parameters(), lr=0.05)
"""
END = """
if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    mp.spawn(work, args=(2, port), nprocs=2)
"""


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SICKBAY", "PYTHON"))}
    return kept | {"PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "100"}


def execute(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *words], cwd=folder, env=environment(), capture_output=True, text=True, timeout=300, check=False)


def watched(folder: Path, *words: str) -> tuple[subprocess.CompletedProcess[str], Path, dict[str, Any]]:
    done = execute(folder, "-m", "sickbay", "run", "--name", "run", *words)
    run = folder / ".sickbay" / "runs" / "run"
    return done, run, json.loads((run / "diagnosis.json").read_text())


def lines(text: str) -> list[str]:
    return sorted(x for x in text.splitlines() if x.startswith("rank "))


def test_nan_that_begins_on_the_second_rank_is_found_there_and_nothing_is_changed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        BEGIN
        + """
def work(rank, world, port):
    model, optimizer = start(rank, world, port)
    losses = []
    for step in range(16):
        x = torch.randn(8, 6)
        if rank == 1 and step == 12:
            x[3, 2] = float("nan")
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), torch.zeros(8, 1))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    tell(rank, model, losses)
    dist.destroy_process_group()
"""
        + END
    )
    plain = execute(tmp_path, "train.py")
    done, run, document = watched(tmp_path, "train.py")
    assert lines(done.stdout)[:2] == lines(plain.stdout)  # to the bit, on both ranks
    assert len(lines(plain.stdout)) == 2
    record = open_run(run)
    ranks = record.facts.ranks
    assert ranks is not None
    assert (ranks.read, ranks.because) == (1, "it was the first whose loss was not finite (step 12)")
    assert [(s.broken, s.broken_step) for s in ranks.all] == [("gradient", 12), ("loss", 12)]
    assert document["diagnoses"][0]["cause"] == "nonfinite-input"
    assert document["ranks"]["shown"] == 1
    assert "rank 1 is shown: it was the first whose loss was not finite (step 12)" in " ".join(done.stdout.split())
    again = execute(tmp_path, "-m", "sickbay", "diagnose", "run")
    assert "rank 1 is shown" in " ".join(again.stdout.split())
    assert "<h2>Ranks" in (run / "report.html").read_text()


def test_an_exception_on_one_rank_is_told_as_without_us_and_led_back_to_it(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        BEGIN
        + """
def work(rank, world, port):
    model, optimizer = start(rank, world, port)
    for step in range(12):
        optimizer.zero_grad()
        model(torch.randn(8, 6)).square().mean().backward()
        optimizer.step()
        if rank == 1 and step == 9:
            raise ValueError("no more rows")  # here
    dist.destroy_process_group()
"""
        + END
    )
    plain = execute(tmp_path, "train.py")
    done, run, document = watched(tmp_path, "--quiet", "train.py")
    trace = [x.strip() for x in plain.stderr.splitlines() if ("train.py" in x or "spawn.py" in x or "ValueError" in x) and "SIGTERM" not in x]
    assert "ValueError: no more rows" in plain.stderr
    assert [x.strip() for x in done.stderr.splitlines() if ("train.py" in x or "spawn.py" in x or "ValueError" in x) and "SIGTERM" not in x] == trace
    assert "sickbay" not in done.stderr
    assert done.returncode == plain.returncode == 1
    ranks = open_run(run).facts.ranks
    assert ranks is not None
    assert (ranks.read, ranks.because) == (1, "it stopped first, with ValueError at step 10")
    assert document["verdict"] == "undecided"
    assert "ValueError at train.py" in document["reason"]


def test_a_rank_that_is_killed_under_torchrun(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        """\
import os, signal, torch, torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    optimizer.zero_grad()
    model(torch.randn(8, 4)).square().mean().backward()
    optimizer.step()
    if step == 20 and dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
"""
    )
    done, run, document = watched(tmp_path, "--quiet", "torchrun", "--standalone", "--nproc-per-node", "2", "train.py")
    assert done.returncode != 0
    ranks = open_run(run).facts.ranks
    assert ranks is not None
    assert not ranks.all[1].finished
    assert document["verdict"] == "undecided"
    assert "rank" in document["reason"]


def test_a_plain_script_under_torchrun_is_the_same_work_twice(tmp_path: Path) -> None:
    """RANK and WORLD_SIZE are there, but nothing in the script knows of them."""
    (tmp_path / "train.py").write_text(
        """\
import torch
torch.manual_seed(0)
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(30):
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
    optimizer.step()
"""
    )
    _, run, document = watched(tmp_path, "--quiet", "torchrun", "--standalone", "--nproc-per-node", "2", "train.py")
    assert [s.rank for s in shards(run) if s.trained] == [0, 1]
    assert document["diagnoses"][0]["cause"] == "rank-data-duplication"
    assert document["diagnoses"][0]["certainty"] == "proven"


def test_forked_ranks_are_watched_from_the_moment_they_join(tmp_path: Path) -> None:
    """As in the older tutorials: `multiprocessing.Process` forks. Here the ranks also never make their weights equal."""
    (tmp_path / "train.py").write_text(
        BEGIN
        + """
def work(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(rank)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for step in range(20):
        x = torch.randn(8, 6)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(x), x.sum(1, keepdim=True))
        loss.backward()
        for p in model.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        optimizer.step()
        losses.append(loss.item())
    tell(rank, model, losses)

if __name__ == "__main__":
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    ranks = [mp.get_context("fork").Process(target=work, args=(r, 2, port)) for r in range(2)]
    for r in ranks:
        r.start()
    for r in ranks:
        r.join()
"""
    )
    plain = execute(tmp_path, "train.py")
    done, _, document = watched(tmp_path, "--quiet", "train.py")
    assert lines(done.stdout) == lines(plain.stdout)
    assert len(lines(plain.stdout)) == 2
    assert [(d["cause"], d["certainty"]) for d in document["diagnoses"]][:1] == [("rank-desync", "proven")]
    assert document["ranks"]["weights_differ"][0] == 0
