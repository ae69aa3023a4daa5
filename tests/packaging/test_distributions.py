"""Wheel and sdist build, install in an empty environment and run there, with no network and, from the sdist, no Node."""

from __future__ import annotations

import json
import os
import shutil
import site
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import sickbay

BUNDLED = {"uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE.txt"}
SOURCES = (
    "src",
    "examples",
    "pyproject.toml",
    "hatch_build.py",
    "package.json",
    "package-lock.json",
    ".npmrc",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
)
TRAIN = """
import torch
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
weights = torch.randn(4, 1)
for step in range(60):
    x = torch.randn(32, 4)
    loss = torch.nn.functional.mse_loss(model(x), x @ weights)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
"""


def run(command: list[str | Path], cwd: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(c) for c in command], cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=300)


def build(source: Path, kind: str, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    # No isolation: hatchling is in the development environment, so nothing is fetched.
    return run([sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", source / "dist"], source, env)


def without_npm(tmp: Path) -> dict[str, str]:
    (tmp / "bin").mkdir()
    return os.environ | {"PATH": str(tmp / "bin")}


@pytest.fixture(scope="module")
def checkout(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository's sources, as git would have them, with the chart library if it is already bundled."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        if (root / name).is_dir():
            shutil.copytree(root / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", ".sickbay"))
        else:
            shutil.copy(root / name, copy / name)
    return copy


@pytest.fixture(scope="module")
def sdist(checkout: Path) -> Path:
    done = build(checkout, "sdist")
    assert done.returncode == 0, done.stdout + done.stderr
    return checkout / "dist" / f"sickbay-{sickbay.__version__}.tar.gz"


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the unpacked sdist, on a machine without npm."""
    unpacked = tmp_path_factory.mktemp("sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # Debian's Python 3.11.2 has none
    source = unpacked / f"sickbay-{sickbay.__version__}"
    done = build(source, "wheel", without_npm(unpacked))
    assert done.returncode == 0, done.stdout + done.stderr
    return source / "dist" / f"sickbay-{sickbay.__version__}-py3-none-any.whl"


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of an empty environment with the wheel; its dependencies are borrowed from this one."""
    home = tmp_path_factory.mktemp("empty") / "venv"
    venv.create(home, with_pip=False, symlinks=True)
    python = home / "bin" / "python"
    done = run([sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel], home)
    assert done.returncode == 0, done.stderr
    packages = next((home / "lib").glob("python*/site-packages"))
    # A folder named in a .pth file is searched last, and its own .pth files (our editable install) are not read.
    (packages / "borrowed.pth").write_text("\n".join(site.getsitepackages()) + "\n", encoding="utf-8")
    return home / "bin"


def test_wheel_holds_the_package_with_its_assets_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {Path(n).name for n in names if "/report/assets/" in n} >= BUNDLED
    assert any(n.endswith("dist-info/licenses/LICENSE") for n in names)
    assert {n.partition("/")[0] for n in names} == {"sickbay", f"sickbay-{sickbay.__version__}.dist-info"}
    assert not [n for n in names if "__pycache__" in n]


def test_wheel_holds_every_file_of_the_package(wheel: Path, root: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    package = root / "src"
    ours = {p.relative_to(package).as_posix() for p in (package / "sickbay").rglob("*") if p.is_file() and "__pycache__" not in p.parts}
    assert ours <= names


def test_wheel_does_not_ask_for_torch(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"sickbay-{sickbay.__version__}.dist-info/METADATA").decode()
    needs = [line for line in metadata.splitlines() if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert needs and not [line for line in needs if "torch" in line]


def test_bundled_version_is_the_one_asked_for(wheel: Path, root: Path) -> None:
    wanted = json.loads((root / "package.json").read_text(encoding="utf-8"))["dependencies"]["uplot"]
    with zipfile.ZipFile(wheel) as archive:
        assert f"(v{wanted})" in archive.read("sickbay/report/assets/uPlot.iife.min.js")[:200].decode()


def test_a_missing_npm_is_told_plainly(checkout: Path, tmp_path: Path) -> None:
    bare = shutil.copytree(checkout, tmp_path / "bare", ignore=shutil.ignore_patterns("uPlot.*", "dist"))
    done = build(bare, "wheel", without_npm(tmp_path))
    assert done.returncode != 0
    assert "npm was not found" in done.stdout + done.stderr


def test_installed_command_runs_from_another_folder(installed: Path, tmp_path: Path) -> None:
    done = run([installed / "sickbay", "--version"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert sickbay.__version__ in done.stdout


def test_installed_package_is_the_wheels(installed: Path, tmp_path: Path) -> None:
    done = run([installed / "python", "-c", "import sickbay; print(sickbay.__file__)"], tmp_path)
    assert done.stdout.startswith(str(installed.parent)), done.stdout + done.stderr


def test_installed_catalogue_is_complete(installed: Path, tmp_path: Path) -> None:
    done = run([installed / "sickbay", "causes"], tmp_path)
    assert done.returncode == 0, done.stderr
    missing = [name for name in sickbay.catalogue() if name not in done.stdout]
    assert not missing


def test_installed_command_diagnoses_a_script(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    done = run([installed / "sickbay", "run", "--json", "out.json", "train.py"], tmp_path, os.environ | {"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert "trained" in done.stdout
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["verdict"] == "healthy"
