"""`sickbay evaluate` as a user types it, in this process."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from sickbay.cli import cli

torch = pytest.importorskip("torch")

PROGRAM = """
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(200, 4) + 1000.125
y = (x[:, 0] > 1000.125).long()
net = torch.nn.Linear(4, 2)

def model():
    return net

def loader():
    return DataLoader(TensorDataset(x, y), batch_size=32)

def half(batch):
    return batch[0][:, 1] > 1000

def needs(something):
    pass

class Made(torch.nn.Linear):
    def __init__(self):
        super().__init__(4, 2)

criterion = torch.nn.CrossEntropyLoss()
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Result]]:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "given_program.py").write_text(PROGRAM)
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(cli, ["evaluate", *words])

    yield invoke
    for name in set(sys.modules) - before:
        if name.endswith("given_program"):
            del sys.modules[name]


BOTH = ("given_program.py:model", "given_program.py:loader")


def test_page_document_and_exit_code(call: Callable[..., Result], tmp_path: Path) -> None:
    done = call(
        *BOTH,
        "--json",
        "e.json",
        "-o",
        "e.html",
        "--slice",
        "given_program.py:half",
        "--loss",
        "given_program.py:criterion",
        "--class-names",
        "no,yes",
    )
    assert done.exit_code == 0, done.output
    assert "accuracy" in done.output.lower() and "Slices by accuracy" in done.output
    document = json.loads((tmp_path / "e.json").read_text())
    assert document["loss"] is not None and [c["name"] for c in document["classes"]] == ["no", "yes"]
    assert (tmp_path / "e.html").read_text().startswith("<!doctype html>")
    assert call(*BOTH, "--exit-code").exit_code == 1  # untrained: no better than a constant
    assert json.loads(call(*BOTH, "--json", "-").output)["schema"] == "sickbay/evaluation/1"


def test_no_value_of_a_sample_is_shown_unasked(call: Callable[..., Result], tmp_path: Path) -> None:
    done = call(*BOTH, "--json", "e.json", "-o", "e.html")
    everything = done.output + (tmp_path / "e.json").read_text() + (tmp_path / "e.html").read_text()
    assert "1000." not in everything and "1001" not in everything and '"worst": []' in everything


def test_weights_are_loaded(call: Callable[..., Result], tmp_path: Path) -> None:
    state = {"module.weight": torch.tensor([[-9.0, 0, 0, 0], [9.0, 0, 0, 0]]), "module.bias": torch.tensor([9.0, -9.0]) * 1000.125}
    torch.save({"model_state_dict": state, "epoch": 3}, tmp_path / "best.pt")
    document = json.loads(call(*BOTH, "--weights", "best.pt", "--json", "-").output)
    assert document["score"]["value"] > 0.97
    torch.save({"weight": torch.zeros(3, 3)}, tmp_path / "other.pt")
    assert "does not fit the model" in call(*BOTH, "--weights", "other.pt").output
    (tmp_path / "text.pt").write_text("hello")
    assert "cannot be read as weights" in call(*BOTH, "--weights", "text.pt").output


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("given_program.py", "write file.py:name"),
        ("nothing.py:model", "there is no file nothing.py"),
        ("no_such_module:model", "there is no module 'no_such_module'"),
        ("given_program.py:modl", "has no 'modl'; it has"),
        ("broken.py:model", "cannot be loaded: ZeroDivisionError at broken.py:1: division by zero"),
        ("ends.py:model", "it ends the program"),
    ],
)
def test_what_cannot_be_loaded_is_said(call: Callable[..., Result], tmp_path: Path, model: str, says: str) -> None:
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "ends.py").write_text("raise SystemExit(0)")
    done = call(model, "given_program.py:loader")
    assert done.exit_code == 2 and says in done.output


def test_a_function_that_needs_something_is_not_called(call: Callable[..., Result]) -> None:
    from sickbay.cli.loading import thing

    assert callable(thing("given_program.py:needs")) and isinstance(thing("given_program.py:net"), torch.nn.Module)
    assert type(thing("given_program.py:Made")).__name__ == "Made"
    assert thing("given_program.py:criterion").__class__.__name__ == "CrossEntropyLoss"
