"""Draws a scan as one HTML page, with the look of a run's report; and as a small piece of HTML for a notebook."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.facts.scan import Finding, LoaderSeen, Scan
from sickbay.report import words
from sickbay.report.html import environment, styles
from sickbay.report.scan_page import labels_line, loaders, summary, verdict, where

TONES = {"SICK": "sick", "HEALTHY": "healthy", "STOPPED": "undecided"}
SHOWN = 3
INDICES = 200
BARS = 40
"""Classes that are drawn."""


@dataclass(frozen=True, slots=True)
class FindingView:
    number: int
    certainty: str
    cause: str
    code: str
    loader: str
    title: str
    text: str
    where: str
    fix: str
    diff: tuple[str, ...]
    indices: str
    details: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LoaderView:
    name: str
    summary: str
    labels: str
    tensors: tuple[tuple[str, ...], ...]
    classes: tuple[tuple[str, str, float], ...]
    """Name, samples, and how long its bar is (0 to 100)."""


def render(scan: Scan, findings: tuple[Finding, ...], *, samples: bool = False) -> str:
    word, _, text = verdict(scan, findings)
    return environment().get_template("scan.html.j2").render(
        tone=TONES[word],
        word=word.capitalize(),
        reason=text,
        wrong=_views([f for f in findings if f.wrong], samples),
        remarks=_views([f for f in findings if not f.wrong], samples),
        loaders=[_loader(x) for x in loaders(scan)],
        not_checked=[(words.clean(n.what), words.clean(n.why)) for n in scan.not_checked],
        seconds=words.duration(scan.seconds),
        styles=styles("report.css", "scan.css"),
    )  # fmt: skip


def fragment(scan: Scan, findings: tuple[Finding, ...], *, samples: bool = False) -> str:
    """For `_repr_html_`."""
    word, _, text = verdict(scan, findings)
    wrong, remarks = ([f for f in findings if f.wrong is kind] for kind in (True, False))
    return environment().get_template("scan_notebook.html.j2").render(
        tone=TONES[word], word=word.capitalize(), reason=text, wrong=_views(wrong, samples), remarks=_views(remarks, samples), shown=SHOWN,
        loaders=[(x.name, summary(x)) for x in loaders(scan)],
    )  # fmt: skip


def _views(findings: list[Finding], samples: bool) -> list[FindingView]:
    return [
        FindingView(
            number=i,
            certainty=f.certainty,
            cause=f.cause,
            code=f.code,
            loader=f.loader,
            title=words.headline(f.title),
            text=words.sentence(f.text),
            where=where(f),
            fix=words.sentence(f.fix),
            diff=tuple(words.clean(line) for line in f.diff.splitlines()),
            indices=", ".join(map(str, f.indices[:INDICES])) + (f" and {len(f.indices) - INDICES} more" if len(f.indices) > INDICES else ""),
            details=tuple(words.clean(line) for line in f.details) if samples else (),
        )
        for i, f in enumerate(findings, start=1)
    ]


def _loader(x: LoaderSeen) -> LoaderView:
    most = max((n for _, n in x.histogram), default=1)
    rows = [
        (
            words.clean(t.name),
            t.role,
            t.kind,
            t.dtype,
            words.shape(t.shape) if t.shape else "one number",
            f"{words.number(t.minimum)} to {words.number(t.maximum)}" if t.kind not in ("text", "object") else "",
            words.number(t.scale.mean) if t.scale is not None else "",
            words.number(t.scale.std) if t.scale is not None else "",
            f"{t.nan + t.infinite:,}" if "float" in t.dtype else "",
        )
        for t in x.tensors
    ]
    classes = tuple((str(label), f"{n:,}", round(100 * n / most, 1)) for label, n in x.histogram[:BARS])
    return LoaderView(x.name, summary(x), labels_line(x), tuple(rows), classes)
