"""Which rank's record is diagnosed: rank 0's, unless another one shows first what went wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sickbay.facts import Crash, RankSummary
from sickbay.record.ranks.member import Member
from sickbay.record.ranks.times import Times

CONTACT = re.compile(
    r"onnection (was )?(closed|reset|refused|lost)|by peer|gloo|NCCL|roken pipe|ocket|rendezvous|process group|\bstore\b|Timed out waiting",
    re.IGNORECASE,
)
"""What the libraries beneath torch.distributed say when another rank has gone away."""
LIBRARY = (
    "RuntimeError",
    "DistBackendError",
    "DistNetworkError",
    "DistStoreError",
    "DistError",
    "ConnectionError",
    "ConnectionResetError",
    "BrokenPipeError",
)
ORDER = {"loss": 0, "gradient": 1, "weight": 2}
"""Within one step: gradients are exchanged, so that what one rank's loss began is in all ranks' gradients."""


def chosen(members: Sequence[Member]) -> tuple[Member, str]:
    """The rank to read, and why it is not the first."""
    lead = next((m for m in members if m.rank.own_loss), members[0])
    why = "" if lead.rank.rank == 0 else "rank 0 left no record" if members[0].rank.rank else "rank 0 has no loss of its own"
    broken = min((m for m in members if broke(m)), key=_first_broken, default=None)
    if broken is not None and _first_broken(broken)[:3] < _first_broken(lead)[:3]:
        step, what = broke(broken) or (0, "")
        return broken, f"it was the first whose {what} was not finite (step {step:,})"
    stopped = [m for m in members if m.crash is not None and not lost_contact(m.crash)]
    if broken is None and stopped and lead not in stopped:
        first = min(stopped, key=_ended)
        assert first.crash is not None
        return first, f"it stopped first, with {first.crash.kind} at step {first.crash.step:,}"
    return lead, why


def broke(m: Member) -> tuple[int, str] | None:
    """The first step of a rank with something that was not finite, and what that was."""
    found = [(m.nonfinite, "loss")] if m.nonfinite is not None else []
    if m.incident is not None and m.incident.kind in ORDER:
        found.append((m.incident.step, m.incident.kind))
    return min(found, key=lambda f: (f[0], ORDER[f[1]]), default=None)


def _first_broken(m: Member) -> tuple[float, int, bool, int]:
    found = broke(m)
    if found is None:
        return float("inf"), 0, True, m.rank.rank
    unexplained = m.incident is None or (m.incident.first is None and not m.incident.data)
    return found[0], ORDER[found[1]], unexplained, m.rank.rank


def lost_contact(crash: Crash) -> bool:
    """The exception says no more than that another rank was gone."""
    return crash.kind in LIBRARY and CONTACT.search(crash.message) is not None


def _ended(m: Member) -> float:
    return m.run.started + m.run.seconds


def summary(m: Member, times: Times | None) -> RankSummary:
    found = broke(m)
    crash = m.crash
    means = times.means if times is not None else (0.0, 0.0, 0.0, 0.0)
    return RankSummary(
        rank=m.rank.rank,
        record=m.path.name,
        host=m.rank.host,
        steps=m.run.steps,
        backwards=m.run.backwards,
        batches=m.loader.batches if m.loader is not None else None,
        ended=_ended(m) if m.run.finished else 0.0,
        finished=m.run.finished,
        crash=crash.kind if crash is not None else "",
        message=crash.message[:300] if crash is not None else "",
        crash_at=crash.place if crash is not None else None,
        lost_contact=crash is not None and lost_contact(crash),
        broken_step=found[0] if found is not None else None,
        broken=found[1] if found is not None else "",
        loading=means[0],
        forward=means[1],
        rest=means[2],
        waiting=means[3],
    )
