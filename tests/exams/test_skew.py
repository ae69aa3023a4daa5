"""`sickbay skew`: every map is found when it is there, and nothing is found when it is not."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sickbay
from sickbay.cli import cli
from sickbay.errors import UsageError
from sickbay.exams.skew import compare
from sickbay.observe.maps.explained import explained

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (12, 3, 10, 8)).astype(np.uint8)
UNIT = (IMAGES / 255).astype(np.float32)
TABLE = (RNG.normal(size=(80, 6)) * [1, 5, 20, 1, 3, 0.1] + [0, 3, 90, 1, 0, 7]).astype(np.float32)
SCALED = ((TABLE - TABLE.mean(0)) / TABLE.std(0)).astype(np.float32)
MEAN, STD = np.float32([0.485, 0.456, 0.406])[:, None, None], np.float32([0.229, 0.224, 0.225])[:, None, None]
IDS = RNG.integers(1, 40, (50, 20))


def padded(side: str) -> np.ndarray:
    out = np.zeros((50, 24), np.int64)
    for i, n in enumerate(RNG.integers(5, 20, 50)):
        rows = IDS[i, :n]
        out[i, slice(0, n) if side == "right" else slice(24 - n, 24)] = rows
    return out


RNG = np.random.default_rng(7)
RIGHT = padded("right")
RNG = np.random.default_rng(7)
LEFT = padded("left")

MAPS: dict[str, tuple[Any, Any, str]] = {
    "divided": (IMAGES, UNIT, "serving is divided by 255, training is not"),
    "not divided": (UNIT, IMAGES.astype(np.float32), "training is divided by 255, serving is not"),
    "to -1...1": (UNIT, 2 * UNIT - 1, "serving is scaled to -1...1"),
    "times": (TABLE, TABLE * 3, "serving is training times 3"),
    "plus": (TABLE, TABLE + 2, "serving is training plus 2"),
    "channels last": (UNIT, UNIT.transpose(0, 2, 3, 1), "channels come last instead of first"),
    "channels first": (UNIT.transpose(0, 2, 3, 1), UNIT, "channels come first instead of last"),
    "BGR": (UNIT, UNIT[:, ::-1], "the channels are reversed (RGB and BGR)"),
    "mirrored": (UNIT, UNIT[..., ::-1], "axis 3 is reversed"),
    "BGR and not divided": (UNIT, IMAGES[:, ::-1].astype(np.float32), "the channels are reversed (RGB and BGR), training is divided by 255"),
    "HWC and not divided": (UNIT, IMAGES.transpose(0, 2, 3, 1), "channels come last instead of first (CHW to HWC), training is divided by 255"),
    "not normalised": ((UNIT - MEAN) / STD, UNIT, "training is standardised, serving is not"),
    "other statistics": (SCALED, ((TABLE - TABLE[:9].mean(0)) / TABLE[:9].std(0)).astype(np.float32), "scaled with other statistics"),
    "not standardised": (SCALED, TABLE, "training is standardised, serving is not"),
    "columns": (TABLE, TABLE[:, [1, 0, 2, 5, 4, 3]], "the columns are in another order"),
    "whole": (TABLE, np.trunc(TABLE), "cut to whole numbers"),
    "clipped": (TABLE, np.clip(TABLE, -2, 60), "serving is cut off below -2 and above 60"),
    "log": (np.abs(TABLE) + 1, np.log(np.abs(TABLE) + 1), "serving takes the logarithm"),
    "log1p": (np.abs(TABLE), np.log1p(np.abs(TABLE)), "serving takes the logarithm of 1 + x"),
    "flat": (UNIT, UNIT.reshape(12, -1), "it is flat"),
    "ids": (IDS, (IDS * 7) % 41, "the same ids have other numbers"),
    "padding": (RIGHT, LEFT, "padding is on the other side"),
    "cut": (IDS, IDS[:, :12], "serving lacks 8 of 20 positions at the end"),
    "filled": (np.where(TABLE > 80, np.nan, TABLE), np.where(TABLE > 80, 0, TABLE), "serving fills missing numbers"),
}


@pytest.mark.parametrize("name", MAPS)
def test_maps_are_found(name: str) -> None:
    a, b, says = MAPS[name]
    found = sickbay.skew(a, b).found
    assert found.sameness == "differs" and found.differ and found.first.startswith("sample ")
    assert says in found.explained


def test_eight_bits_on_the_way() -> None:
    x = np.random.default_rng(1).random((9, 30))
    assert "rounded to 8 bits" in sickbay.skew(x, np.round(x * 255) / 255).found.explained


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_is_the_same(dtype: type) -> None:
    x = TABLE.astype(dtype)
    assert sickbay.skew(x, x.copy()).found.sameness == "same"
    assert not sickbay.skew(x, x.copy())
    near = ((x.astype(np.float64) - 1) / 3 * 3 + 1).astype(dtype)
    assert sickbay.skew(x, near).found.sameness in ("same", "rounding")
    holes = np.where(x > 1, np.nan, x)
    assert sickbay.skew(holes, holes.copy()).found.sameness == "same"


def test_another_float_is_rounding_and_whole_numbers_are_not() -> None:
    assert sickbay.skew(TABLE, TABLE.astype(np.float64)).found.sameness == "rounding"
    assert sickbay.skew(TABLE, TABLE.astype(np.float16)).found.sameness == "rounding"
    found = sickbay.skew(IMAGES, IMAGES.astype(np.float32)).found
    assert found.sameness == "differs" and "the numbers are the same, but training has uint8 and serving float32" in found.notes


def test_what_no_map_explains_is_not_explained() -> None:
    found = sickbay.skew(TABLE, TABLE + RNG.normal(size=TABLE.shape).astype(np.float32)).found
    assert found.sameness == "differs" and found.explained == "" and all(f.explained == "" for f in found.features)
    blurred = (UNIT + np.roll(UNIT, 1, 3) * 0.1).astype(np.float32)
    assert any("resize" in n for n in sickbay.skew(UNIT, blurred).found.notes)


numbers = hnp.arrays(np.float64, (12, 4), elements=st.floats(-1e3, 1e3, width=32), unique=True)


@given(numbers, st.floats(0.01, 100), st.floats(-100, 100))
def test_a_factor_and_a_shift_are_always_found(x: np.ndarray, factor: float, shift: float) -> None:
    b = x * factor + shift
    if sickbay.skew(x, b).found.sameness == "differs":
        assert explained(x, b) is not None


@given(numbers, st.permutations(range(4)))
def test_moved_columns_are_always_found(x: np.ndarray, order: list[int]) -> None:
    found = sickbay.skew(x, x[:, order]).found
    if found.sameness == "differs":
        assert found.explained


@given(numbers, st.integers(0, 11), st.integers(0, 3))
def test_the_first_difference_is_where_it_is(x: np.ndarray, row: int, column: int) -> None:
    b = x.copy()
    b[row, column] += 1e4
    found = sickbay.skew(x, b).found
    assert found.first == f"sample {row}, feature {column}" and found.differ == 1 and found.values is None
    assert found.features[0].name == f"feature {column}"
    shown = sickbay.skew(x, b, values=True).found.values
    assert shown == (x[row, column], b[row, column])


def test_functions_are_given_copies_and_leave_random_numbers_alone() -> None:
    samples = [np.arange(6.0) + i for i in range(20)]

    def train(x: np.ndarray) -> np.ndarray:
        x /= 10  # in place
        return x

    state = random.getstate()
    found = sickbay.skew(train, lambda x: x, samples).found
    assert "times 10" in found.explained and samples[3][0] == 3.0 and random.getstate() == state
    assert not sickbay.skew(train, lambda x: x / 10, samples)
    assert repr(sickbay.skew(train, lambda x: x, samples)).startswith("<sickbay skew: 20 of 20 samples differ")


def test_a_random_function_cannot_be_compared() -> None:
    found = sickbay.skew(lambda x: x + random.random(), lambda x: x, [np.zeros(3)] * 10).found
    assert found.sameness == "random" and "training makes different tensors" in found.notes[0]
    assert sickbay.skew(lambda x: x + random.random(), lambda x: x, [np.zeros(3)] * 10)


def test_dicts_and_samples_of_several_shapes() -> None:
    samples = list(range(3, 12))
    found = sickbay.skew(lambda n: {"ids": np.arange(n), "n": n}, lambda n: {"ids": np.arange(n), "n": n}, samples).found
    assert found.sameness in ("same", "rounding") and not found.differ
    found = sickbay.skew(lambda n: {"ids": np.arange(n), "n": n}, lambda n: {"ids": np.arange(n), "m": n}, samples).found
    assert found.sameness == "differs" and found.notes == ("serving lacks n", "training lacks m")
    found = sickbay.skew(lambda n: np.arange(n), lambda n: np.arange(n + (n == 5)), samples).found
    assert found.first == "sample 2: shape (5,) and (6,)"


def test_rows_in_another_order() -> None:
    order = np.random.default_rng(0).permutation(80)
    assert sickbay.skew(TABLE, TABLE[order]).found.explained == "the same samples are in another order"


def test_wrong_arguments_are_said() -> None:
    with pytest.raises(UsageError, match="need samples"):
        sickbay.skew(len, len)
    with pytest.raises(UsageError, match="80 samples and serving 79"):
        sickbay.skew(TABLE, TABLE[:-1])
    with pytest.raises(UsageError, match="fails on sample 0: ZeroDivisionError"):
        sickbay.skew(lambda x: 1 / 0, lambda x: x, [1])
    with pytest.raises(UsageError, match="nothing has the same name"):
        compare({"a": TABLE, "b": TABLE}, {"c": TABLE, "d": TABLE})


Call = Callable[..., Result]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.chdir(tmp_path)
    return lambda *words: CliRunner().invoke(cli, ["skew", *words])


def test_files(call: Call, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    np.save("a.npy", UNIT)
    np.savez("b.npz", x=IMAGES)
    torch.save(torch.from_numpy(UNIT), "c.pt")
    torch.save([torch.from_numpy(x) for x in UNIT], "d.pt")
    assert call("a.npy", "c.pt").exit_code == call("d.pt", "a.npy").exit_code == 0
    done = call("a.npy", "b.npz", "--json", "s.json")
    assert done.exit_code == 1 and "training is divided by 255, serving is not" in " ".join(done.output.split())
    assert max(map(len, done.output.splitlines())) <= 80
    document = json.loads((tmp_path / "s.json").read_text())
    assert document["schema"] == "sickbay/skew/1" and document["cure"] == "x = x / 255" and document["values"] is None
    assert call("a.npy", "nothing.npy").exit_code == call("a.npy", "x.parquet").exit_code == call("a.npy", "a.npy", "--samples").exit_code == 2


def test_tables(call: Call) -> None:
    rows = [f"{i},{2 * i + 0.5},{'North' if i % 2 else 'South'}" for i in range(30)]
    Path("a.csv").write_text("age,pay,site\n" + "\n".join(rows))
    Path("b.csv").write_text("age,pay,site\n" + "\n".join(r.lower() for r in rows))
    Path("c.csv").write_text("pay,age,site\n" + "\n".join(",".join((r.split(",")[1], r.split(",")[0], r.split(",")[2])) for r in rows))
    assert call("a.csv", "a.csv").exit_code == 0
    assert "capital letters" in call("a.csv", "b.csv").output
    assert "another order" in call("a.csv", "c.csv").output


def test_no_value_of_a_sample_is_shown_unasked(call: Call, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(50, 3))
    x[4, 1] = 123456.789
    y = x.copy()
    y[4, 1] = 987654.321
    np.save("a.npy", x)
    np.save("b.npy", y)
    told = call("a.npy", "b.npy", "--json", "s.json").output + (tmp_path / "s.json").read_text()
    assert "123456" not in told and "123,456" not in told and "987654" not in told and "987,654" not in told
    assert "123,457 in training, 987,654 in serving" in call("a.npy", "b.npy", "--values").output


def test_functions_by_name(call: Call) -> None:
    Path("given_skew.py").write_text(
        "def train(x):\n    return [v / 255 for v in x]\n\ndef serve(x):\n    return x\n\ndata = [[i, i + 1, 3 * i] for i in range(9)]\n"
    )
    done = call("given_skew.py:train", "given_skew.py:serve", "--samples", "given_skew.py:data")
    assert done.exit_code == 1 and "training is divided by 255" in " ".join(done.output.split())
    assert "give two files" in call("given_skew.py:train", "given_skew.py:serve").output
