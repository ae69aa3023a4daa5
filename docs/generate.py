"""Writes the documentation that has its source elsewhere.

    python docs/generate.py              the catalogue's pages, from the causes' own docstrings, into docs/reference/causes/
    python docs/generate.py --readme     the demo's real output into README.md

`make docs` does the first.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from sickbay.causes import catalogue
from sickbay.nouns import LEVELS

ROOT = Path(__file__).resolve().parents[1]
CAUSES = ROOT / "docs" / "reference" / "causes"
DEMO = Path("examples/digits_classifier.py")
DEMO_BLOCK = re.compile(r"(<!-- demo output: begin[^\n]*-->\n).*?(<!-- demo output: end -->)", re.DOTALL)


def write_catalogue() -> None:
    CAUSES.mkdir(parents=True, exist_ok=True)
    for old in CAUSES.glob("*.md"):
        old.unlink()
    index = ["# The catalogue", ""]
    for level in LEVELS:
        causes = sorted((c for c in catalogue().values() if c.level == level), key=lambda c: c.code)
        if causes:
            index += [f"## {level.capitalize()}", "", "| code | cause | what it is |", "|---|---|---|"]
            index += [f"| {c.code} | [{c.name}]({c.name}.md) | {c.title} |" for c in causes] + [""]
        for cause in causes:
            page = f"# {cause.name} ({cause.code})\n\n{cause.doc.strip()}\n"
            (CAUSES / f"{cause.name}.md").write_text(page, encoding="utf-8")
    (CAUSES / "README.md").write_text("\n".join(index), encoding="utf-8")
    print(f"wrote {len(catalogue())} pages into {CAUSES}")


def write_demo_into_readme() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8")
    filled, count = DEMO_BLOCK.subn(lambda m: f"{m[1]}```text\n{demo_output()}\n```\n{m[2]}", text)
    if count != 1:
        sys.exit(f"README.md has {count} places for the demo's output; expected 1")
    readme.write_text(filled, encoding="utf-8")
    print(f"wrote the demo's output into {readme}")


def demo_output() -> str:
    """What `make demo` prints, with the scratch folder's name taken out."""
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "examples").symlink_to(ROOT / "examples")
        command = [sys.executable, "-m", "sickbay", "run", str(DEMO)]
        environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}
        done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=True)
        lines = [line.rstrip() for line in done.stdout.replace(f"{Path(scratch).resolve()}/", "").splitlines()]
    return f"$ sickbay run {DEMO}\n" + "\n".join(lines).strip()


def main() -> None:
    parser = argparse.ArgumentParser(description="Write generated documentation.")
    parser.add_argument("--readme", action="store_true", help="run the demo and put its output into README.md")
    options = parser.parse_args()
    if options.readme:
        write_demo_into_readme()
    else:
        write_catalogue()


if __name__ == "__main__":
    main()
