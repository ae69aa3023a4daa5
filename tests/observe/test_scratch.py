"""Copies that must not lie between the user's tensors in the heap, and rows of which nothing is left."""

from __future__ import annotations

import numpy as np
import torch

from sickbay.observe.keys import row_keys, some_columns
from sickbay.observe.numbers import join
from sickbay.observe.scratch import PAGES_FROM, Scratch, cleared


def test_a_copy_is_contiguous_and_its_own() -> None:
    scratch = Scratch(100)
    x = torch.arange(40.0).reshape(5, 8)
    copy = scratch.copy(x[::2, ::3])
    x.zero_()
    assert copy.is_contiguous()
    assert copy.tolist() == [[0.0, 3.0, 6.0], [16.0, 19.0, 22.0], [32.0, 35.0, 38.0]]


def test_copies_lie_beside_each_other_until_cleared() -> None:
    scratch = Scratch(8)
    first, second = scratch.copy(torch.ones(4)), scratch.copy(torch.full((4,), 2.0))
    assert second.data_ptr() == first.data_ptr() + 16
    elsewhere = scratch.copy(torch.full((4,), 3.0))
    assert (first.tolist(), second.tolist(), elsewhere.tolist()) == ([1.0] * 4, [2.0] * 4, [3.0] * 4), "what doesn't fit is cloned"
    scratch.clear()
    assert scratch.copy(torch.zeros(2)).data_ptr() == first.data_ptr()


def test_the_copies_of_a_step_are_one_row_where_they_lie() -> None:
    scratch = Scratch(8)
    first = scratch.copy(torch.ones(2))
    scratch.copy(torch.full((1, 2), 2.0))
    row = scratch.row(4)
    assert row is not None
    assert row.tolist() == [1.0, 1.0, 2.0, 2.0]
    assert row.data_ptr() == first.data_ptr(), "nothing is copied twice"
    scratch.copy(torch.full((3,), 3.0))
    scratch.copy(torch.full((3,), 4.0))
    assert scratch.row(6) is None, "a part of it lies elsewhere"
    assert row.tolist() == [1.0, 1.0, 2.0, 2.0], "and earlier rows wait until all are cleared"


def test_other_precisions_keep_theirs() -> None:
    assert Scratch(8).copy(torch.ones(3, dtype=torch.float64)).dtype == torch.float64


def test_large_rows_are_joined_as_small_ones_are() -> None:
    blocks = [torch.randn(PAGES_FROM), torch.randn(3, 5)]
    assert torch.equal(join(blocks), torch.cat([b.reshape(-1) for b in blocks]))


def test_cleared_is_zero_and_can_be_written() -> None:
    for count in (3, PAGES_FROM):
        array = cleared((count, 2), np.dtype(np.float64))
        array[1] += 5.0
        assert array.shape == (count, 2)
        assert float(array.sum()) == 10.0


def test_a_batch_of_which_nothing_is_left_has_keys_for_its_rows() -> None:
    assert row_keys(some_columns(torch.zeros(0, 7))).shape == (0,)
    assert row_keys(some_columns(torch.zeros(4, 0))).shape == (4,)
