"""What a scan shows: the page, the document, the HTML, and that no value of a sample is in any of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import CliRunner, Result
from jsonschema import Draft202012Validator
from torch.utils.data import DataLoader

import sickbay
from scan.loaders import Items, loader, split
from sickbay.cli import cli
from sickbay.report import scan_document
from sickbay.scans import ScanResult

CANARY = 48_151.62342


@pytest.fixture(scope="module")
def sick() -> ScanResult:
    x, y, x_val, y_val = split()
    x[7, 3], x[8, 3] = float("nan"), CANARY
    x_val[:30] = x[:30]
    return sickbay.scan(loader(x, y), loader(x_val, y_val, shuffle=False))


@pytest.fixture(scope="module")
def healthy() -> ScanResult:
    x, y, x_val, y_val = split()
    return sickbay.scan(loader(x, y), loader(x_val, y_val, shuffle=False))


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(scan_document.schema())
    assert scan_document.schema()["$id"] == scan_document.SCHEMA


def test_documents_obey_the_schema(sick: ScanResult, healthy: ScanResult) -> None:
    for result, verdict in ((sick, "sick"), (healthy, "healthy"), (sickbay.scan([]), "sick")):
        made = result.document()
        Draft202012Validator(scan_document.schema()).validate(made)
        assert made["verdict"] == verdict
        assert json.loads(scan_document.dumps(made)) == made


def test_every_field_of_the_document_is_documented(root: Path, sick: ScanResult) -> None:
    text = (root / "docs" / "scan.md").read_text(encoding="utf-8")
    made = sick.document()
    fields = [*made, *made["findings"][0], *made["loaders"][0], *made["loaders"][0]["tensors"][0]]
    assert not [f for f in fields if f"`{f}`" not in text]


def test_pages_fit_80_columns_and_begin_with_the_verdict(sick: ScanResult, healthy: ScanResult) -> None:
    for result, word in ((sick, "SICK"), (healthy, "HEALTHY")):
        lines = str(result).splitlines()
        assert max(map(len, lines)) <= 80, [line for line in lines if len(line) > 80]
        assert lines[1].startswith(word)
    assert "nothing wrong found in 1,400 samples" in str(healthy)
    assert "sickbay explain D101" in str(sick)


def test_every_code_can_be_explained(sick: ScanResult) -> None:
    assert {f.code for f in sick.wrong} == {"D101", "D106"}
    for found in sick.wrong:
        assert CliRunner().invoke(cli, ["explain", found.code]).exit_code == 0


def test_no_value_of_a_sample_is_shown(sick: ScanResult) -> None:
    everything = str(sick) + json.dumps(sick.document()) + sick.html() + sick._repr_html_() + repr(sick)
    for form in ("48151.6", "48,151.6", "48151", "48,151"):
        assert form not in everything


def test_what_exceptions_say_is_shown_only_with_samples() -> None:
    def make(_: Any, i: int) -> Any:
        if i == 3:
            raise ValueError("could not convert CANARY-77 to a number")
        return torch.rand(3), i % 2

    for samples in (False, True):
        result = sickbay.scan(DataLoader(Items(make, 20), 4), samples=samples)
        for shown in (str(result), json.dumps(result.document()), result.html()):
            assert ("CANARY-77" in shown) is samples


def test_html_is_one_page_without_scripts_or_addresses(sick: ScanResult) -> None:
    page = sick.html()
    assert page.lstrip().startswith("<!doctype html>") and "<script" not in page and "http://" not in page and "https://" not in page
    assert "The input holds NaN or infinity" in page and 'class="classes"' in page
    assert "<div" in sick._repr_html_() and "<style" not in sick._repr_html_()


def test_hostile_names_are_escaped() -> None:
    result = sickbay.scan([{"<b>x\x1b[31m": torch.full((4, 3), float("nan"))}])
    assert "<b>x" not in result.html() and "\x1b[31m" not in str(result)


# -- the command ----------------------------------------------------------------------------------------------------

MODULE = """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x, y = torch.randn(200, 6), torch.arange(200) % 2
x[:, 0] += 3 * y
bad = x.clone()
bad[5, 1] = float("nan")
train_loader = DataLoader(TensorDataset(x, y), 16, shuffle=True)
sick_loader = DataLoader(TensorDataset(bad, y), 16, shuffle=True)
data = TensorDataset(x, y)
number = 3
def make_loaders():
    return train_loader, DataLoader(TensorDataset(x[:100] + 9, y[:100]), 16)
def needs(size):
    return train_loader
def fails():
    raise RuntimeError("no data here")
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "loaders_of_mine.py").write_text(MODULE)
    (tmp_path / "broken_module.py").write_text("import nothing_of_that_name\n")

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(cli, ["scan", *words])

    return invoke


def test_the_command(call: Any, tmp_path: Path) -> None:
    done = call("loaders_of_mine.py:train_loader", "--exit-code", "--json", "out.json", "-o", "out.html")
    assert done.exit_code == 0 and "HEALTHY" in done.output
    assert json.loads((tmp_path / "out.json").read_text())["schema"] == "sickbay/scan/1" and (tmp_path / "out.html").exists()
    done = call("loaders_of_mine:sick_loader", "--val", "loaders_of_mine:train_loader", "--workers", "0")
    assert done.exit_code == 0 and "sample 5" in done.output and "Val " in done.output
    assert call("loaders_of_mine:sick_loader", "--exit-code").exit_code == 1
    assert json.loads(call("loaders_of_mine.py:make_loaders", "--json", "-").stdout)["loaders"][1]["name"] == "val"
    assert "HEALTHY" in call("loaders_of_mine.py:data").output


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("loaders_of_mine.py", "does not name anything: write file.py:name"),
        ("nowhere.py:x", "there is no file nowhere.py"),
        ("nowhere:x", "there is no module 'nowhere'"),
        ("loaders_of_mine.py:x_loader", "has no 'x_loader'; it has"),
        ("loaders_of_mine.py:needs", "needs arguments; name a function that needs none"),
        ("loaders_of_mine.py:fails", "RuntimeError at loaders_of_mine.py:18: no data here"),
        ("loaders_of_mine.py:number", "is a int, which gives no batches"),
        ("broken_module.py:x", "ModuleNotFoundError at broken_module.py:1"),
    ],
)
def test_wrong_names_get_one_clear_line(call: Any, target: str, said: str) -> None:
    done = call(target)
    assert done.exit_code == 2 and said in done.output and done.output.count("\n") == 1, done.output


def test_a_script_that_reads_its_command_line_is_not_given_ours(call: Any, tmp_path: Path) -> None:
    text = "import argparse\nargs = argparse.ArgumentParser()\nargs.add_argument('--rows', type=int, default=64)\nrows = args.parse_args().rows\n"
    (tmp_path / "with_arguments.py").write_text(text + "import torch\nbatches = [torch.rand(8, 3) for _ in range(rows // 8)]\n")
    done = call("with_arguments.py:batches")
    assert done.exit_code == 0 and "64 samples" in done.output
