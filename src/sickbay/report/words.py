"""Numbers, durations and slugs as a person would write them. Every string in a view has gone through `clean`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath

from sickbay.nouns import Place

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: object) -> str:
    """Text from a record, made harmless: terminal escapes, bidirectional overrides and lone surrogates become visible."""
    return _UNPRINTABLE.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", str(text))


def number(value: float | None) -> str:
    """At most four significant digits; NaN and infinity by name."""
    if value is None:
        return "unknown"
    value = float(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "infinity" if value > 0 else "-infinity"
    size = abs(value)
    if value == int(value) and size < 1e7:
        return f"{int(value):,}"
    if 1e-3 <= size < 1e4:
        return f"{value:,.4g}"
    if 1e4 <= size < 1e7:
        return f"{value:,.0f}"
    mantissa, exponent = f"{value:.2e}".split("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def count(value: int, noun: str) -> str:
    """ "1 step", "3 steps", "1,200 steps"."""
    return f"{value:,} {noun}{'' if value == 1 else 'es' if noun.endswith('s') else 's'}"


def size(count: float) -> str:
    """1,536 -> "1.5 KB"."""
    for unit in ("B", "KB", "MB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 10 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GB"


def percent(share: float) -> str:
    if not math.isfinite(share):
        return "unknown"
    points = 100 * share
    return f"{points:.0f} %" if points >= 10 or points == 0 else f"{points:.1f} %" if points >= 0.1 else "under 0.1 %"


def duration(seconds: float) -> str:
    if not math.isfinite(seconds):
        return "unknown time"
    if seconds < 60:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def steps(span: tuple[int, int] | None) -> str:
    if span is None:
        return ""
    first, last = span
    return f"step {first:,}" if first == last else f"steps {first:,} to {last:,}"


def shape(sizes: Sequence[int]) -> str:
    return " × ".join(str(s) for s in sizes) if sizes else "scalar"


def plain(slug: str) -> str:
    """ "small-gradients" as words."""
    return clean(slug).replace("-", " ").replace("_", " ")


def listing(items: Iterable[str], word: str = "and") -> str:
    *rest, last = list(items) or [""]
    return f"{', '.join(rest)} {word} {last}" if rest else last


def headline(text: str) -> str:
    """Begins with a capital letter, unless it begins with code."""
    text = clean(text).strip()
    first_word = text.split()[0] if text else ""
    return text[0].upper() + text[1:] if first_word.isalpha() and first_word.islower() else text


def sentence(text: str) -> str:
    """Ends with a full stop and begins with a capital letter, unless it begins with code."""
    text = clean(text).strip()
    if not text:
        return ""
    text = headline(text)
    return text if text[-1] in ".!?:…" else text + "."


def relative(path: str, folder: str | None) -> str:
    """`path` seen from `folder` when it lies below it; untouched otherwise. Works on paths of another system."""
    if not folder:
        return clean(path)
    kind = PureWindowsPath if "\\" in folder else PurePosixPath
    try:
        return clean(kind(path).relative_to(kind(folder)).as_posix()) or "."
    except ValueError:
        return clean(path)


def here(path: Path) -> str:
    """A path to type into this shell: seen from where the reader is."""
    return relative(str(path), str(Path.cwd()))


def place(spot: Place | None, folder: str | None) -> str:
    """ "train.py:31, layer head"."""
    if spot is None:
        return ""
    parts = []
    if spot.file:
        parts.append(("probably " if spot.guess else "") + relative(spot.file, folder) + (f":{spot.line}" if spot.line else ""))
    if spot.layer:
        parts.append(f"layer {clean(spot.layer)}")
    return ", ".join(parts)
