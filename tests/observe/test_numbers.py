"""Small helpers against numpy's own, which are obvious and dearer."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from sickbay.observe.numbers import among, distinct


@pytest.mark.parametrize("size", [0, 1, 2, 50])
def test_distinct_and_among_are_as_numpy_has_them(size: int) -> None:
    draw = np.random.default_rng(size)
    values, known = draw.integers(0, 20, size), draw.integers(0, 20, size)
    assert distinct(values).tolist() == np.unique(values).tolist()
    assert among(values, distinct(known)).tolist() == np.isin(values, known).tolist()


def test_masked_arrays_stay_out_of_the_users_process() -> None:
    code = """
import sys, torch
import sickbay
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
with sickbay.watch(model, optimizer, folder=sys.argv[1]):
    for _ in range(12):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(torch.randn(16, 8)), torch.randint(3, (16,))).backward()
        optimizer.step()
    assert "numpy.ma" not in sys.modules
"""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", code, folder], check=True)
