"""Trains every example of the gallery and writes its numbers, its drawing and its page.

    python docs/gallery/generate.py              all of them
    python docs/gallery/generate.py spike        one
    python docs/gallery/generate.py --drawn      only drawings and pages, from the numbers that are there

The same command gives the same files: the trainings are seeded and run on one thread.
"""

from __future__ import annotations

import ast
import csv
import importlib
import os
import subprocess
import sys
from pathlib import Path

from draw import svg

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
NAMES = ("healthy", "lr_too_large", "lr_too_small", "overfitting", "spike", "stalled", "plateau", "oscillation", "mismatch")


def train(name: str) -> None:
    """Run the example; its numbers go into data/NAME.csv."""
    import torch

    torch.set_num_threads(1)
    rows = list(importlib.import_module(name).train())
    DATA.mkdir(exist_ok=True)
    with (DATA / f"{name}.csv").open("w", newline="") as f:
        writer = csv.writer(f, lineterminator="\n")
        writer.writerow(["epoch", "train_loss", "val_loss", "lr"])
        writer.writerows([i, f"{t:.6g}", f"{v:.6g}", f"{lr:g}"] for i, (t, v, lr) in enumerate(rows))


def said(name: str) -> str:
    """What `sickbay read` prints about it, up to what was not checked."""
    command = [sys.executable, "-m", "sickbay", "read", f"data/{name}.csv"]
    done = subprocess.run(command, cwd=HERE, env=os.environ | {"COLUMNS": "100", "NO_COLOR": "1"}, capture_output=True, text=True, check=True)
    lines = done.stdout.split("\nNot checked")[0].splitlines()
    return "\n".join(line.rstrip() for line in lines[1:]).strip()


def write(name: str) -> str:
    """The drawing and the page; returns the title."""
    with (DATA / f"{name}.csv").open(newline="") as f:
        rows = list(csv.DictReader(f))
    text = ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or ""
    title = text.splitlines()[0].removeprefix("# ")
    curves = {"training loss": [float(r["train_loss"]) for r in rows], "validation loss": [float(r["val_loss"]) for r in rows]}
    (HERE / f"{name}.svg").write_text(svg(curves, title))
    page = f"""{text}

![{title}: training and validation loss by epoch]({name}.svg)

## What sickbay says

```text
$ sickbay read data/{name}.csv
{said(name)}
```

The numbers are in [data/{name}.csv](data/{name}.csv), the training is [{name}.py]({name}.py); `python docs/gallery/generate.py {name}` makes both again.
"""
    (HERE / f"{name}.md").write_text(page)
    return title


def main() -> None:
    chosen = [n for n in sys.argv[1:] if not n.startswith("-")] or list(NAMES)
    for name in chosen:
        if "--drawn" not in sys.argv:
            train(name)
        print(f"{name}: {write(name)}")
    titles = {n: (HERE / f"{n}.md").read_text().splitlines()[0].removeprefix("# ") for n in NAMES if (HERE / f"{n}.md").exists()}
    index = [
        "# The gallery",
        "",
        "Curves of real, small trainings, one for each shape that an expert knows by sight, and what sickbay says about each.",
        "",
    ]
    index += [f"- [{title}]({n}.md)" for n, title in titles.items()]
    (HERE / "README.md").write_text("\n".join(index) + "\n")


if __name__ == "__main__":
    main()
