"""How long `import sickbay` and `sickbay --help` take beyond bare Python: the fastest of several processes each."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from bench.table import Row, print_table

IMPORT_BAR, HELP_BAR = 0.100, 0.300
"""Seconds more than bare Python."""
COMMANDS = {
    "bare": [sys.executable, "-c", "pass"],
    "import": [sys.executable, "-c", "import sickbay"],
    "help": [sys.executable, "-m", "sickbay", "--help"],
}


def fastest(runs: int) -> dict[str, float]:
    """Seconds of the fastest of `runs` processes of each command, taken in turns; the first of each is a warm-up."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    best = dict.fromkeys(COMMANDS, float("inf"))
    for run in range(runs + 1):
        for name, command in COMMANDS.items():
            started = time.perf_counter()
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
            if run:
                best[name] = min(best[name], time.perf_counter() - started)
    return best


def measure(runs: int = 10) -> list[Row]:
    best = fastest(runs)
    bare = best["bare"]
    note = f"bare Python takes {1000 * bare:.0f} ms"
    return [
        Row("import sickbay", "", best["import"] - bare, unit="ms", bar=IMPORT_BAR, note=note),
        Row("sickbay --help", "", best["help"] - bare, unit="ms", bar=HELP_BAR, note=note),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.startup", description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="processes of each kind (default 10)")
    print_table(measure(parser.parse_args().runs))


if __name__ == "__main__":
    main()
