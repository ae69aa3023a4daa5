"""How much more memory a watched process needs: the same training in child processes, with and without."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.table import Row, print_table

ROOT = Path(__file__).resolve().parents[1]
BAR = 0.05
"""Of the process. The black box, when there is one, comes on top and is not counted here."""
STEPS = {"mlp": 400, "cnn": 16, "gpt-small": 10, "gpt-medium": 6}


def _status(field: str) -> int:
    """Bytes. Not getrusage: its peak is inherited from the parent across exec."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}: memory can only be measured on Linux")


def child(name: str, watched: bool) -> dict[str, int]:
    """Train in this process and say how much memory it took."""
    from bench.workloads import WORKLOADS

    workload = WORKLOADS[name]()
    workload.step()  # torch's own lazy imports and buffers are not ours
    before = _status("VmRSS")
    if not watched:
        _train(workload.step, STEPS[name])
        return {"rss": _status("VmRSS"), "peak": _status("VmHWM"), "imports": 0}
    import sickbay

    watch = sickbay.watch
    imports = _status("VmRSS") - before
    with tempfile.TemporaryDirectory(prefix="sickbay-bench-") as folder, watch(workload.model, workload.optimizer, folder=folder):
        _train(workload.step, STEPS[name])
        return {"rss": _status("VmRSS"), "peak": _status("VmHWM"), "imports": imports}


def _train(step: Any, steps: int) -> None:
    for _ in range(steps):
        step()


def _run(name: str, watched: bool) -> dict[str, int]:
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in paths if p)}
    command = [sys.executable, "-m", "bench.memory", "--child", name, *(["--watched"] if watched else [])]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    result: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(name: str, runs: int = 2) -> list[Row]:
    """The smallest of several children on each side: what allocators and neighbours add is not ours."""
    plain = [_run(name, False) for _ in range(runs)]
    watched = [_run(name, True) for _ in range(runs)]
    rows = []
    for what, key, bar in (("memory, peak", "peak", BAR), ("memory, at the end", "rss", None)):
        without, with_us = min(p[key] for p in plain), min(w[key] for w in watched)
        note = f"{without / 2**20:.0f} MB → {with_us / 2**20:.0f} MB; our imports are {min(w['imports'] for w in watched) / 2**20:.0f} MB"
        rows.append(Row(what, name, with_us / without - 1, bar=bar, note=note))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--workloads", default="all", help="mlp,cnn,gpt-small,gpt-medium (default: all)")
    parser.add_argument("--runs", type=int, default=2, help="child processes with and without each (default 2)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--watched", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(options.child, options.watched)))
        return
    from bench.workloads import chosen

    print_table([row for name in chosen(options.workloads) for row in measure(name, options.runs)])


if __name__ == "__main__":
    main()
