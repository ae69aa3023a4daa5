"""How much more memory a watched process needs: the same training in child processes, with and without."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

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


def child(name: str) -> dict[str, int]:
    """Train in this process, as a script does, and say how much memory it took."""
    from bench.workloads import WORKLOADS

    workload = WORKLOADS[name]()
    for _ in range(STEPS[name]):
        workload.step()
    return {"rss": _status("VmRSS"), "peak": _status("VmHWM")}


def _run(name: str, watched: bool) -> dict[str, int]:
    """In a process of its own, plain or as users have it watched: sickbay comes in with torch, before there is a model."""
    paths = [str(ROOT), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in paths if p)}
    script = ["-m", "bench.memory", "--child", name]
    command = [sys.executable, *(["-m", "sickbay", "run", "--quiet"] if watched else []), *script]
    with tempfile.TemporaryDirectory(prefix="sickbay-bench-") as folder:
        done = subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True)
    found = next(line for line in done.stdout.splitlines() if line.startswith("{"))
    result: dict[str, int] = json.loads(found)
    return result


def measure(name: str, runs: int = 2) -> list[Row]:
    """The smallest of several children on each side: what allocators and neighbours add is not ours."""
    pairs = [(_run(name, False), _run(name, True)) for _ in range(runs)]
    rows = []
    for what, key, bar in (("memory, peak", "peak", BAR), ("memory, at the end", "rss", None)):
        without, with_us = min(p[key] for p, _ in pairs), min(w[key] for _, w in pairs)
        rows.append(Row(what, name, with_us / without - 1, bar=bar, note=f"{without / 2**20:.0f} MB → {with_us / 2**20:.0f} MB"))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--workloads", default="all", help="mlp,cnn,gpt-small,gpt-medium (default: all)")
    parser.add_argument("--runs", type=int, default=2, help="child processes with and without each (default 2)")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(child(options.child)))
        return
    from bench.workloads import chosen

    print_table([row for name in chosen(options.workloads) for row in measure(name, options.runs)])


if __name__ == "__main__":
    main()
