"""What goes in comes out: numbers, facts, events, sources."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sickbay import facts
from sickbay.facts import Facts
from sickbay.nouns import Place
from sickbay.record.reader import Record, read_record, with_facts
from sickbay.record.writer import EVENTS_PER_KIND, SOURCE_LIMIT, RecordWriter


def written(path: Path, **options: Any) -> RecordWriter:
    return RecordWriter(path, **options)


def test_series_and_families(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "a.sickbay")
    for step in range(10):
        names = ("loss/train", "lr") if step % 2 else ("loss/train",)
        writer.frame("pulse", step, names, [float(step), 0.5][: len(names)])
        writer.frame("grad_norm", step, ("a.weight", "b.weight"), np.array([step, -step], dtype=np.float64))
        if step > 6:  # a layer more from here on
            writer.frame("weight_norm", step, ("a", "b", "c"), [1.0, 2.0, 3.0])
        else:
            writer.frame("weight_norm", step, ("b", "a"), [2.0, 1.0])
        writer.frame("histogram", step, ("a", "b"), np.arange(8).reshape(2, 4) + step, 4)
    writer.close()
    record = read_record(tmp_path / "a.sickbay")
    assert record.damage == ()
    np.testing.assert_array_equal(record.series("loss/train").values, range(10))
    np.testing.assert_array_equal(record.series("lr").steps, [1, 3, 5, 7, 9])
    family = record.family("grad_norm")
    assert family.names == ("a.weight", "b.weight")
    np.testing.assert_array_equal(family.values, [[s, -s] for s in range(10)])
    weights = record.family("weight_norm")
    assert weights.names == ("b", "a", "c")
    np.testing.assert_array_equal(weights.values[0], [2, 1, np.nan])
    np.testing.assert_array_equal(weights.values[-1], [2, 1, 3])
    assert record.family("histogram").values.shape == (10, 2, 4)
    np.testing.assert_array_equal(record.family("histogram").values[3, 1], [7, 8, 9, 10])


def test_what_was_never_recorded_is_empty(tmp_path: Path) -> None:
    RecordWriter(tmp_path / "a.sickbay").close()
    record = read_record(tmp_path / "a.sickbay")
    assert len(record.series("loss/train")) == 0
    assert record.series("loss/train").name == "loss/train"
    assert record.family("grad_norm").values.shape == (0, 0)
    assert record.series_like("loss/train") == []
    assert record.events("anything") == ()
    assert record.facts == Facts()


def test_series_like(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "a.sickbay")
    writer.frame("pulse", 0, ("lr", "lr@1", "lr@12", "lrx", "loss"), [1.0, 2.0, 3.0, 4.0, 5.0])
    writer.close()
    assert [s.name for s in read_record(tmp_path / "a.sickbay").series_like("lr")] == ["lr", "lr@1", "lr@12"]


def test_nan_and_infinity_survive(tmp_path: Path) -> None:
    values = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-42, 3.4e38]
    writer = RecordWriter(tmp_path / "a.sickbay")
    for i, value in enumerate(values):
        writer.frame("pulse", i, ("loss/train",), [value])
        writer.frame("grad_norm", i, ("w",), np.array([value], dtype=np.float32))
    writer.event(0, "nonfinite-loss", {"value": math.nan, "other": math.inf})
    writer.fact("run", facts.Run(seconds=math.inf, training_seconds=math.nan))
    writer.close()
    record = read_record(tmp_path / "a.sickbay")
    for seen in (record.series("loss/train").values, record.family("grad_norm").values[:, 0]):
        np.testing.assert_array_equal(seen, np.array(values, np.float32).astype(np.float64))
        assert np.signbit(seen[4])
    assert record.facts.run.seconds == math.inf
    assert math.isnan(record.facts.run.training_seconds)
    assert math.isnan(record.events("nonfinite-loss")[0].data["value"])
    assert record.damage == ()


def test_numbers_beyond_single_precision_become_infinite(tmp_path: Path) -> None:
    """A loss of 1e300 must not be the reason that recording stops."""
    writer = RecordWriter(tmp_path / "a.sickbay")
    writer.frame("pulse", 0, ("loss/train", "x"), [1e300, -1e300])
    with np.errstate(over="ignore"):
        writer.frame("f", 0, ("w",), np.array([1e300]))
    writer.close()
    record = read_record(tmp_path / "a.sickbay")
    assert record.series("loss/train").values[0] == math.inf
    assert record.series("x").values[0] == -math.inf
    assert record.family("f").values[0, 0] == math.inf


def test_the_last_word_on_a_step_counts(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "a.sickbay")
    for step, value in [(0, 1.0), (1, 2.0), (1, 3.0), (0, 9.0), (2, 4.0)]:
        writer.frame("pulse", step, ("x",), [value])
    writer.close()
    series = read_record(tmp_path / "a.sickbay").series("x")
    np.testing.assert_array_equal(series.steps, [0, 1, 2])
    np.testing.assert_array_equal(series.values, [9, 3, 4])


PLACE = Place("/x/ü.py", 3, "layer", "loss = f(x)  # ✓")
EVERYTHING: dict[str, Any] = {
    "environment": facts.Environment(torch="2.9", world_size=4),
    "run": facts.Run(script="ü.py", argv=("--a", "b"), steps=12, exit="SIGKILL", finished=True),
    "models": (facts.Model(name="Net", layers=(facts.Layer(name="", kind="Net", leaf=False), facts.Layer(name="a", kind="Linear"))),),
    "parameters": (facts.Parameter(name="a.weight", shape=(3, 4), size=12, optimizer=0, reached=False, moved=True, initial_mean=0.0),),
    "optimizers": (facts.Optimizer(index=0, groups=(facts.OptimizerGroup(lr=0.0),), built_at=PLACE, stale_first=0, stale_parameters=("p",)),),
    "loaders": (facts.Loader(index=0, batch_size=None, iterated_at=PLACE),),
    "losses": (
        facts.Loss(
            index=0,
            heads=(facts.Head(function="mse_loss", called_at=PLACE, fed_by=(facts.Op(name="relu", shape=(2,)),)),),
            squashed=(facts.LogitsThroughSoftmax(outer=facts.Op(name="a"), inner=facts.Op(name="b", place=PLACE)),),
            broadcasts=(facts.Broadcast(op="sub", left=(3, 1), right=(3,), result=(3, 3)),),
            cuts=(facts.Cut(op="detach", place=PLACE, parameters=("x",)),),
        ),
    ),
    "timeline": facts.Timeline(patterns=(facts.CallPattern(calls=("step",), count=2),), places={"step": PLACE}, counts={"step": 2}),
    "modes": facts.Modes(sensitive=("drop",), training_in_eval_first=0),
    "nonfinite": (facts.NonfiniteBatch(role="input", rows=(1, 2), shape=(3, 4)),),
    "labels": facts.LabelOrder(classes=3, histogram=(1, 2, 3), sequential_sampler=False),
    "inputs": (facts.InputScale(mean=1.5, shape=(2, 3)),),
    "evaluations": (facts.Evaluation(index=0, loader=0),),
    "crash": facts.Crash(kind="ValueError", message="ü\n✗", place=PLACE),
    "limits": (facts.Limit(what="a", why="b"),),
}


def test_every_fact_survives(tmp_path: Path) -> None:
    """0 and False are not the same as unknown."""
    assert set(EVERYTHING) <= set(Facts.__dataclass_fields__)
    writer = RecordWriter(tmp_path / "a.sickbay")
    for name, value in EVERYTHING.items():
        writer.fact(name, value)
    writer.close()
    record = read_record(tmp_path / "a.sickbay")
    assert record.damage == ()
    assert record.facts == Facts(**EVERYTHING)
    changed = with_facts(record, crash=None)
    assert changed.facts.crash is None
    assert record.facts.crash is not None


def test_facts_of_a_newer_minor_version_are_read_as_far_as_known(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "a.sickbay")
    writer.fact("crash", {"kind": "E", "brand_new_field": 1})
    writer.fact("brand_new_fact", [1, 2, 3])
    writer.fact("modes", {"training_forwards": "many"})
    writer.close()
    record = read_record(tmp_path / "a.sickbay")
    assert record.facts.crash == facts.Crash(kind="E")
    assert record.facts.modes == facts.Modes()
    assert len(record.damage) == 1
    assert "modes" in record.damage[0]


def test_events_are_kept_up_to_a_limit_and_then_counted(tmp_path: Path) -> None:
    writer = RecordWriter(tmp_path / "a.sickbay")
    for i in range(1000):
        writer.event(i, "clipped", {"i": i, "place": PLACE, "number": np.float32(0.5), "set": {"b", "a"}, "odd": object})
    writer.event(5, "other", {})
    writer.close()
    record = read_record(tmp_path / "a.sickbay")
    events = record.events("clipped")
    assert [e.step for e in events] == list(range(EVENTS_PER_KIND))
    assert record.event_counts == {"clipped": 1000, "other": 1}
    assert events[3].data["place"]["line"] == 3
    assert events[3].data["set"] == ["a", "b"]
    assert events[3].data["number"] == 0.5


def test_sources_are_kept_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "ü.py").write_text("x = 1  # ✓\n", encoding="utf-8")
    (tmp_path / "latin.py").write_bytes("# ü".encode("latin-1"))
    (tmp_path / "long.py").write_text("a" * (SOURCE_LIMIT + 5))
    writer = RecordWriter(tmp_path / "a.sickbay")
    for name in ("ü.py", "latin.py", "long.py", "absent.py"):
        writer.source(str(tmp_path / name))
    writer.source("<stdin>")
    writer.flush()
    (tmp_path / "ü.py").write_text("changed")
    writer.source(str(tmp_path / "ü.py"))
    writer.close()
    sources = read_record(tmp_path / "a.sickbay").sources
    assert sources[str(tmp_path / "ü.py")] == "x = 1  # ✓\n"
    assert sources[str(tmp_path / "latin.py")] == "# \N{REPLACEMENT CHARACTER}"
    assert len(sources[str(tmp_path / "long.py")]) == SOURCE_LIMIT
    assert len(sources) == 3


@pytest.mark.parametrize("name", ["läufe/größe ✓.sickbay", "with space/a b.sickbay", "50%20/a?mode=rw#x.sickbay", "'quotes\"/a'.sickbay"])
def test_paths_of_every_kind(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    writer = RecordWriter(path)
    writer.frame("pulse", 0, ("x",), [1.0])
    writer.flush()
    assert len(read_record(path).series("x")) == 1  # while it grows
    writer.close()
    assert len(read_record(str(path)).series("x")) == 1
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_reading_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.sickbay"
    writer = RecordWriter(path)
    writer.frame("pulse", 0, ("x",), [1.0])
    writer.close()
    before = path.read_bytes()
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert len(read_record(path).series("x")) == 1
    finally:
        tmp_path.chmod(0o700)
    assert path.read_bytes() == before


@settings(max_examples=40)
@given(
    frames=st.lists(
        st.tuples(
            st.sampled_from(["pulse", "f", "g"]),
            st.integers(-5, 60),
            st.lists(st.sampled_from("abcdé"), min_size=1, max_size=4, unique=True),
            st.floats(width=32),
            st.booleans(),
        ),
        max_size=30,
    )
)
def test_any_frames_in_any_order(frames: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("frames") / "a.sickbay"
    writer = RecordWriter(path)
    told: dict[tuple[str, str, int], float] = {}
    for family, step, names, value, flush in frames:
        writer.frame(family, step, tuple(names), [value] * len(names))
        told |= {(family, name, step): value for name in names}
        if flush:
            writer.flush()
    writer.close()
    record: Record = read_record(path)
    seen: dict[tuple[str, str, int], float] = {}
    for name, series in record.all_series.items():
        assert (np.diff(series.steps) > 0).all()
        seen |= {("pulse", name, int(s)): v for s, v in zip(series.steps, series.values, strict=True)}
    for name, family in record.families.items():
        assert (np.diff(family.steps) > 0).all()
        for j, column in enumerate(family.names):
            for i, step in enumerate(family.steps):
                if (name, column, int(step)) in told:
                    seen[name, column, int(step)] = family.values[i, j]
                else:
                    assert math.isnan(family.values[i, j])
    assert seen.keys() == told.keys()
    if all(f[1] >= f2[1] for f2, f in itertools.pairwise(frames)) and len({(f[0], f[1]) for f in frames}) == len(frames):
        for key, value in told.items():
            np.testing.assert_equal(seen[key], value)
