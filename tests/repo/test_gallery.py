"""The gallery's pages say what sickbay says today about the numbers that lie beside them."""

from __future__ import annotations

from pathlib import Path

import pytest

from repo.source import ROOT
from sickbay.conclude import diagnose
from sickbay.record.foreign import read_log

GALLERY = ROOT / "docs" / "gallery"
SAYS = {
    "healthy": ("healthy", "healthy", ""),
    "lr_too_large": ("sick", "diverged-nan", "lr-too-high"),
    "lr_too_small": ("undecided", "flat-not-learning", "lr-too-low"),
    "overfitting": ("sick", "overfitting", "overfitting"),
    "spike": ("undecided", "spikes", "corrupt-samples"),
    "stalled": ("undecided", "flat-not-learning", ""),
    "plateau": ("undecided", "plateau", ""),
    "oscillation": ("undecided", "oscillating", "lr-too-high"),
    "mismatch": ("undecided", "train-val-mismatch", "train-val-mismatch"),
}
"""Verdict, first shape, first cause."""


def test_every_page_is_checked() -> None:
    assert {p.stem for p in GALLERY.glob("*.md")} == {*SAYS, "README"}
    assert {p.stem for p in (GALLERY / "data").glob("*.csv")} == set(SAYS)


@pytest.mark.parametrize("name", SAYS)
def test_the_page_is_still_true(name: str) -> None:
    diagnosis = diagnose(read_log(GALLERY / "data" / f"{name}.csv")[0])
    first = diagnosis.causes[0].cause if diagnosis.causes else ""
    assert (diagnosis.verdict, diagnosis.shapes[0], first) == SAYS[name]
    page = (GALLERY / f"{name}.md").read_text()
    told = " ".join(page.split("```text")[1].split())
    assert diagnosis.verdict.upper() in told
    assert " ".join(diagnosis.reason.split())[1:] in told, "run `python docs/gallery/generate.py --drawn`"
    assert first in page


@pytest.mark.parametrize("name", SAYS)
def test_the_drawing_is_there(name: str) -> None:
    drawing = Path(GALLERY / f"{name}.svg").read_text()
    assert drawing.startswith("<svg") and drawing.count("<polyline") == 2
