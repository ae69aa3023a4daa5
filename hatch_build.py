"""Bundles the report's chart library (uPlot) into the package when a wheel, sdist or editable install is built.

The library is a dependency of the build (package.json, with its exact version), not a file in the repository. Once
bundled it is left alone until package.json asks for another version, and an sdist carries it, so Node is needed only
for the first build from a checkout.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ASSETS = Path("src/sickbay/report/assets")
BUNDLED = {
    "dist/uPlot.iife.min.js": "uPlot.iife.min.js",
    "dist/uPlot.min.css": "uPlot.min.css",
    "LICENSE": "uPlot.LICENSE.txt",
}
NPM_INPUTS = ("package.json", "package-lock.json", ".npmrc")


class BundleAssets(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        wanted = wanted_version(root)
        if bundled_version(root) != wanted:
            self.app.display_info(f"bundling uPlot {wanted} for the HTML report")
            bundle(root)
        if (found := bundled_version(root)) != wanted:
            raise SystemExit(f"hatch_build.py: bundled uPlot {found}, but package.json asks for {wanted}; run `npm install --package-lock-only`")

    def clean(self, versions: list[str]) -> None:
        for name in BUNDLED.values():
            (Path(self.root) / ASSETS / name).unlink(missing_ok=True)


def wanted_version(root: Path) -> str:
    return str(json.loads((root / "package.json").read_text(encoding="utf-8"))["dependencies"]["uplot"])


def bundled_version(root: Path) -> str | None:
    """The version that the bundled script names in its first line: `/*! … (v1.6.32) */`; None unless all files are there."""
    files = [root / ASSETS / name for name in BUNDLED.values()]
    if not all(file.is_file() for file in files):
        return None
    first_line = files[0].read_text(encoding="utf-8").split("\n", 1)[0]
    return first_line.partition("(v")[2].partition(")")[0] or None


def bundle(root: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit(
            "hatch_build.py: npm was not found. Building sickbay from a checkout bundles the report's chart library, which "
            "comes from npm: install Node.js with npm (Debian: `apt-get install npm`), or install the released package "
            "(`pip install sickbay`), which needs no Node."
        )
    with tempfile.TemporaryDirectory(prefix="sickbay-npm-") as scratch:
        for name in NPM_INPUTS:
            if (root / name).is_file():
                shutil.copy(root / name, scratch)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"]
        done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"hatch_build.py: `{' '.join(command)}` failed with exit code {done.returncode}:\n{done.stderr.strip()[-2000:]}")
        (root / ASSETS).mkdir(parents=True, exist_ok=True)
        for source, name in BUNDLED.items():
            shutil.copyfile(Path(scratch) / "node_modules/uplot" / source, root / ASSETS / name)
