"""What is planted is found: which samples, with what precision and recall."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import sickbay
from scan.loaders import loader, pictures, split
from sickbay.facts.scan import Finding
from sickbay.scans import ScanResult

SHARE = 0.05


def only(result: ScanResult, cause: str) -> Finding:
    found = [f for f in result.wrong if f.cause == cause]
    assert len(found) == 1, [(f.cause, f.text) for f in result.findings]
    return found[0]


def precision_and_recall(found: set[int], planted: set[int]) -> tuple[float, float]:
    return len(found & planted) / max(len(found), 1), len(found & planted) / len(planted)


@pytest.mark.parametrize("seed", range(3))
def test_planted_rows_are_found(seed: int) -> None:
    """At 5 % contamination of digits: NaN and copies without error, wrong labels with a precision of 0.95 and a recall of 0.9 at least."""
    draws = np.random.default_rng(seed)
    x, y, x_val, y_val = split()
    few = int(SHARE * len(x))
    wrong = draws.choice(len(x), few, replace=False)
    y[wrong] = (y[wrong] + draws.integers(1, 10, few)) % 10
    result = sickbay.scan(loader(x, y))
    noise = only(result, "label-noise")
    assert noise.code == "D112" and [f.cause for f in result.wrong] == ["label-noise"]
    precision, recall = precision_and_recall(set(noise.indices), set(wrong.tolist()))
    assert precision >= 0.95 and recall >= 0.9, (precision, recall)

    x, y, x_val, y_val = split()
    broken = draws.choice(len(x), few, replace=False)
    x[broken, draws.integers(0, 64, few)] = np.nan
    sound = np.setdiff1d(np.arange(len(x)), broken)
    leaked = draws.choice(len(x_val), int(SHARE * len(x_val)), replace=False)
    x_val[leaked] = x[draws.choice(sound, len(leaked), replace=False)]
    result = sickbay.scan(loader(x, y), loader(x_val, y_val, shuffle=False))
    assert set(only(result, "nonfinite-input").indices) == set(broken.tolist())
    leak = only(result, "train-val-leakage")
    assert leak.loader == "val" and set(leak.indices) == set(leaked.tolist())
    assert {f.cause for f in result.wrong} == {"nonfinite-input", "train-val-leakage"}


def test_a_column_is_named() -> None:
    x, y, *_ = split()
    x[::50, 7] = np.inf
    found = only(sickbay.scan(loader(x, y)), "nonfinite-input")
    assert found.columns == (7,) and "column 7 of 64" in found.text and found.code == "D101"


def test_a_target_that_is_not_finite() -> None:
    x, y, *_ = split()
    numbers = (y * 1.5).astype(np.float32)
    numbers[3] = np.nan
    assert only(sickbay.scan(loader(x, numbers)), "nonfinite-target").indices == (3,)


def test_labels_that_cannot_be() -> None:
    x, y, *_ = split()
    y[5], y[9] = 99, -7
    found = only(sickbay.scan(loader(x, y)), "invalid-label")
    assert "-7 (1 samples)" in found.text and "99" in found.text


def test_sorted_data() -> None:
    x, y, *_ = split()
    order = np.argsort(y, kind="stable")
    found = only(sickbay.scan(loader(x[order], y[order], shuffle=False)), "unshuffled-data")
    assert found.certainty == "proven"


def test_labels_shifted_by_one() -> None:
    x, y, *_ = split()
    found = only(sickbay.scan(loader(x, np.roll(y, 1))), "misaligned-labels")
    assert found.certainty == "proven"


def test_a_column_that_gives_the_target_away() -> None:
    draws = np.random.default_rng(0)
    x = draws.standard_normal((800, 6)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] + 0.8 * draws.standard_normal(800) > 0).astype(np.int64)
    x[:, 4] = y + 0.01 * draws.standard_normal(800)
    assert only(sickbay.scan(loader(x, y)), "target-leakage").columns == (4,)


@pytest.mark.parametrize(
    ("spoil", "told"),
    [(lambda x: 255 * x, "divided by 255"), (lambda x: (x - 0.3) / 0.38, "the same data times 2.66"), (lambda x: 40 * x, "times 40")],
)
def test_validation_on_another_scale(spoil: object, told: str) -> None:
    x, y, x_val, y_val = split()
    found = only(sickbay.scan(loader(x, y), loader(spoil(x_val), y_val, shuffle=False)), "train-val-mismatch")  # type: ignore[operator]
    assert told in found.text and found.diff


def test_validation_with_other_class_numbers() -> None:
    x, y, x_val, y_val = split()
    found = only(sickbay.scan(loader(x, y), loader(x_val, (y_val + 3) % 10, shuffle=False)), "train-val-mismatch")
    assert "numbers its classes otherwise" in found.text


def test_pixels_that_were_never_divided() -> None:
    x = 255 * pictures(80)
    assert only(sickbay.scan(loader(x, np.arange(80) % 4)), "unscaled-input").certainty == "likely"


def test_near_copies_of_pictures() -> None:
    x, x_val = pictures(400), pictures(200, seed=1)
    draws = np.random.default_rng(2)
    copied = draws.choice(200, 20, replace=False)
    x_val[copied] = np.clip(0.9 * x[100:120] + 0.05 + 0.02 * draws.standard_normal((20, 3, 32, 32)), 0, 1).astype(np.float32)
    y = np.arange(400) % 4
    found = only(sickbay.scan(loader(x, y), loader(x_val, y[:200], shuffle=False)), "train-val-leakage")
    assert set(found.indices) == set(copied.tolist()) and "pictures are nearly the same" in found.text


def test_near_copies_of_texts() -> None:
    draws = np.random.default_rng(0)
    x, x_val = draws.integers(1, 5000, (300, 60)), draws.integers(1, 5000, (150, 60))
    copied = draws.choice(150, 15, replace=False)
    x_val[copied] = x[50:65]
    x_val[copied, 30] = 7  # one word in sixty is another
    y = np.arange(300) % 3
    found = only(sickbay.scan(loader(x, y), loader(x_val, y[:150], shuffle=False)), "train-val-leakage")
    assert set(found.indices) == set(copied.tolist()) and "texts are nearly the same" in found.text


class Stream(IterableDataset):  # type: ignore[type-arg]
    def __iter__(self):  # type: ignore[no-untyped-def]
        draws = torch.Generator().manual_seed(0)
        for i in range(200):
            yield torch.rand(6, generator=draws), i % 2


def test_every_worker_gives_the_whole_stream() -> None:
    found = only(sickbay.scan(DataLoader(Stream(), 16, num_workers=2)), "repeated-batches")
    assert "2 times" in found.text


class Noisy(TensorDataset):
    def __init__(self, own: bool) -> None:
        super().__init__(torch.rand(40, 5), torch.arange(40) % 2)
        self.rng = np.random.default_rng(0) if own else None

    def __getitem__(self, index: int):  # type: ignore[no-untyped-def]
        x, y = super().__getitem__(index)
        noise = torch.from_numpy(self.rng.standard_normal(5)).float() if self.rng is not None else torch.randn(5)
        return x + 0.1 * noise, y


def test_workers_that_draw_the_same_random_numbers() -> None:
    found = only(sickbay.scan(DataLoader(Noisy(own=True), 8, shuffle=True, num_workers=2)), "repeated-batches")
    assert "2 workers change a sample in the very same random way" in found.text and "every epoch" in found.text
    assert not sickbay.scan(DataLoader(Noisy(own=False), 8, shuffle=True, num_workers=2)).wrong


def test_rows_that_are_not_finite_do_not_hide_another_scale() -> None:
    x, y, x_val, y_val = split()
    x[[3, 700]] = float("nan")
    result = sickbay.scan(loader(x, y), loader(x_val / 16, y_val))
    assert {"nonfinite-input", "train-val-mismatch"} <= {f.cause for f in result.wrong}


def tokens(draws: np.random.Generator, rows: int) -> torch.Tensor:
    return torch.from_numpy(draws.integers(0, 400, (rows, 24)))


def test_copies_of_texts_that_are_few_among_many() -> None:
    """4 % of rows of whole numbers: by chance they are never equal here, as training's own rows show."""
    draws = np.random.default_rng(0)
    x, x_val = tokens(draws, 600), tokens(draws, 300)
    x_val[20:32] = x[100:112]
    found = only(sickbay.scan(loader(x, torch.arange(600) % 3), loader(x_val, torch.arange(300) % 3, shuffle=False)), "train-val-leakage")
    assert found.certainty == "likely" and set(found.indices) == set(range(20, 32))


def test_two_copies_are_worth_a_remark() -> None:
    x, y, x_val, y_val = split()
    x_val[[7, 30]] = x[[5, 6]]
    result = sickbay.scan(loader(x, y), loader(x_val, y_val, shuffle=False))
    assert result and [(f.cause, f.indices) for f in result.remarks if f.cause == "train-val-leakage"] == [("train-val-leakage", (7, 30))]


def test_rows_that_are_equal_by_nature_are_none() -> None:
    """Answers of yes and no: training's rows equal each other as often as validation's equal them."""
    draws = np.random.default_rng(0)
    answers = torch.from_numpy((draws.random((900, 16)) < 0.15).astype(np.int64))
    result = sickbay.scan(loader(answers[:600], torch.arange(600) % 3), loader(answers[600:], torch.arange(300) % 3, shuffle=False))
    assert not [f for f in result.findings if f.cause == "train-val-leakage"]


# -- one sample in twenty, as pictures ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_wrong_labels_of_pictures(seed: int) -> None:
    """Which of the wrong labels are among the clearest samples is chance: all draws are found."""
    draws = np.random.default_rng(seed)
    x, y, *_ = split()
    wrong = draws.choice(len(x), int(SHARE * len(x)), replace=False)
    y[wrong] = (y[wrong] + draws.integers(1, 10, len(wrong))) % 10
    noise = only(sickbay.scan(loader(x.reshape(-1, 1, 8, 8), y)), "label-noise")
    precision, recall = precision_and_recall(set(noise.indices), set(wrong.tolist()))
    assert precision >= 0.95 and recall >= 0.9, (precision, recall)


@pytest.mark.parametrize("pictures_of", [(64,), (1, 8, 8)])
def test_samples_far_outside_all_others(pictures_of: tuple[int, ...]) -> None:
    x, y, x_val, y_val = split()
    far = np.random.default_rng(0).choice(len(x), int(SHARE * len(x)), replace=False)
    x[far] *= 1000
    x, x_val = x.reshape(-1, *pictures_of), x_val.reshape(-1, *pictures_of)
    result = sickbay.scan(loader(x, y), loader(x_val, y_val, shuffle=False))
    found = only(result, "corrupt-samples")
    assert set(found.indices) == set(far.tolist()) and [f.cause for f in result.wrong] == ["corrupt-samples"]


def test_long_tails_are_no_outlying_samples() -> None:
    draws = np.random.default_rng(0)
    x = np.column_stack(
        [draws.standard_cauchy((1200, 10)), draws.lognormal(0, 3, (1200, 10)), draws.poisson(0.2, (1200, 10)), draws.zipf(1.5, (1200, 5))]
    )
    y = (x[:, 0] > 0).astype(np.int64)
    assert not [f for f in sickbay.scan(loader(x.astype(np.float32), y)).findings if f.cause == "corrupt-samples"]
