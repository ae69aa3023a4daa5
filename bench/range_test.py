"""`python -m bench.range_test`: is the learning rate that `sickbay lr` suggests near the best one of a grid?

Each workload is trained from the same start with nine rates, half a decade apart; the best is the one with the lowest loss at the end. `sickbay lr` is
then asked about the same training as a script. Both are short: what is the best rate for a few hundred steps is what is compared.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from pathlib import Path

import numpy as np

from bench.workloads import WORKLOADS, chosen

RATES = [10.0 ** (-5 + i / 2) for i in range(9)]
STEPS = {"mlp": 300, "cnn": 120, "gpt-small": 80, "gpt-medium": 40}
SWEEP = {"mlp": 200, "cnn": 150, "gpt-small": 100, "gpt-medium": 80}
BAR = 3.0


def final_loss(name: str, rate: float, steps: int) -> float:
    """Where training with this rate ends: the median of its last tenth; infinity if it breaks down."""
    workload = WORKLOADS[name]()
    for group in workload.optimizer.param_groups:
        group["lr"] = rate
    losses = [workload.step().item() for _ in range(steps)]
    last = float(np.median(losses[-max(1, steps // 10) :]))
    return last if math.isfinite(last) else math.inf


def suggested(name: str, steps: int) -> float | None:
    from sickbay.supervise.command import resolve
    from sickbay.supervise.sweeping import sweep
    from sickbay.trials.runner import LocalRunner

    with tempfile.TemporaryDirectory() as folder:
        what = resolve(["-m", "bench.range_test", "--train", name, "--steps", str(steps)])
        return sweep(what, Path(folder), 1e-6, 10.0, steps, LocalRunner())[0].suggestion


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--workloads", default="all", metavar="A,B")
    parser.add_argument("--train", choices=WORKLOADS, help="only train this one, as a script")
    parser.add_argument("--steps", type=int, metavar="N")
    given = parser.parse_args()
    if given.train:
        workload = WORKLOADS[given.train]()
        for _ in range(given.steps):
            workload.step()
        return
    print(f"{'workload':12} {'best of grid':>13} {'sickbay lr':>11} {'factor':>7}   loss at each rate of the grid")
    for name in chosen(given.workloads):
        losses = [final_loss(name, rate, given.steps or STEPS[name]) for rate in RATES]
        best = RATES[int(np.argmin(losses))]
        found = suggested(name, SWEEP[name])
        factor = max(found / best, best / found) if found else math.inf
        told = " ".join(f"{x:.3g}" for x in losses)
        print(f"{name:12} {best:13.2g} {found or math.nan:11.2g} {factor:7.2f}{' ' if factor <= BAR else ' !'}  {told}", flush=True)


if __name__ == "__main__":
    main()
