"""Every command and code block of the README and the docs runs.

A fenced block in bash, console or python is marked after its language: `runnable` blocks are run here, from top to bottom,
all blocks of one document in one scratch folder that holds `examples/`; `illustration` blocks are not (they install
something, need a user's own files or take long). In console blocks the lines after `$ ` are run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from repo.source import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "ward" / "README.md"])
DOCUMENTS = [d for d in DOCUMENTS if "causes" not in d.relative_to(ROOT).parts]
CODE = ("bash", "sh", "console", "python")
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    document: Path
    line: int
    language: str
    marks: tuple[str, ...]
    text: str


def blocks(document: Path) -> list[Block]:
    text = document.read_text(encoding="utf-8")
    return [Block(document, text.count("\n", 0, m.start()) + 1, m[1], tuple(m[2].split()), m[3]) for m in FENCE.finditer(text) if m[1] in CODE]


def script(block: Block) -> list[str]:
    if block.language == "python":
        return [sys.executable, "-c", block.text]
    text = block.text
    if block.language == "console":
        text = "\n".join(line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ "))
    return ["bash", "-euo", "pipefail", "-c", text]


def name(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def test_code_blocks_are_marked() -> None:
    unmarked = [f"{name(b.document)}:{b.line}" for d in DOCUMENTS for b in blocks(d) if not {"runnable", "illustration"} & set(b.marks)]
    assert not unmarked, "mark these blocks `runnable` or `illustration` after the language: " + ", ".join(unmarked)


@pytest.mark.parametrize("document", [d for d in DOCUMENTS if any("runnable" in b.marks for b in blocks(d))], ids=name)
def test_runnable_blocks_run(document: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__", ".sickbay"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "COLUMNS": "100"}
    for block in blocks(document):
        if "runnable" in block.marks:
            done = subprocess.run(script(block), cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=180)
            assert done.returncode == 0, f"{name(document)}:{block.line} failed with {done.returncode}:\n{done.stdout}\n{done.stderr}"


def test_links_between_documents_lead_somewhere() -> None:
    broken = []
    for document in DOCUMENTS:
        targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", document.read_text(encoding="utf-8"))
        broken += [f"{name(document)} -> {target}" for target in targets if not (document.parent / target).exists()]
    assert not broken, "\n".join(broken)
