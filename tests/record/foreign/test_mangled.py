"""A mangled log gives records or a `SickbayError`: never another exception, a hang, or a verdict that crashes."""

from __future__ import annotations

import random
import time
from functools import cache
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from record.foreign.curves import SHAPES, draw
from record.foreign.styles import STYLES
from record.foreign.test_layouts import EPOCHS, TEXTS
from record.foreign.test_programs import PROGRAMS, REWARDS
from sickbay.conclude import diagnose
from sickbay.errors import SickbayError
from sickbay.record.foreign import read_log

GARBAGE = (
    b"\0",
    b"\xff\xfe",
    b"nan",
    b"1e999",
    b"1e308",
    b"-1e308",
    b"5e-324",
    b"-inf",
    b"{",
    b"[",
    b'"',
    b",",
    b";",
    b"\r",
    b"\n",
    b"\x1b[31m",
    b"loss",
    b"epoch",
    b"9" * 400,
    b"[" * 5000,
    b"\xf0\x9f\x98\x80",
    b"=",
    b"0x1p-3",
    b"\x80\x80\x80",
)
SECONDS = 5.0


@cache
def originals() -> dict[str, bytes]:
    """A small log of every style that is one file, and of all that other programs print."""
    import tempfile

    printed = {name: "\n".join(line(e) for e in EPOCHS) for name, line in (PROGRAMS | REWARDS).items()} | TEXTS
    found = {name: text.encode() for name, text in printed.items()}
    for name, write in STYLES.items():
        with tempfile.TemporaryDirectory() as folder:
            path = write(draw(SHAPES[len(name) % len(SHAPES)], 0, points=90 if "spikes" in name else 30), Path(folder))
            if path.is_file():
                found[name] = path.read_bytes()
    return found


def mangle(data: bytes, rng: random.Random) -> bytes:
    """One to four things that happen to files, and some that only happen to hostile ones."""
    for _ in range(rng.randint(1, 4)):
        at, end = sorted((rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)))
        kind = rng.randrange(8)
        if kind == 0:
            data = data[:at]
        elif kind == 1:
            data = data[at:]
        elif kind == 2:
            data = data[:at] + rng.choice(GARBAGE) + data[at:]
        elif kind == 3:
            data = data[:at] + bytes(rng.randrange(256) for _ in range(min(end - at, 50))) + data[end:]
        elif kind == 4:
            data = data[:at] + data[at:end] * 2 + data[end:]
        elif kind == 5:
            lines = data.split(b"\n")
            rng.shuffle(lines)
            data = b"\n".join(lines)
        elif kind == 6:
            data = data.replace(rng.choice((b"0", b"1", b"loss", b"epoch", b",", b":", b" ", b"step")), rng.choice(GARBAGE))
        else:
            data = bytes(b ^ (1 << rng.randrange(8)) if rng.random() < 0.003 else b for b in data)
        data = data[:200_000]
    return data


def survives(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    started = time.perf_counter()
    try:
        for record in read_log(path)[-3:]:
            for series in record.all_series.values():
                assert len(series.steps) == len(series.values)
                assert all(a < b for a, b in zip(series.steps, series.steps[1:], strict=False)), series.name
            diagnosis = diagnose(record)
            assert diagnosis.shapes
            assert not [n for n in diagnosis.not_checked if "bug" in n.why], diagnosis.not_checked
    except SickbayError as e:
        assert str(e)
    assert time.perf_counter() - started < SECONDS


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_mangled_logs_give_records_or_a_clear_error(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    survives(mangle(originals()[rng.choice(sorted(originals()))], rng), tmp_path / "log")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=300))
def test_any_bytes(data: bytes, tmp_path: Path) -> None:
    survives(data, tmp_path / "log")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet="loss epch:=,0123456789.-\n\t|[]{}\"'", max_size=300))
def test_any_text(text: str, tmp_path: Path) -> None:
    survives(text.encode(), tmp_path / "log")
