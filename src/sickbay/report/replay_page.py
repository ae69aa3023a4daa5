"""The page that `sickbay replay` ends with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from sickbay.facts import FirstInvalid
from sickbay.record.comparison import Comparison
from sickbay.report import incident as told
from sickbay.report import words
from sickbay.report.excerpts import excerpt
from sickbay.report.terminal import Page, code

MARGIN = 10
TITLES = {"recurred": "RECURRED", "elsewhere": "RECURRED ELSEWHERE", "absent": "DID NOT RECUR", "unreached": "NOT REACHED"}
TONES = {"recurred": "bold green", "elsewhere": "bold yellow", "absent": "bold yellow", "unreached": "bold red"}


def render(found: Comparison, cwd: str, folder: Path, console: Console) -> None:
    """`cwd` is the folder that both runs were started in, `folder` holds the replay."""
    page = Page(console)
    page.line(("── replay " + "─" * (page.width - 10), "dim"))
    title = TITLES[found.outcome]
    page.prose(words.sentence(_verdict(found)), indent=len(title) + 2, label=title, mark=TONES[found.outcome])
    if found.now is not None and found.now.first is not None:
        _first(page, found.now.first, found.sources, cwd)
        if earlier := _earlier(found.before.first, found.now.first, cwd):
            page.prose(earlier, indent=MARGIN, label="Before")
    page.prose(words.sentence(losses(found)), indent=MARGIN, label="Losses")
    if found.changed:
        files = words.listing(words.relative(f, cwd) for f in found.changed[:4])
        page.prose(f"{files} {'is' if len(found.changed) == 1 else 'are'} not as in the run that was recorded.", indent=MARGIN, label="Changed")
    page.line(("Record".ljust(MARGIN), "dim"), (words.here(folder), "dim"))
    if found.now is not None:
        page.line(("Next".ljust(MARGIN), "dim"), (f"sickbay incident {words.here(folder)}", "bold"))


def _thing(kind: str) -> str:
    return {
        "loss": "the loss is not finite",
        "gradient": "a gradient is not finite",
        "weight": "a weight is not finite",
        "crash": "the same exception",
    }.get(kind, "a value is not finite")


def _verdict(found: Comparison) -> str:
    before, now = found.before, found.now
    if now is None:
        if found.outcome == "unreached":
            return f"the script ended after {words.count(found.steps, 'step')}, before step {before.step:,}: {words.clean(found.ended)}"
        return f"step {before.step:,} went well this time: the script does not repeat itself"
    if now.step != before.step:
        return f"at step {now.step:,}; before, it was at step {before.step:,}: {_thing(now.kind)}"
    if found.outcome == "elsewhere":
        return f"at step {now.step:,} as before, but not in the same way: {_thing(now.kind)}"
    return f"at step {now.step:,}, as before: {_thing(now.kind)}"


def _first(page: Page, first: FirstInvalid, sources: Mapping[str, str], cwd: str) -> None:
    page.prose(words.sentence(told.origin(first, cwd)), indent=MARGIN, label="First")
    if first.place is not None and (shown := excerpt(first.place, sources, cwd)) is not None:
        code(page, shown, MARGIN)


def _earlier(before: FirstInvalid | None, now: FirstInvalid, cwd: str) -> str:
    """What the first run said of it, where the replay knows better."""
    if before is None or before.place is None:
        return "the run itself could not tell the line; the replay followed every operation." if now.place is not None else ""
    same = now.place is not None and (before.place.file, before.place.line) == (now.place.file, now.place.line)
    if before.traced or before.backward:
        return "" if same else words.sentence(told.origin(before, cwd))
    if same and before.call and before.call != now.call:
        return f"the run named `{words.clean(before.call)}` on that line, from the trace of an earlier step; the replay followed this very one."
    if same and not now.traced:
        return ""  # the replay could not follow it either: a loss that the script leaves out
    if same:
        return "the run named the same line, from the trace of an earlier step; the replay has now seen it happen."
    return f"the run named {words.place(before.place, cwd)}, from the trace of an earlier step; the replay followed this very one."


def losses(found: Comparison) -> str:
    """How far both runs are the same."""
    seen = found.losses
    if not seen.compared:
        return "no step is recorded in both runs"
    if seen.differs_at is None and seen.compared == 1:
        return f"identical to the bit on the one step that both recorded, step {seen.last:,}"
    if seen.differs_at is None:
        return f"identical to the bit on all {words.count(seen.compared, 'step')} that both recorded, up to step {seen.last:,}"
    values = f"{_exact(seen.before)} before, {_exact(seen.now)} now"
    start = "they differ from the first step on" if seen.differs_at == 0 else f"the first that differs is of step {seen.differs_at:,}"
    seed = "" if found.seeded else "; no seed is set in the sources that were recorded (torch.manual_seed)"
    return f"{start}: {values}{seed}"


def _exact(value: float) -> str:
    return f"{value:.9g}"
