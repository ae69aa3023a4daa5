"""Parts of a tensor by their index."""

from __future__ import annotations

import torch

from sickbay.observe.regions import form, region_of, within


def test_parts_can_be_told_apart() -> None:
    assert region_of(3) == ((0, 3),)
    assert region_of((2, slice(4, 6))) == ((0, 2), (2, 2))
    assert region_of((slice(None), 5)) == ((-1, 0), (0, 5))
    assert region_of(slice(0, 1)) != region_of(slice(1, 2)) and form(region_of(slice(0, 1)) or ()) == (1,)


def test_what_does_not_tell() -> None:
    assert region_of(-1) is None
    assert region_of(torch.tensor([1, 2])) is None
    assert region_of(slice(1, 3)) is None, "it overlaps with other stretches of two"
    assert region_of(slice(0, 8, 2)) is None and region_of(None) is None and region_of(...) is None


def test_a_part_of_a_part() -> None:
    assert within(((0, 1),), ((0, 2),)) == ((0, 1), (0, 2))
    assert within((), ((0, 2),)) == ((0, 2),)
    assert within(((2, 1),), ((0, 0),)) is None and within(None, ()) is None
