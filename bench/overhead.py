"""What watching costs in time: alternating blocks with and without, in one process."""

from __future__ import annotations

import argparse
import math
import statistics
import sys

from bench.measure import Contestant, Result, alternate, bootstrap, clock, count_processor_time, steps_in
from bench.peers import installed, missing
from bench.table import Row, print_table, write_results
from bench.watching import Beginning, Watched
from bench.workloads import WORKLOADS, Workload, chosen, machine
from sickbay.observe.governor import PARTS
from sickbay.observe.session import SETTLE_STEPS
from sickbay.settings import Settings, parse_share

BARS = {"mlp": 0.03, "cnn": 0.02, "gpt-small": 0.015, "gpt-medium": 0.015}
"""At the default budget."""
DEFAULT_BUDGET = Settings().budget
BUDGET_SLACK = 0.005
SAMPLED_BAR = 0.15
READING = 40
"""The graph of the loss is read on so many sampled steps (`MOST_READS` in observe/graph.py); later ones are cheaper."""
WINDOW = len(PARTS) * SETTLE_STEPS
"""Steps in which all arithmetic that waits is done at least once."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def budgets(workload: Workload, shares: list[float], *, seconds: float, blocks: int, limit: float) -> list[Row]:
    """The overhead in steady state at each budget, and what the first steps cost before it."""
    ends = clock() + limit
    steps = steps_in(workload.step, seconds)
    contestants = [Watched(workload, Settings(budget=share)) for share in shares]
    beginnings = [c.begin(workload.step, c.settings.detail_steps) for c in contestants]
    results = alternate(workload.step, list(contestants), steps=steps, rounds=blocks, ends=ends)
    rows = []
    for watched, result, beginning in zip(contestants, results, beginnings, strict=True):
        rows += _budget_rows(workload.name, watched, result, steps)
        if watched.settings.budget == DEFAULT_BUDGET:
            rows += _beginning_rows(workload.name, beginning)
        watched.close()
    return rows


def _budget_rows(name: str, watched: Watched, result: Result, steps: int) -> list[Row]:
    budget = watched.settings.budget
    if result.failed or not result.pairs:
        return [Row(f"overhead, budget {100 * budget:g} %", name, None, note=result.failed)]
    interval = watched.sampling_interval
    # With blocks shorter than the sampling interval most blocks hold no sampled step, and a median would flatter us.
    by_mean = interval > steps
    numbers = (result.mean, *result.mean_interval) if by_mean else (result.overhead, *result.interval)
    count, plain = len(result.pairs), 1000 * result.pairs[-1].plain
    other = f"median {100 * result.overhead:.2f} %" if by_mean else f"mean {100 * result.mean:.2f} %"
    account = f"{other}; session's own account {100 * watched.own_account:.2f} %; 1 step in {interval:.0f} sampled"
    if watched.failures:
        account += f"; INCOMPLETE, an observer gave up: {watched.failures}"
    rows = [Row(f"budget {100 * budget:g} % held", name, *numbers, budget + BUDGET_SLACK, count, note=account)]
    if budget == DEFAULT_BUDGET:
        blocks = f"{'mean' if by_mean else 'median'} of {count} blocks of {steps} steps of {plain:.0f} ms; plain blocks differ by {100 * result.noise:.1f} %"
        rows.insert(0, Row("overhead, default budget", name, *numbers, BARS[name], count, note=blocks))
    return rows


def _beginning_rows(name: str, beginning: Beginning) -> list[Row]:
    first = len(beginning.steps)
    share = sum(beginning.steps) / (first * beginning.plain) - 1
    note = f"{1000 * beginning.extra:.0f} ms once, with {1000 * beginning.entering:.0f} ms to put hooks in place"
    return [
        Row(f"first {first} steps, in full detail", name, share, note=note),
        Row("first steps, until the blocks begin", name, beginning.share, note=f"{beginning.settled} steps, by the session's own account"),
    ]


def sampled_step(workload: Workload, *, seconds: float, blocks: int, limit: float) -> list[Row]:
    """What a look costs the steps it is taken on: one look after the other, each spread over steps as the governor does it."""
    ends = clock() + limit
    steps = steps_in(workload.step, seconds)
    watched = Watched(workload, Settings(), "every step sampled")
    first = Settings().detail_steps
    watched.begin(workload.step, first, settle=False)
    watched.session.governor.frame.share = math.inf  # as if it cost nothing: the next look is due when one is over
    [result] = alternate(workload.step, [watched], steps=steps, rounds=blocks, ends=ends)
    interval = watched.sampling_interval
    watched.close()
    if result.failed:
        return [Row("a fully sampled step", workload.name, None, note=result.failed)]
    ratios = [seconds / pair.typical - 1 for pair in result.pairs for seconds in pair.steps]
    parts = {"graph read": _by_window(ratios[: READING - first]), "later": _by_window(ratios[READING - first :])}
    return [
        Row(
            f"a fully sampled step, {when}",
            workload.name,
            statistics.median(part),
            *bootstrap(part),
            SAMPLED_BAR,
            len(part),
            note=f"median of {len(part)} windows of {WINDOW} steps; a look in {interval:.1f} steps",
        )
        for when, part in parts.items()
        if part
    ]


def _by_window(ratios: list[float]) -> list[float]:
    """Means over as many steps as numbers may wait for their arithmetic, so that none of it escapes a median."""
    starts = range(0, len(ratios) - WINDOW + 1, WINDOW) if len(ratios) > WINDOW else range(min(len(ratios), 1))
    return [statistics.mean(ratios[i : i + WINDOW]) for i in starts]


def peers(workload: Workload, *, seconds: float, blocks: int, limit: float) -> list[Row]:
    """The tools people use now in the same alternation, with sickbay and with nothing at all among them."""
    ends = clock() + limit
    steps = steps_in(workload.step, seconds)
    watched = Watched(workload, Settings())
    watched.begin(workload.step, watched.settings.detail_steps)
    contestants: list[Contestant] = [Contestant(), watched, *(kind(workload) for kind in installed())]
    results = alternate(workload.step, contestants, steps=steps, rounds=blocks, ends=ends)
    rows = []
    for contestant, result in zip(contestants, results, strict=True):
        contestant.close()
        if result.failed or not result.pairs:
            rows.append(Row(f"peer: {result.name}", workload.name, None, note=f"failed: {result.failed}"))
        else:
            rows.append(Row(f"peer: {result.name}", workload.name, result.overhead, *result.interval))
    return rows


def parse_shares(text: str) -> list[float]:
    return [parse_share(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.overhead", description=__doc__)
    parser.add_argument("--workloads", default="all", help="mlp,cnn,gpt-small,gpt-medium (default: all)")
    parser.add_argument("--blocks", type=int, default=12, help="watched blocks of each kind (default 12)")
    parser.add_argument("--seconds", type=float, default=2.0, help="shortest block (default 2)")
    parser.add_argument("--budget", default="1%", help="budgets to measure, for example 0.5%%,1%%,2%%,5%% (default 1%%)")
    parser.add_argument("--peers", action="store_true", help="also measure the tools people use now")
    parser.add_argument("--cpu", action="store_true", help="count processor time instead of wall time: for a busy machine")
    options = parser.parse_args()
    if options.cpu:
        count_processor_time()
    rows: list[Row] = []
    limits = {"seconds": options.seconds, "blocks": options.blocks, "limit": float("inf")}
    for name in chosen(options.workloads):
        workload = WORKLOADS[name]()
        say(f"{name}: overhead")
        rows += budgets(workload, parse_shares(options.budget), **limits)
        say(f"{name}: fully sampled steps")
        rows += sampled_step(workload, **limits | {"blocks": min(options.blocks, 4)})
        if options.peers:
            say(f"{name}: peers" + (f" (not installed: {', '.join(missing())})" if missing() else ""))
            rows += peers(workload, **limits)
    print_table(rows)
    write_results(rows, machine())


if __name__ == "__main__":
    main()
