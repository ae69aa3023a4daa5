"""Going through loaders of all kinds: what batches may be, what raises, and that nothing is left changed."""

from __future__ import annotations

import random
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset

import sickbay
from scan.loaders import Items, digits, loader, split
from sickbay.exams.scan.parts import parts_of, target_of
from sickbay.exams.scan.sketch import Sketch
from sickbay.observe.keys import scattered
from sickbay.scans import ScanResult

# -- what batches may be --------------------------------------------------------------------------------------------


@dataclass
class Sample:
    image: torch.Tensor
    labels: torch.Tensor


Pair = namedtuple("Pair", "features target")
X, Y = torch.rand(8, 5), torch.arange(8)


@pytest.mark.parametrize(
    ("batch", "names", "target"),
    [
        ((X, Y), ["0", "1"], "1"),
        ([X, X, Y], ["0", "1", "2"], "2"),
        ({"image": X, "labels": Y}, ["image", "labels"], "labels"),
        (Sample(X, Y), ["image", "labels"], "labels"),
        (Pair(X, Y), ["features", "target"], "target"),
        (((X, {"mask": X}), Y), ["0.0", "0.1.mask", "1"], "1"),
        (X, ["batch"], ""),
        ((X.numpy(), Y.numpy()), ["0", "1"], "1"),
        ({"ids": Y, "text": ["a"] * 8}, ["ids", "text"], ""),
        (([torch.rand(3, 4, i + 1) for i in range(8)], Y), ["0", "1"], ""),
    ],
)
def test_parts_have_names(batch: Any, names: list[str], target: str) -> None:
    parts = parts_of(batch)
    assert [name for name, _ in parts] == names
    assert target_of(parts, 8) == target


def bad_dicts() -> Any:
    def make(_: Any, i: int) -> Any:
        x = torch.rand(5)
        x[2] = float("nan") if i in (3, 17) else x[2]
        return {"x": x, "y": i % 2, "name": f"sample {i}"}

    return DataLoader(Items(make, 30), 4)


class Stream(IterableDataset):  # type: ignore[type-arg]
    def __iter__(self) -> Iterator[Any]:
        for i in range(30):
            yield torch.full((5,), float("nan") if i in (3, 17) else i / 30), i % 2


def tensors() -> Any:
    x = torch.rand(30, 5)
    x[3, 2] = x[17, 2] = float("nan")
    return x


def batches() -> Iterator[Any]:
    x = tensors()
    buffer = torch.empty(5, 5)
    for i in range(0, 30, 5):
        buffer.copy_(x[i : i + 5])  # the same buffer again and again
        yield buffer, torch.arange(5) % 2


@pytest.mark.parametrize(
    ("make", "indexed"),
    [
        (bad_dicts, True),
        (lambda: loader(tensors(), torch.arange(30) % 2, batch=7), True),
        (lambda: DataLoader(TensorDataset(tensors()), 7, num_workers=2), True),
        (lambda: DataLoader(Stream(), 4), False),
        (batches, False),
        (lambda: [(x.clone(), y) for x, y in batches()], False),
        (lambda: [{"a": {"b": x.clone().half()}} for x, _ in batches()], False),
        (lambda: [x.clone().bfloat16() for x, _ in batches()], False),
        (lambda: [x.numpy().copy() for x, _ in batches()], False),
        (lambda: [([row.clone() for row in x], y) for x, y in batches()], False),
        (lambda: [torch.nn.functional.pad(x.clone(), (0, 20_000)) for x, _ in batches()], False),
    ],
    ids=["dicts", "tensors", "workers", "stream", "generator", "list", "half", "bfloat16", "numpy", "ragged", "large"],
)
def test_two_bad_rows_are_found_in_anything(make: Any, indexed: bool) -> None:
    result = sickbay.scan(make())
    (found,) = [f for f in result.wrong if f.cause == "nonfinite-input"]
    assert "2 of 30 samples" in found.text
    assert found.indices == ((3, 17) if indexed else ())


def test_what_is_no_tensor_is_only_named() -> None:
    text = str(sickbay.scan(bad_dicts()))
    assert "name: list of str" in text


def test_an_empty_loader() -> None:
    assert [f.cause for f in sickbay.scan([]).wrong] == ["empty-loader"]
    (found,) = sickbay.scan(DataLoader(TensorDataset(X), 16, drop_last=True)).wrong
    assert "drop_last=True" in found.text


# -- what raises ----------------------------------------------------------------------------------------------------


def fragile(_: Any, i: int) -> Any:
    if i in (4, 30):
        raise ValueError(f"cannot read CANARY-{i}")
    return torch.rand(6 if i != 9 else 5), i % 3


@pytest.mark.parametrize(("workers", "seed"), [(0, 0), (2, 0), *((0, seed) for seed in range(1, 12))])  # some put 9 beside 4 or 30
def test_samples_that_raise_are_listed_and_the_scan_goes_on(workers: int, seed: int) -> None:
    paths = [(f"pictures/{i}.png", 0) for i in range(80)]
    whole = Items(fragile, 80, samples=paths)
    generator = torch.Generator().manual_seed(seed)
    result = sickbay.scan(DataLoader(whole, 8, shuffle=True, num_workers=workers, generator=generator))
    raised, uneven = result.wrong
    assert raised.cause == "corrupt-samples" and set(raised.indices) == {4, 30}
    assert "pictures/4.png" in raised.text and "test_visiting.py:" in raised.text
    assert raised.place is not None and raised.place.text == 'raise ValueError(f"cannot read CANARY-{i}")'
    assert uneven.cause == "uneven-samples" and uneven.indices == (9,)
    assert result.seen.train.rows == 77
    assert "CANARY" not in str(result) + str(result.document())


def test_paths_are_found_behind_a_subset() -> None:
    part = Subset(Items(fragile, 80, files=[f"{i}.wav" for i in range(80)]), list(range(20, 40)))
    (raised,) = sickbay.scan(DataLoader(part, 5)).wrong
    assert raised.indices == (10,) and "30.wav" in raised.text


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    def make(_: Any, i: int) -> Any:
        return torch.tensor(len((tmp_path / f"{i}.txt").read_bytes()))

    for i in range(6):
        (tmp_path / f"{i}.txt").write_text("x" * i)
    (tmp_path / "2.txt").unlink()
    (raised,) = sickbay.scan(DataLoader(Items(make, 6), 2)).wrong
    assert "FileNotFoundError" in raised.text and str(tmp_path / "2.txt") in raised.text


def test_a_stream_that_breaks_off() -> None:
    def stream() -> Iterator[Any]:
        yield X, Y
        yield X, Y
        raise OSError("gone")

    result = sickbay.scan(stream())
    (raised,) = result.wrong
    assert "1 batch" in raised.text and result.seen.train.batches == 2


def test_nothing_can_be_loaded() -> None:
    def make(_: Any, i: int) -> Any:
        raise KeyError("image")

    result = sickbay.scan(DataLoader(Items(make, 10_000), 4))
    assert result.seen.train.ended_by == "KeyError" and result.seen.train.failed_batches == 64
    assert [f.cause for f in result.wrong] == ["corrupt-samples"]


# -- nothing is left changed ----------------------------------------------------------------------------------------


def states(generators: list[Any]) -> list[Any]:
    told: list[Any] = [random.getstate(), repr(np.random.get_state()), torch.random.get_rng_state().tolist()]
    return told + [g.get_state().tolist() if isinstance(g, torch.Generator) else repr(g.bit_generator.state) for g in generators]


@pytest.mark.parametrize("workers", [0, 2])
def test_random_generators_are_as_they_were(workers: int) -> None:
    own, drawn = np.random.default_rng(3), torch.Generator().manual_seed(5)

    def make(data: Any, i: int) -> Any:
        random.random()
        np.random.rand()
        return torch.rand(4) + float(data.rng.random()), i % 2

    train = DataLoader(Items(make, 40, rng=own), 8, shuffle=True, generator=drawn, num_workers=workers, persistent_workers=workers > 0)
    val = DataLoader(Items(make, 40, rng=own), 8)
    before = states([own, drawn])
    sickbay.scan(train, val)
    assert states([own, drawn]) == before
    assert train._iterator is None


def test_epochs_after_a_scan_are_the_same_as_without() -> None:
    def epochs(scan: bool) -> list[Any]:
        torch.manual_seed(1)
        made = loader(*split()[:2])
        if scan:
            sickbay.scan(made)
        return [y.tolist() for _ in range(2) for _, y in made]

    assert epochs(True) == epochs(False)


# -- rows by their key ----------------------------------------------------------------------------------------------


def test_sketches_of_any_size_agree_on_what_is_shared() -> None:
    draws = np.random.default_rng(0)
    mine, theirs = draws.integers(0, 30_000, 20_000), draws.integers(20_000, 60_000, 30_000)

    def sketch(values: np.ndarray, capacity: int) -> Sketch:
        made = Sketch(capacity)
        for at in range(0, len(values), 700):
            made.add(scattered(values[at : at + 700]), values[at : at + 700])
        return made

    exact = np.isin(mine, theirs)
    whole = sketch(mine, 10**6).shared(sketch(theirs, 10**6))
    assert sorted(whole[0].tolist()) == sorted(mine[exact].tolist()) and (whole[0] == whole[1]).all() and whole[2] == len(mine)
    few, _, rows = sketch(mine, 4000).shared(sketch(theirs, 2000))
    assert rows < 4000 and set(few.tolist()) <= set(mine[exact].tolist())
    assert len(few) / rows == pytest.approx(exact.mean(), abs=0.05)


def test_repeats() -> None:
    made = Sketch()
    made.add(scattered(np.array([1, 1, 2, 2, 3])), np.array([0, 0, 1, 5, 3]))
    assert made.repeats() == (1, 1)


def test_every_sample_is_counted_once() -> None:
    x, y = digits()
    result: ScanResult = sickbay.scan(loader(x, y, batch=50), loader(x[:99], y[:99], shuffle=False), workers=2)
    assert (result.seen.train.rows, result.seen.train.batches, result.seen.train.last_batch) == (1797, 36, 47)
    assert dict(result.seen.train.histogram) == dict(enumerate(np.bincount(y).tolist()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.uint8])
def test_rows_are_known_in_batches_of_any_size(dtype: torch.dtype) -> None:
    """Large tensors are looked at one by one, small ones together: a row has the same key either way."""
    x = (255 * torch.rand(200, 3, 33, 31)).to(dtype)
    made = [x[i : i + 50] for i in range(0, 200, 50)], [x[i : i + 3] for i in range(120, 180, 3)]
    result = sickbay.scan(*made)
    assert result.seen.exact is not None and (result.seen.exact.found, result.seen.exact.rows) == (60, 60)
    assert [b - a for a, b in result.seen.exact.pairs] == [120] * 60
