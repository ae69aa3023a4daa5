"""The line that made NaN or infinity, and its edit."""

from __future__ import annotations

import math
from dataclasses import replace
from textwrap import dedent

import pytest

from causes.scripts import added
from sickbay.facts import Loader, NonfiniteBatch, Timeline
from sickbay.nouns import Suspicion
from sickbay.record.reader import Record
from sickbay.testing import assert_suspects, falling, make_record, place_in

LOOP = """
for x, y in DataLoader(data, batch_size=32):
    loss = loss_fn(net(x), y)
    loss.backward()
"""


def record_of(script: str, role: str, kind: str, rows: int, loop: str = LOOP, **more: object) -> Record:
    text = dedent(script).lstrip("\n") + loop
    losses = falling(2, 0.5, 100)
    losses[20:] = math.nan
    place = place_in(text, "net(x)")
    given = {"variable": "x" if role == "input" else "y", "shape": (32, 8), "columns_total": 8, "columns": (2,), "place": place} | more
    fact = NonfiniteBatch(role=role, kind=kind, step=20, count=3, total=640, rows=tuple(range(rows)), loss_nonfinite=True, **given)  # type: ignore[arg-type]
    return make_record(
        series={"loss/train": losses}, nonfinite=[fact], sources={"train.py": text}, timeline=Timeline(places={"forward": place_in(text, "net(x)")})
    )


def suspected(script: str, kind: str, role: str = "input", rows: int = 2, **more: object) -> Suspicion:
    return assert_suspects(record_of(script, role, kind, rows, **more), f"nonfinite-{role}")  # type: ignore[arg-type]


def line(suspicion: Suspicion) -> str:
    return suspicion.place.text if suspicion.place is not None else ""


DATASET = """
    class Clips(Dataset):
        def __init__(self, clips, labels):
            self.clips, self.labels = (clips - clips.mean()) / clips.std(), labels

        def __getitem__(self, i):
            clip = self.clips[i]
            {}
            return clip, self.labels[i]

    data = Clips(*load())
"""


@pytest.mark.parametrize(
    ("made", "kind", "mended"),
    [
        ("clip = clip / clip.abs().max()", "nan", "clip = clip / (clip.abs().max() + 1e-8)"),
        ("clip = clip.div(clip.norm())", "nan", "clip = clip.div(clip.norm() + 1e-8)"),
        ("clip /= clip.sum()", "nan", "clip /= (clip.sum() + 1e-8)"),
        ("clip = (clip - clip.min()) / (clip.max() - clip.min())", "nan", "clip = (clip - clip.min()) / (clip.max() - clip.min() + 1e-8)"),
        ("clip = torch.log(clip.abs())", "-inf", "clip = torch.log1p(clip.abs())"),
        ("clip = torch.log(clip[1:] / clip[:-1])", "inf", "clip = torch.log((clip[1:] + 1) / (clip[:-1] + 1))"),
        ("clip = torch.acos(clip)", "nan", "clip = torch.acos(clip.clamp(-1, 1))"),
        ("clip = np.arccos(clip * 2)", "nan", "clip = np.arccos(np.clip(clip * 2, -1, 1))"),
        ("clip = 40.0 / clip", "inf", ""),
        ("clip = clip.half()", "inf", ""),
        ("clip = np.corrcoef(clip)", "nan", ""),
        ("clip = torch.sqrt(clip - 3)", "nan", ""),
    ],
)
def test_the_operation_is_named_and_mended(made: str, kind: str, mended: str) -> None:
    found = suspected(DATASET.format(made), kind)
    assert line(found) == made and found.place is not None and found.place.guess
    assert [text.strip() for text in added(found.fix.diff)] == ([mended] if mended else [])
    assert "probably" in found.evidence[0].text


@pytest.mark.parametrize(
    "guarded",
    [
        "clip = clip / (clip.abs().max() + 1e-8)",
        "clip = clip / clip.std().clamp_min(1e-3)",
        "clip = clip / np.maximum(clip.std(), 1)",
        "clip = clip / clip.max() if clip.max() > 0 else clip",
        "clip = clip / SPREAD",
        "clip = clip / len(clip)",
        "clip = np.where(clip.max() > 0, clip / clip.max(), 0)",
        "clip = clip / math.sqrt(2)",
        "clip = torch.log(clip + 1e-6)",
        "clip = clip[clip / clip.sum() > 0.1]",
        "clip = clip + rng.normal(0, 1 / clip.std())",
        "clip = torch.exp(-((clip - 3) / clip) ** 2)",
    ],
)
def test_guards_and_numbers_are_not_named(guarded: str) -> None:
    assert line(suspected(DATASET.format(guarded), "nan")) == "loss = loss_fn(net(x), y)"


def test_a_statistic_of_all_samples_breaks_all_of_them() -> None:
    named = "self.clips, self.labels = (clips - clips.mean()) / clips.std(), labels"
    assert line(suspected(DATASET.format("pass"), "nan", rows=16)) == named
    assert line(suspected(DATASET.format("pass"), "nan", rows=2)) == "loss = loss_fn(net(x), y)"


def test_the_other_side_is_not_looked_at() -> None:
    script = """
        table = load()
        target = np.log(table[:, 0])
        inputs = table[:, 1:] / table[:, 1:].sum(1, keepdims=True)
        data = TensorDataset(torch.tensor(inputs), torch.tensor(target))
    """
    assert line(suspected(script, "-inf", "target")) == "target = np.log(table[:, 0])"
    assert line(suspected(script, "nan", "input")) == "inputs = table[:, 1:] / table[:, 1:].sum(1, keepdims=True)"


def test_empty_cells_are_read_as_nan() -> None:
    script = """
        table = np.genfromtxt("rents.csv", delimiter=",")
        data = TensorDataset(torch.tensor(table[:, 1:]), torch.tensor(table[:, 0]))
    """
    assert line(suspected(script, "nan")).startswith("table = np.genfromtxt")
    assert line(suspected(script, "inf")) == "loss = loss_fn(net(x), y)"


MARKED = """
    gauge = load()
    gauge[gauge < 0] = np.nan
    target = gauge[13:]
    data = TensorDataset(inputs, torch.tensor(target))
"""


def test_what_was_marked_as_missing_has_to_be_taken_out_behind_it() -> None:
    assert line(suspected(MARKED, "nan", "target", columns_total=1)) == "target = gauge[13:]"


def test_a_loss_has_to_leave_out_single_missing_targets() -> None:
    assert line(suspected(MARKED, "nan", "target", columns_total=4)) == "loss = loss_fn(net(x), y)"


def test_an_object_that_is_called_and_a_forward_are_entered() -> None:
    script = """
        class Scale:
            def fit(self, x):
                self.mean, self.std = x.mean(0), x.std(0)
                return self

            def __call__(self, x):
                return (x - self.mean) / self.std

        class Net(nn.Module):
            def forward(self, inside):
                return self.layers(inside)

        scale = Scale().fit(table)
        data = TensorDataset(scale(table), labels)
    """
    where = place_in(dedent(script).lstrip("\n"), "self.layers(inside)")
    found = suspected(script, "nan", rows=16, variable="inside", place=where)
    assert line(found) == "return (x - self.mean) / self.std"


def test_a_function_that_collates_is_entered() -> None:
    script = """
        def collate(rows):
            xs, ys = zip(*rows)
            xs = torch.stack(xs)
            return xs / xs.sum(1, keepdim=True), torch.stack(ys)
    """
    loop = LOOP.replace("batch_size=32", "collate_fn=collate")
    assert line(suspected(script, "nan", loop=loop)) == "return xs / xs.sum(1, keepdim=True), torch.stack(ys)"


@pytest.mark.parametrize(
    "script",
    ["data = (lambda: data)()\n", "data = [data[i] for i in range(3)] or {**data}\n", "data = x = y = x / x / y\n", "data = " + "-" * 300 + "1\n"],
)
def test_odd_scripts_do_no_harm(script: str) -> None:
    assert suspected(script, "nan").place is not None


def test_samples_that_are_made_in_another_file() -> None:
    other = dedent(DATASET.format("clip = clip / clip.max()"))
    record = record_of("from clips import data\n", "input", "nan", 2)
    loader = Loader(index=0, role="train", item_at=replace(place_in(other, "def __getitem__"), file="clips.py"))
    sources = dict(record.sources) | {"clips.py": other}
    both = make_record(series={"loss/train": [1.0] * 20 + [math.nan] * 9}, nonfinite=list(record.facts.nonfinite), sources=sources, loaders=[loader])
    found = assert_suspects(both, "nonfinite-input")
    assert line(found) == "clip = clip / clip.max()" and found.place is not None and found.place.file == "clips.py"


def test_what_stands_inside_of_each_other_is_not_mended_at_once() -> None:
    assert not added(suspected(DATASET.format("clip = clip / (clip.max() / clip.std())"), "nan").fix.diff)


def test_what_a_parameter_is_by_default_is_a_number() -> None:
    script = """
        def scaled(x, spread=4.0):
            return x / spread

        table = load()
        data = TensorDataset(scaled(table), labels)
    """
    assert line(suspected(script, "inf")) == "loss = loss_fn(net(x), y)"
    assert line(suspected(script.replace("scaled(table)", "scaled(table, other)"), "inf")) == "return x / spread"


def test_a_spread_that_a_function_is_given() -> None:
    script = """
        def scaled(x, spread):
            return x / spread

        table = load()
        data = TensorDataset(scaled(table, table.std(0)), labels)
    """
    assert line(suspected(script, "nan", rows=16)) == "return x / spread"
    assert line(suspected(script, "nan", rows=2)) == line(suspected(script, "inf")) == "loss = loss_fn(net(x), y)"
