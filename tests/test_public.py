"""What `import sickbay` brings in. (Its names and its speed are kept by repo/test_texture.py.)"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sickbay

SOURCE = str(Path(sickbay.__file__).resolve().parents[1])


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'wach'; it has"):
        sickbay.wach  # noqa: B018


def test_importing_brings_in_nothing_heavy() -> None:
    show = f"import sys; sys.path.insert(0, {SOURCE!r}); before = set(sys.modules); import sickbay; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout.split()
    assert loaded == ["__future__", "sickbay"]


def test_help_brings_in_neither_torch_nor_numpy_nor_rich() -> None:
    show = f"""
import sys; sys.path.insert(0, {SOURCE!r})
from sickbay.cli import cli
try:
    cli(["--help"])
except SystemExit:
    print(*sorted({{m.split(".")[0] for m in sys.modules}} & {{"torch", "numpy", "rich", "msgspec", "psutil", "jinja2", "sqlite3"}}))
"""
    out = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout
    assert out.splitlines()[-1] == ""
