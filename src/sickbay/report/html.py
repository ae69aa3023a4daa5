"""Draws a view as one HTML file that holds everything it needs and opens from disk with the network off.

Whatever the record says is hostile: templates escape it, data for the scripts is JSON with `<`, `>` and `&` escaped, and
the page's own content policy allows only the scripts and styles written here, by their hash.
"""

from __future__ import annotations

import base64
import hashlib
import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from sickbay.report import words
from sickbay.report.charts import Chart
from sickbay.report.layers import HeatMap
from sickbay.report.view import View

HERE = Path(__file__).parent
TEMPLATES = HERE / "templates"
ASSETS = HERE / "assets"
SCRIPTS = ("page.js", "charts.js", "heatmap.js")
STYLES = ("report.css", "figures.css")
OPEN_CAUSES = 3

# How a heat map's cell is written: log10 in thousandths as int16, with three values set apart.
NOT_MEASURED, ZERO, NOT_FINITE = -32768, -32767, 32767


@dataclass(frozen=True, slots=True)
class Inline:
    """Code of ours (or of the chart library) that goes into the page as it is, and its hash for the content policy."""

    code: Markup
    digest: str


def render(view: View) -> str:
    """The report as one HTML document."""
    charts = {chart.key: chart for chart in view.charts}
    return page("report.html.j2", _data(view), view=view, charts=charts, open_causes=OPEN_CAUSES)


def page(template: str, data: dict[str, Any], **context: Any) -> str:
    """One of our pages, with everything that it needs in it. `data` is what its scripts draw."""
    library = _library(), _asset("uPlot.min.css")
    complete = None not in library
    scripts = [_inline(code) for code in (library[0] if complete else None, *(_template_text(n) for n in SCRIPTS)) if code]
    styles = [_inline(code) for code in (library[1] if complete else None, *(_template_text(n) for n in STYLES)) if code]
    return environment().get_template(template).render(data=data, scripts=scripts, styles=styles, interactive=complete, **context)


@cache
def environment() -> Environment:
    made = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters |= {"percent": words.percent, "sketch": sketch, "breakable": breakable}
    return made


def breakable(name: str) -> Markup:
    """A dotted name that may be broken after its dots and underscores, and nowhere else if it can be helped."""
    return Markup("").join(Markup("{}<wbr>").format(part) if part in "._/" else escape(part) for part in re.split(r"([._/])", name) if part)


def _library() -> str | None:
    """The chart library, with its licence where the build has bundled that: every report is a copy of it."""
    code, licence = _asset("uPlot.iife.min.js"), _asset("uPlot.LICENSE.txt")
    return f"/*\n{licence.strip()}\n*/\n{code}" if code and licence and "*/" not in licence else code


def _asset(name: str) -> str | None:
    """A file that the build bundles; None when this installation lacks it, or when it could end its own element early."""
    try:
        text = (ASSETS / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    return None if "</script" in text.lower() or "</style" in text.lower() or "<!--" in text else text


@cache
def _template_text(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _inline(code: str) -> Inline:
    code = code.replace("\r\n", "\n")
    return Inline(Markup(code), base64.b64encode(hashlib.sha256(code.encode()).digest()).decode())


def styles(*names: str) -> list[Inline]:
    """Style sheets of ours, for a page without scripts."""
    return [_inline(_template_text(name)) for name in names]


def _data(view: View) -> dict[str, Any]:
    """What the scripts draw."""
    names = list(dict.fromkeys(heat.rows for heat in view.heat_maps))  # maps of the same layers share their names
    return {
        "charts": {chart.key: asdict(chart) for chart in view.charts},
        "marks": [asdict(mark) for cause in view.causes[:OPEN_CAUSES] for mark in cause.marks],
        "names": names,
        "heatmaps": [_cells(heat, names.index(heat.rows)) for heat in view.heat_maps],
    }


def _cells(heat: HeatMap, names: int) -> dict[str, Any]:
    codes = array("h", (_code(v) for row in heat.values for v in row))
    if codes.itemsize != 2:  # pragma: no cover - every platform Python runs on has 16-bit shorts
        raise AssertionError("a short is not 16 bits here")
    finite = [v for row in heat.values for v in row if math.isfinite(v) and v > 0]
    return {
        "key": heat.key,
        "title": heat.title,
        "caption": heat.caption,
        "names": names,
        "steps": heat.steps,
        "low": math.floor(math.log10(min(finite))) if finite else 0,
        "high": math.ceil(math.log10(max(finite))) if finite else 1,
        "cells": base64.b64encode(codes.tobytes()).decode(),
    }


def _code(value: float) -> int:
    if math.isnan(value):
        return NOT_MEASURED
    if math.isinf(value):
        return NOT_FINITE
    return ZERO if value <= 0 else max(ZERO + 1, min(NOT_FINITE - 1, round(1000 * math.log10(value))))


@dataclass(frozen=True, slots=True)
class Sketch:
    """A chart as plain lines in a box of 600 by 200: what is seen without scripts, and in their place until they run."""

    paths: tuple[tuple[str, str], ...]
    """(role, path data)."""
    low: str
    high: str
    first: str
    last: str


def sketch(chart: Chart) -> Sketch | None:
    everything = [pair for drawn in chart.lines for pair in zip(drawn.steps, drawn.values, strict=True)]
    points = [(s, v) for s, v in everything if v is not None and (v > 0 or not chart.log)]
    if not points:
        return None
    scale = math.log10 if chart.log else float
    left, right = min(s for s, _ in points), max(s for s, _ in points)
    low, high = min(v for _, v in points), max(v for _, v in points)
    bottom, top = scale(low), scale(high)

    def path(steps: tuple[int, ...], values: tuple[float | None, ...]) -> Iterator[str]:
        pen = "M"
        for step, value in zip(steps, values, strict=True):
            if value is None or (chart.log and value <= 0):
                pen = "M"
                continue
            x = 600 * (step - left) / ((right - left) or 1)
            y = 196 - 192 * (scale(value) - bottom) / ((top - bottom) or 1)
            yield f"{pen}{x:.0f} {y:.0f}"
            pen = "L"

    paths = tuple((drawn.role, "".join(path(drawn.steps, drawn.values))) for drawn in chart.lines)
    return Sketch(paths, words.number(low), words.number(high), f"{left:,}", f"{right:,}")
