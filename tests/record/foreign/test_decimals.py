"""Many numbers at once are the very numbers that `float` gives, or none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sickbay.record.foreign.decimals import in_lines, in_table

PLAIN = st.one_of(
    st.integers(-(10**14), 10**14).map(str),
    st.tuples(st.integers(-(10**7), 10**7), st.integers(0, 10**7 - 1)).map(lambda t: f"{t[0]}.{t[1]:07d}"),
    st.floats(0, 1000).map(lambda x: f"{x:.4f}"),
)


@given(st.lists(st.tuples(PLAIN, PLAIN), min_size=1, max_size=9))
def test_a_table_of_numbers(rows: list[tuple[str, str]]) -> None:
    """Those of one width may still differ in their signs or points: then none is read, but never another number."""
    found = in_table("".join(",".join(row) + "\n" for row in rows).encode(), b",", 2)
    if found is not None:
        np.testing.assert_array_equal(found, [[float(cell) for cell in row] for row in rows])


def test_a_table_of_plain_numbers() -> None:
    rows = [[str(95 + i), f"{10.05 - i / 7:.5f}", f"{-0.1 * (i + 1):.3f}", "3"] for i in range(30)]
    found = in_table("".join(",".join(row) + "\n" for row in rows).encode(), b",", 4)
    assert found is not None
    np.testing.assert_array_equal(found, [[float(cell) for cell in row] for row in rows])


@given(PLAIN, st.integers(1, 9))
def test_numbers_in_lines(number: str, count: int) -> None:
    lines = [f"loss {number}, lr"] * count
    found = in_lines(lines, 5, 5 + len(number))
    assert found is not None
    np.testing.assert_array_equal(found, [float(number)] * count)


@pytest.mark.parametrize("cell", ["", "nan", "1e-5", " 1", "1.2.3", "--1", "-", ".", "1234567890.1234567", "1_0", "٣"])
def test_other_cells_are_left_to_others(cell: str) -> None:
    assert in_table(f"1,{cell}\n2,3\n".encode(), b",", 2) is None
    assert in_lines([f"loss {cell}"], 5, 5 + len(cell)) is None


@pytest.mark.parametrize("block", ["1,2\n3\n", "1,2,3\n4,5\n", "1\n,2\n", "1,2\n\n3,4\n", "1,2\n3,4,5,6\n"])
def test_lines_with_another_number_of_cells(block: str) -> None:
    assert in_table(block.encode(), b",", 2) is None
