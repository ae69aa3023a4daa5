"""Trials as a report shows them: what was changed, what came of it, and the two losses as small lines of text and as a chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sickbay.nouns import Effect, Trial
from sickbay.report import words
from sickbay.report.charts import Chart, Line

BARS = "▁▂▃▄▅▆▇█"
BROKEN = "×"
WIDTH = 40
EXPLODED = 3.0
"""What is higher than this many times the start is drawn as high as that: or nothing else could be seen beside it."""
SOLVED = 1e-3
"""Below this share of the highest value a logarithmic scale shows only noise."""


@dataclass(frozen=True, slots=True)
class TrialView:
    label: str
    effect: Effect
    text: str
    rows: tuple[tuple[str, str], ...]
    """"untreated" and "treated", each with its loss as a line of bars."""
    chart: Chart | None
    cause: str
    length: str
    """"480 steps, 12 s"."""
    fenced: str
    """What the trial was kept from writing, in words, or ""."""


def trial_view(trial: Trial) -> TrialView:
    named = (("untreated", trial.untreated), ("treated", trial.treated))
    values = [v for _, points in named for _, v in points if math.isfinite(v)]
    starts = [abs(points[0][1]) for _, points in named if points and math.isfinite(points[0][1])]
    scale = _scale(values, min(starts, default=0.0))
    return TrialView(
        label=words.headline(trial.label),
        effect=trial.effect,
        text=words.sentence(trial.text),
        rows=tuple((name, bars([v for _, v in points], scale)) for name, points in named if points),
        chart=_chart(trial) if values else None,
        cause=words.clean(trial.cause),
        length=f"{words.count(trial.steps, 'step')}, {words.duration(trial.seconds)}",
        fenced=f"kept from writing {words.count(len(trial.fenced), 'file')}" if trial.fenced else "",
    )


def _scale(values: Sequence[float], start: float) -> tuple[float, float, bool]:
    """Lowest, highest, and whether by logarithms."""
    if not values:
        return 0.0, 1.0, False
    low, high = min(values), min(max(values), EXPLODED * max(abs(start), min(values)))
    if low > 0 and high > 10 * low:
        return math.log(max(low, SOLVED * high)), math.log(high), True
    return low, high, False


def bars(values: Sequence[float], scale: tuple[float, float, bool], width: int = WIDTH) -> str:
    """One bar per value, or per stretch of values."""
    low, high, logarithmic = scale
    count = min(width, len(values))
    drawn = ""
    for i in range(count):
        part = values[i * len(values) // count : (i + 1) * len(values) // count]
        finite = sorted(v for v in part if math.isfinite(v))
        if not finite:
            drawn += BROKEN
            continue
        middle = finite[len(finite) // 2]
        height = math.log(max(middle, math.exp(low))) if logarithmic else middle
        share = (height - low) / (high - low) if high > low else 0.0
        drawn += BARS[min(len(BARS) - 1, max(0, int(share * len(BARS))))]
    return drawn


def _chart(trial: Trial) -> Chart:
    def line(label: str, role: str, points: Sequence[tuple[int, float]]) -> Line:
        return Line(label, role, tuple(s for s, _ in points), tuple(v if math.isfinite(v) else None for _, v in points))  # type: ignore[arg-type]

    lines = (line("untreated", "soft", trial.untreated), line("treated", "train", trial.treated))
    positive = all(v > 0 for drawn in lines for v in drawn.values if v is not None)
    caption = f"Loss over steps as the script is (grey) and with {words.clean(trial.label)} (coloured)."
    return Chart("trial", "Trial", caption, tuple(x for x in lines if x.steps), log=positive)
