"""`python -m bench`: everything, in about ten minutes; the table to the terminal, the numbers to bench/results.json."""

from __future__ import annotations

import argparse
import time

from bench import memory, overhead, startup
from bench.measure import count_processor_time
from bench.overhead import say
from bench.peers import missing
from bench.structure import structure
from bench.table import Row, print_table, write_results
from bench.workloads import WORKLOADS, chosen, machine

SHARES = {"overhead": 0.32, "sampled": 0.06, "structure": 0.08, "peers": 0.18, "budgets": 0.22}
"""Of the time, for all workloads together; memory and start-up take what they take (about a minute)."""
OTHER_BUDGETS = [0.005, 0.01, 0.05]
BUDGET_WORKLOADS = ("mlp", "gpt-small")
"""The hardest step and an ordinary one; `python -m bench.overhead --budget` measures any."""
SECONDS = 2.0
BUDGET_SECONDS = 1.5
PEER_SECONDS = 1.0
"""Peers cost tens of percent: shorter blocks are enough."""


class Plan:
    """How long each part may take, and whether there is time left for it."""

    def __init__(self, minutes: float, workloads: list[str]) -> None:
        self.total = 60 * minutes
        self.ends = time.monotonic() + self.total
        self.workloads = workloads
        self.skipped: list[str] = []

    def limit(self, part: str, workloads: int) -> float:
        return SHARES[part] * self.total / max(workloads, 1)

    def fits(self, part: str) -> bool:
        if time.monotonic() < self.ends - 10:
            say(f"{self.ends - time.monotonic():4.0f} s left: {part}")
            return True
        self.skipped.append(part)
        return False


def measure(plan: Plan) -> list[Row]:
    rows: list[Row] = []
    names = plan.workloads
    if plan.fits("start-up"):
        rows += startup.measure()
    for name in names:
        if plan.fits(f"{name} overhead"):
            workload = WORKLOADS[name]()
            limit = plan.limit("overhead", len(names))
            rows += overhead.budgets(workload, [overhead.DEFAULT_BUDGET], seconds=SECONDS, blocks=100, limit=limit)
            rows += overhead.sampled_step(workload, seconds=SECONDS, blocks=4, limit=plan.limit("sampled", len(names)))
            rows += structure(workload, limit=plan.limit("structure", len(names)))
    for name in names:
        if plan.fits(f"{name} memory"):
            rows += memory.measure(name)
    for name in names:
        if plan.fits(f"{name} peers"):
            rows += overhead.peers(WORKLOADS[name](), seconds=PEER_SECONDS, blocks=10, limit=plan.limit("peers", len(names)))
    budgeted = [n for n in names if n in BUDGET_WORKLOADS]
    for name in budgeted:
        if plan.fits(f"{name} other budgets"):
            limit = plan.limit("budgets", len(budgeted))
            rows += overhead.budgets(WORKLOADS[name](), OTHER_BUDGETS, seconds=BUDGET_SECONDS, blocks=100, limit=limit)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--workloads", default="all", help="mlp,cnn,gpt-small,gpt-medium (default: all)")
    parser.add_argument("--minutes", type=float, default=9.0, help="about how long it may take (default 9)")
    parser.add_argument("--cpu", action="store_true", help="count processor time instead of wall time: for a busy machine")
    options = parser.parse_args()
    if options.cpu:
        count_processor_time()
    plan = Plan(options.minutes, chosen(options.workloads))
    before = machine()
    rows = measure(plan)
    print(" · ".join(f"{key} {value}" for key, value in before.items()))
    if before["load"] > 0.5:
        print(f"The machine was busy when this began (load {before['load']}): expect noise, and repeat it on a quiet one.")
    print()
    print_table(rows)
    if missing():
        print(f"Not installed, so not compared: {', '.join(missing())}.")
    if plan.skipped:
        print(f"Out of time, so not measured: {', '.join(plan.skipped)}. Give more --minutes.")
    write_results(rows, before)


if __name__ == "__main__":
    main()
