"""The collection of signs, and how signs are declared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sickbay import signs as signs_module
from sickbay.conclude import diagnose
from sickbay.facts import Optimizer
from sickbay.nouns import Sign
from sickbay.record.reader import Record
from sickbay.signs import Signs, read_signs, sign_names
from sickbay.signs.registry import READERS, share, sign
from sickbay.testing import falling, make_record, model_facts


def a_sign(name: str, where: str | None = None) -> Sign:
    return Sign(name, where, (0, 1), 0.5, {}, "text")


def test_signs_are_asked_for_by_name_and_place() -> None:
    signs = Signs((a_sign("flat-loss"), a_sign("dead-units", "relu1"), a_sign("dead-units", "relu2")))
    assert len(signs) == 3
    assert signs.has("flat-loss") and not signs.has("slow-descent")
    assert [s.where for s in signs.named("dead-units")] == ["relu1", "relu2"]
    assert [s.where for s in signs.at("relu2", "dead-units", "flat-loss")] == ["relu2"]


def test_a_healthy_run_and_an_empty_one_have_none() -> None:
    assert len(read_signs(make_record())) == 0


def test_every_sign_of_this_version_is_found() -> None:
    assert {"nonfinite-loss", "flat-loss", "val-rising", "dead-units", "update-ratio-high", "val-noisy", "weight-drift", "rank-lag"} <= set(
        sign_names()
    )


def test_signs_alone_are_no_illness() -> None:
    """Of the machine and of layers: they are told, and the verdict is that of the losses."""
    looks = 2 ** np.arange(9)
    record = make_record(
        series={"loss/train": falling(2.3, 0.1, 300), "memory/rss": (looks, 2**20 * (300 + looks)), "time/step": np.linspace(0.01, 0.05, 300)},
        families={"weight_norm": {"fc.weight": (looks, 1.0 + looks)}},
        **model_facts("fc"),
        optimizers=[Optimizer(index=0, steps=300)],
    )
    diagnosis = diagnose(record)
    assert {"memory-growth", "step-time-drift", "weight-drift"} <= {s.name for s in diagnosis.signs}
    assert diagnosis.verdict == "healthy" and not diagnosis.causes


def test_a_name_is_declared_once() -> None:
    def other(record: Record) -> Iterator[Sign]:
        yield from ()

    other.__module__ = "somewhere.else"
    with pytest.raises(ValueError, match=r"flat-loss.*again in somewhere\.else"):
        sign("flat-loss")(other)


def test_share() -> None:
    assert [share(v, 1, 3) for v in (0, 1, 2, 3, 9)] == [0, 0, 0.5, 1, 1]
    assert share(-0.75, -0.5, -1.0) == 0.5


def test_a_sign_that_fails_does_not_take_the_others_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Record) -> list[Sign]:
        raise ZeroDivisionError("all losses are 0")

    record = make_record(series={"loss/train": np.full(200, 2.3)})
    names = {s.name for s in read_signs(record)}
    monkeypatch.setattr(signs_module, "_readers", lambda: {"val-rising": broken, **{n: r for n, r in READERS.items() if n != "val-rising"}})
    assert {s.name for s in read_signs(record)} == names - {"val-rising"}
    assert any("val-rising" in n.what and "all losses are 0" in n.why for n in diagnose(record).not_checked)


def test_every_sign_is_in_the_reference() -> None:
    reference = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    assert [name for name in sign_names() if f"| `{name}` |" not in reference] == []
