"""What a scan costs: a pass over a loader that is looked at, in blocks that alternate with blocks of a plain pass; and the memory of a long one.

python -m bench.scan                 overhead of the loaders below, in processor time (steadier on a busy machine), with the questions at the end told apart
python -m bench.scan --memory        growth of the process over a stream of ten million samples
"""

from __future__ import annotations

import argparse
import io
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

from bench.measure import bootstrap
from bench.memory import _status
from sickbay.exams.scan.examine import Examination, scan

BAR = 0.05
MEMORY_BAR = 64 * 2**20
SAMPLES = 10_000_000
DIFFERENT = 2_000
"""Files; a data set of more has each of them several times, cropped otherwise."""
BLOCK = 50
"""Batches: some hundredths of a second, so that both passes meet the same moods of the machine."""
clock = time.process_time


class Pictures(Dataset[Any]):
    """Bytes that are flipped, scaled and standardised: what a light transform does."""

    def __init__(self, count: int) -> None:
        self.data = torch.randint(0, 256, (count, 3, 32, 32), dtype=torch.uint8)
        self.mean, self.std = torch.tensor([0.49, 0.48, 0.45])[:, None, None], torch.tensor([0.25, 0.24, 0.26])[:, None, None]

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        x = self.data[index]
        x = x.flip(-1) if torch.rand(()) < 0.5 else x
        return (x.float().div_(255) - self.mean) / self.std, index % 10


class Photos(Dataset[Any]):
    """JPEG files (in memory) that are decoded, cropped, flipped and standardised: what most picture loaders do."""

    def __init__(self, count: int) -> None:
        from PIL import Image

        self.open, self.count = Image.open, count
        coarse = torch.rand(DIFFERENT, 3, 10, 10)
        smooth = torch.nn.functional.interpolate(coarse, size=(160, 160), mode="bilinear").mul_(255).byte().permute(0, 2, 3, 1)
        self.files = []
        for pixels in smooth.numpy():
            Image.fromarray(pixels).save(held := io.BytesIO(), "JPEG", quality=90)
            self.files.append(held.getvalue())

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        x = torch.from_numpy(np.array(self.open(io.BytesIO(self.files[index % DIFFERENT])))).permute(2, 0, 1)
        top, left = torch.randint(0, 33, (2,)).tolist()
        x = x[:, top : top + 128, left : left + 128]
        x = x.flip(-1) if torch.rand(()) < 0.5 else x
        return x.float().div_(255).sub_(0.45).div_(0.225), index % 10


class Lines(Dataset[Any]):
    """Lines of a file of comma-separated values, each taken apart when it is asked for: 31 numbers and a class."""

    def __init__(self, count: int) -> None:
        numbers = np.random.default_rng(0).standard_normal((count, 31)).round(4)
        self.lines = [",".join(map(str, row)) + f",{i % 10}" for i, row in enumerate(numbers.tolist())]

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        *values, label = self.lines[index].split(",")
        return torch.tensor([float(v) for v in values]), int(label)


class Sentences(Dataset[Any]):
    """Texts of 20 to 60 words, whose ids are looked up one by one; batches are padded to their longest."""

    def __init__(self, count: int) -> None:
        draws = np.random.default_rng(0)
        self.ids = {f"word{i}": i + 1 for i in range(8000)}
        self.texts = [" ".join(f"word{i}" for i in draws.integers(0, 8000, draws.integers(20, 61))) for _ in range(count)]

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.tensor([self.ids.get(word, 0) for word in self.texts[index].lower().split()]), index % 4


def padded(items: list[tuple[torch.Tensor, int]]) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.nn.utils.rnn.pad_sequence([x for x, _ in items], batch_first=True), torch.tensor([y for _, y in items])


def photos() -> DataLoader[Any]:
    return DataLoader(Photos(16_000), 32, shuffle=True)


def pictures() -> DataLoader[Any]:
    return DataLoader(Pictures(50_000), 32, shuffle=True)


def lines() -> DataLoader[Any]:
    return DataLoader(Lines(60_000), 64, shuffle=True)


def sentences() -> DataLoader[Any]:
    return DataLoader(Sentences(40_000), 32, shuffle=True, collate_fn=padded)


def tables() -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.rand(60_000, 64), torch.randint(0, 10, (60_000,))), 64, shuffle=True)


def tokens() -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.randint(0, 8000, (60_000, 128)), torch.randint(0, 4, (60_000,))), 32, shuffle=True)


LOADERS: dict[str, Callable[[], DataLoader[Any]]] = {
    "photos": photos,
    "pictures": pictures,
    "lines": lines,
    "sentences": sentences,
    "tables": tables,
    "tokens": tokens,
}
"""Files that are decoded, bytes that are transformed, lines and texts that are taken apart; and two (tables, tokens) that are only copied from memory: hardly anything is cheaper to load,
so that a few dozen microseconds for each batch are a large share of it. All in this process: with workers, most of a scan is done while it waits for them."""


def plain(loader: Any) -> None:
    for _ in loader:
        pass


class Beside:
    """A pass as a scan makes it, from an empty book to the last sample; between its blocks, as many batches of a plain pass."""

    def __init__(self, loader: Any) -> None:
        self.loader, self.others = loader, iter(loader)
        self.drawing = _BaseDataLoaderIter._next_index
        self.plain = self.looked_at = 0.0
        self.began = 0.0
        self.half = (0.0, 0.0)
        """Both, when half of the pass is over."""

    def measure(self) -> float:
        """How much more the one took than the other."""
        self.began = clock()
        Examination(None, self._tick, None, False).through("train", self.loader)
        self._beside(None)
        self.looked_at = clock() - self.began - self.plain
        return self.looked_at / self.plain - 1

    @property
    def later(self) -> float:
        """The same of the second half: what is asked of a bounded number of samples is mostly done then, as in most of a longer pass."""
        return (self.looked_at - self.half[0]) / (self.plain - self.half[1]) - 1

    def _tick(self, name: str, done: int, total: int | None) -> None:
        if done % BLOCK == 0:
            self._beside(BLOCK)
        if done == (total or 0) // 2 // BLOCK * BLOCK:
            self.half = clock() - self.began - self.plain, self.plain

    def _beside(self, batches: int | None) -> None:
        """The plain pass goes on, without the scan's eyes on it."""
        ours, _BaseDataLoaderIter._next_index = _BaseDataLoaderIter._next_index, self.drawing  # type: ignore[method-assign]
        began = clock()
        plain(islice(self.others, batches))
        self.plain += clock() - began
        _BaseDataLoaderIter._next_index = ours  # type: ignore[method-assign]


def overhead(name: str, rounds: int) -> bool:
    loader = LOADERS[name]()
    plain(loader)
    passes = [Beside(loader) for _ in range(rounds)]
    ratios = [p.measure() for p in passes]
    low, high = bootstrap(ratios)
    found, began = statistics.median(ratios), clock()
    scan(loader)
    questions = max(clock() - began - statistics.median(p.looked_at for p in passes), 0.0)
    each, later = statistics.median(p.plain for p in passes), statistics.median(p.later for p in passes)
    print(
        f"{name:<9} {100 * found:5.1f} % over plain iteration ({100 * low:.1f} to {100 * high:.1f}, {rounds} rounds of {len(loader):,} batches of {1e6 * each / len(loader):,.0f} us); "
        f"{100 * later:.1f} % in the second half; questions at the end {questions:.1f} s",
        flush=True,
    )
    return found <= BAR


def stream(samples: int, rows: int = 4096) -> Iterator[Any]:
    draws = torch.Generator().manual_seed(0)
    for _ in range(samples // rows):
        x = torch.rand(rows, 20, generator=draws)
        yield x, (x[:, 0] > 0.5).long()


def memory(samples: int) -> bool:
    scan(stream(20_000))  # numpy's and torch's own lazy imports and buffers
    before, began = _status("VmRSS"), time.monotonic()
    seen = scan(stream(samples))
    grown = _status("VmHWM") - before
    print(f"memory    {grown / 2**20:5.1f} MB more at its peak for {seen.train.rows:,} samples in {time.monotonic() - began:.0f} s")
    return grown <= MEMORY_BAR


def main() -> None:
    parser = argparse.ArgumentParser(description="What a scan costs.")
    parser.add_argument("--memory", action="store_true", help="measure the memory of a long stream instead")
    parser.add_argument("--samples", type=int, default=SAMPLES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=list(LOADERS))
    options = parser.parse_args()
    torch.set_num_threads(1)
    good = [memory(options.samples)] if options.memory else [overhead(n, options.rounds) for n in LOADERS if options.only in (None, n)]
    raise SystemExit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
