"""What reading structure costs (operations, graph, probes) over the first 500 steps: by the session's own clock, as a share of their time."""

from __future__ import annotations

from bench.measure import clock
from bench.table import Row
from bench.watching import Watched
from bench.workloads import Workload
from sickbay.settings import Settings

STEPS = 500
BAR = 0.02


def structure(workload: Workload, *, limit: float) -> list[Row]:
    """Run 500 watched steps, or as many as fit."""
    watched = Watched(workload, Settings())
    watched.begin(workload.step, 3, settle=False)
    watched.on()
    session, started, taken = watched.session, clock(), 0
    while taken < STEPS and clock() < started + limit:
        workload.step()
        taken += 1
    watched.off()
    seconds = session.training_seconds + session.own_seconds
    share = session.structure_seconds / seconds
    watched.close()
    cut = "" if taken == STEPS else f" (the time was up after {taken}; over {STEPS} the share is lower)"
    return [
        Row(
            f"reading structure, first {STEPS} steps",
            workload.name,
            share,
            bar=BAR,
            note=f"{1000 * session.structure_seconds:.0f} ms in {seconds:.0f} s{cut}",
        )
    ]
