"""A scan that Ctrl-C stops keeps what it has, and goes on from there where the loader draws the same order again."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import sickbay
from scan.loaders import Items, split
from sickbay.exams.scan import resume
from sickbay.exams.scan.asked import EXAMPLES
from sickbay.scans import ScanResult

STOP_AT = 500


def loader(seed: int | None, stop: list[int], shuffle: bool = True) -> Any:
    x, y, *_ = split()
    x[[3, 900], 5] = float("nan")
    seen: list[int] = []

    def make(_: Any, i: int) -> Any:
        seen.append(i)
        if len(seen) in stop:
            os.kill(os.getpid(), signal.SIGINT)
        return torch.from_numpy(x[i]), int(y[i])

    generator = torch.Generator().manual_seed(seed) if seed is not None else None
    made = DataLoader(Items(make, len(x)), 32, shuffle=shuffle, generator=generator)
    made.seen = seen
    return made


def facts(result: ScanResult) -> Any:
    train = result.seen.train
    bad = sorted(b.index or 0 for b in train.tensors[0].bad)
    return train.rows, train.batches, train.histogram, bad, train.tensors[0].minimum, train.tensors[0].maximum, train.again


@pytest.mark.parametrize("shuffle", [True, False])
def test_it_goes_on_from_that_batch(tmp_path: Path, shuffle: bool) -> None:
    file = tmp_path / "scan.stopped"
    whole = sickbay.scan(loader(1, [], shuffle))
    first = loader(1, [STOP_AT], shuffle)
    stopped = sickbay.scan(first, state=file)
    assert stopped.seen.train.ended_by == "interrupted" and stopped.seen.train.rows == 512 and file.exists()
    assert "STOPPED" in str(stopped) or stopped.wrong
    second = loader(1, [], shuffle)
    result = sickbay.scan(second, state=file)
    assert result.seen.train.resumed_at == 16 and facts(result) == facts(whole)
    rest, again = second.seen[: 1400 - 512], second.seen[1400 - 512 :]
    assert set(rest).isdisjoint(first.seen[:512]) and set(again) < set(first.seen[:512]) and not file.exists()


def test_another_order_is_read_from_the_start(tmp_path: Path) -> None:
    file = tmp_path / "scan.stopped"
    sickbay.scan(loader(1, [STOP_AT]), state=file)
    result = sickbay.scan(loader(2, []), state=file)
    assert result.seen.train.resumed_at == 0 and result.seen.train.rows == 1400
    assert any("draws another order" in n.why for n in result.seen.not_checked)


def test_a_stream_is_read_from_the_start(tmp_path: Path) -> None:
    def stream(stop: bool) -> Iterator[Any]:
        for i in range(20):
            if stop and i == 9:
                os.kill(os.getpid(), signal.SIGINT)
            yield torch.rand(8, 3), torch.arange(8) % 2

    file = tmp_path / "scan.stopped"
    assert sickbay.scan(stream(True), state=file).seen.train.batches == 10
    assert sickbay.scan(stream(False), state=file).seen.train.batches == 20


def test_a_list_of_batches_goes_on(tmp_path: Path) -> None:
    class Batches(list):  # type: ignore[type-arg]
        def __iter__(self) -> Iterator[Any]:
            for i, batch in enumerate(list.__iter__(self)):
                if i == 6:
                    os.kill(os.getpid(), signal.SIGINT)
                yield batch

    file = tmp_path / "scan.stopped"
    made = [(torch.rand(8, 3), torch.arange(8) % 2) for _ in range(12)]
    sickbay.scan(Batches(made), state=file)
    assert sickbay.scan(made, state=file).seen.train.resumed_at == 7


def test_the_first_loader_is_not_read_twice(tmp_path: Path) -> None:
    file = tmp_path / "scan.stopped"
    sickbay.scan(loader(1, []), loader(None, [STOP_AT], shuffle=False), state=file)
    train = loader(1, [])
    result = sickbay.scan(train, loader(None, [], shuffle=False), state=file)
    assert len(train.seen) == len(set(train.seen)) <= EXAMPLES  # only for the questions about labels
    assert result.seen.val is not None and result.seen.val.resumed_at == 16
    assert result.seen.exact is not None and result.seen.exact.found > 1300


@pytest.mark.parametrize("shuffle", [True, False])
def test_labels_are_asked_about_in_all_samples(tmp_path: Path, shuffle: bool) -> None:
    """Those that the first scan had chosen are loaded again: it kept their indices."""
    file = tmp_path / "scan.stopped"
    whole = sickbay.scan(loader(1, [], shuffle)).seen
    sickbay.scan(loader(1, [STOP_AT], shuffle), state=file)
    result = sickbay.scan(loader(1, [], shuffle), state=file).seen
    assert result.probe is not None and whole.probe is not None and result.probe.relation is not None and whole.probe.relation is not None
    assert result.probe.relation.rows == whole.probe.relation.rows and abs(result.probe.relation.score - whole.probe.relation.score) < 0.02
    assert not any("labels" in n.what for n in result.not_checked)


def test_a_loader_that_was_finished_is_asked_too(tmp_path: Path) -> None:
    file = tmp_path / "scan.stopped"
    sickbay.scan(loader(1, []), loader(None, [STOP_AT], shuffle=False), state=file)
    result = sickbay.scan(loader(1, []), loader(None, [], shuffle=False), state=file).seen
    assert result.probe is not None and result.probe.relation is not None and result.probe.relation.rows > 1000


def test_samples_that_cannot_be_loaded_again_are_told(tmp_path: Path) -> None:
    file = tmp_path / "scan.stopped"
    sickbay.scan(loader(1, [STOP_AT], shuffle=False), state=file)
    broken = loader(1, [], shuffle=False)
    take, broken.dataset.make = broken.dataset.make, None
    broken.dataset.make = lambda held, i: take(held, i) if i >= 512 else 1 / 0
    assert any("could not be loaded again (ZeroDivisionError)" in n.why for n in sickbay.scan(broken, state=file).seen.not_checked)


def test_no_sample_is_on_disk(tmp_path: Path) -> None:
    """All that is floating-point in the file are sums over many samples."""
    file = tmp_path / "scan.stopped"
    sickbay.scan(loader(1, [STOP_AT]), state=file)
    held = resume.load(file)
    assert (
        held is not None
        and not len(held.book.asked.examples.held)
        and not held.book.asked.pictures.count
        and not held.book.asked.texts.count
        and not held.book.waiting
    )


def test_a_file_of_somebody_else_runs_nothing(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {tmp_path / 'ran'}",)

    file = tmp_path / "scan.stopped"
    file.write_bytes(pickle.dumps((1, Evil())))
    assert resume.load(file) is None and not (tmp_path / "ran").exists()
    file.write_bytes(b"nonsense")
    assert resume.load(file) is None


def test_a_file_by_somebody_else_runs_nothing(tmp_path: Path) -> None:
    file = tmp_path / "scan.stopped"
    marker = tmp_path / "ran"
    command = f"touch {marker}"
    # What pickle writes for sickbay.exams.scan.resume's own `os`, attribute `system`, called with the command.
    program = b"\x80\x04\x8c\x19sickbay.exams.scan.resume\x8c\tos.system\x93\x8c" + bytes([len(command)]) + command.encode() + b"\x85R."
    file.write_bytes(program)
    assert resume.load(file) is None and not marker.exists()
