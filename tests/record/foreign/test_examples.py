"""The labelled real logs, where they are at hand ($SICKBAY_LOG_EXAMPLES): they belong to others and are not part of this repository."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from repo.source import ROOT
from sickbay.conclude import diagnose
from sickbay.record.foreign import read_log

EXAMPLES = Path(os.environ.get("SICKBAY_LOG_EXAMPLES", ROOT.parent / "shared" / "log-examples"))
CASES = sorted(p.parent for p in EXAMPLES.glob("*/source.json")) if EXAMPLES.is_dir() else []
NUMBERS = {
    "001": {"loss/train": (435, 8.6586, 0.0874), "loss/eval": (34, 7.07058954, 2.5147409439)},
    "004": {"loss/train": (10, 0.9974, 29.559)},
    "009": {"loss/train": (700, 25.5062, 2.2437), "loss/eval": (70, 3.39840555, 2.0652768612)},
    "016": {"loss/train": (30, 1.1074, 0.0549), "loss/eval": (31, 5.74158335, 2.7486727237), "loss/eval@3": (31, 6.20253944, 4.6824760437)},
    "026": {"loss/train": (1000, 14.104049682617188, 0.04953908920288086)},
    "029": {"loss/train": (70, 1.1134458780288696, 1.1395301818847656), "loss/eval": (50, 1.1097825765609741, 1.1097825765609741)},
    "044": {"loss/train": (25, 1.324772596359253, 0.06220622360706329), "accuracy/eval": (25, 0.39769452810287476, 0.6685879230499268)},
    "064": {"loss/train": (51, 26.5324488, 10.365347698), "loss/eval": (51, 22.43142567, 10.559565399)},
}
"""Series: how many values, the first and the last, as they stand in the files."""


@pytest.mark.skipif(not CASES, reason="the labelled logs are not here")
@pytest.mark.parametrize("case", CASES, ids=lambda p: p.name)
def test_labelled_logs(case: Path) -> None:
    about = json.loads((case / "source.json").read_text())
    record = read_log(case / about["file"])[-1]
    for name, (count, first, last) in NUMBERS.get(case.name[:3], {}).items():
        series = record.series(name)
        assert len(series) == count
        assert series.values[[0, -1]] == pytest.approx([first, last], rel=1e-6)
    assert diagnose(record).shapes[0] == about["label"][0]
