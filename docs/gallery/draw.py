"""Two curves as an SVG: no library, no style sheet, the same bytes for the same numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 30, 34
COLOURS = {"training loss": "#2563a8", "validation loss": "#c2571a"}
LOGARITHMIC = 1000.0
"""Values that span more than this factor are drawn on a logarithmic axis."""


def svg(curves: dict[str, Sequence[float]], title: str) -> str:
    values = [v for curve in curves.values() for v in curve if math.isfinite(v)]
    low, high = min(values), max(values)
    logarithmic = low > 0 and high / low > LOGARITHMIC
    low, high = (math.log10(low), math.log10(high)) if logarithmic else (min(0.0, low), high)
    count = max(len(curve) for curve in curves.values())

    def x(i: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * i / max(1, count - 1)

    def y(value: float) -> float:
        at = math.log10(value) if logarithmic else value
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (at - low) / ((high - low) or 1.0))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" role="img" aria-label="{title}">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
    ]
    for k in range(5):
        at = low + (high - low) * k / 4
        value = 10**at if logarithmic else at
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#dddddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y(value) + 4:.1f}" text-anchor="end" fill="#444444">{value:.3g}</text>')
    parts += [
        f'<text x="{x(i):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="#444444">{i}</text>'
        for i in sorted({round((count - 1) * k / 4) for k in range(5)})
    ]
    for k, (name, curve) in enumerate(curves.items()):
        points = " ".join(f"{x(i):.1f},{y(v):.1f}" for i, v in enumerate(curve) if math.isfinite(v))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" stroke-width="1.8"/>')
        parts.append(f'<text x="{LEFT + 110 * k}" y="{TOP - 12}" fill="{COLOURS[name]}">{name}</text>')  # above the drawing: curves go everywhere
    return "\n".join([*parts, "</svg>"]) + "\n"
