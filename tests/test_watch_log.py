"""`sickbay watch-log`: silent while nothing turns."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sickbay.cli.watch_log import line, turns


class Enough(Exception):
    """The log has been written to its end."""


def test_it_speaks_when_something_turns_and_only_then(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    good = [f"step {i} loss {math.exp(-i / 20) + 0.1:.4f}" for i in range(60)]
    bad = [f"step {i} loss nan" for i in range(60, 70)]
    contents = iter([None, "starting\n", "\n".join(good[:30]), "\n".join(good), "\n".join(good + bad), "\n".join(good + bad + bad[-1:])])

    def write(_: float) -> None:
        text = next(contents, Enough)
        if text is Enough:
            raise Enough
        if isinstance(text, str):
            path.write_text(text)

    told = []
    with pytest.raises(Enough):
        for diagnosis in turns(path, (), 0.1, wait=write):
            told.append(diagnosis)  # noqa: PERF402 (what was told before the end counts)
    assert [d.shapes[0] for d in told] == ["healthy", "diverged-nan"]
    assert "not finite" in line(told[1])
