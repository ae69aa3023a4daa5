"""Habits that a machine can keep: no stray prints, no registry addresses, one version, light imports (public names: tests/test_public.py)."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import sickbay
from repo.source import PACKAGE, ROOT, modules, tree

MAY_PRINT = frozenset({"report/terminal.py"})
"""Everything a user reads is drawn in one place; the rest returns or writes to a stream it was given."""

REGISTRIES = frozenset(
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("deb", "debian", "org"),
        ("download", "pytorch", "org"),
        ("anaconda", "org"),
    )
)
NOT_OURS = frozenset({".git", ".venv", "node_modules", "dist", "build", "__pycache__", "assets", ".sickbay"})


def our_files() -> Iterator[Path]:
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if f not in NOT_OURS and not f.endswith("_cache"))
        yield from (Path(folder, file) for file in sorted(files))


def test_no_print_outside_the_reporter() -> None:
    stray = [
        f"{path}:{node.lineno}"
        for path in modules().values()
        if path.relative_to(PACKAGE).as_posix() not in MAY_PRINT
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert not stray, "\n".join(stray)


def test_no_registry_hosts_in_files() -> None:
    named = []
    for path in our_files():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        named += [f"{path} names {host}" for host in sorted(REGISTRIES) if host in text]
    assert not named, "packages are asked for by name, wherever the reader's registry is:\n" + "\n".join(named)


def test_lockfile_names_no_download_address() -> None:
    lock = (ROOT / "package-lock.json").read_text(encoding="utf-8")
    assert '"resolved"' not in lock, "write it with omit-lockfile-registry-resolved=true (see .npmrc)"
    assert '"integrity"' in lock


def test_version_has_one_source() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {sickbay.__version__}" in changelog, "CHANGELOG.md has no section for this version"


def fastest(code: str, tmp_path: Path, runs: int = 5) -> float:
    """Seconds of the fastest of several Python processes, with compiled files: what the machine can do, whatever else it does."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"} | {"PYTHONPYCACHEPREFIX": str(tmp_path)}
    command = [sys.executable, "-c", code]
    subprocess.run(command, env=environment, check=True)
    best = float("inf")
    for _ in range(runs):
        started = time.perf_counter()
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        best = min(best, time.perf_counter() - started)
    return best


def test_importing_sickbay_is_light(tmp_path: Path) -> None:
    extra = fastest("import sickbay", tmp_path) - fastest("pass", tmp_path)
    assert extra < 0.1, f"`import sickbay` takes {1000 * extra:.0f} ms more than bare Python; at most 100 ms are allowed"


def test_help_is_quick(tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['sickbay', '--help']\nfrom sickbay.cli import main\nmain()"
    extra = fastest(code, tmp_path) - fastest("pass", tmp_path)
    assert extra < 0.3, f"`sickbay --help` takes {1000 * extra:.0f} ms more than bare Python; at most 300 ms are allowed"
