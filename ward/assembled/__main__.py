"""Many scripts put together from parts: does sickbay accuse a healthy one of something, does a way of writing hide a mistake?

    python -m assembled --healthy 100                  from the folder ward/
    python -m assembled --mistakes 4 --style phases    each mistake four times, in one style

Each script runs in a process of its own that is forked from this one, so that torch is imported once. Healthy scripts are short and not tuned:
that one could train longer is no alarm; a *proven* diagnosis is.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import runpy
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from assembled import loops
from assembled.mistakes import MISTAKES
from assembled.tasks import TASKS

HEAD = """\
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
torch.manual_seed({seed})
EPOCHS = 8
"""
MOST_DRAWS = 600


def script(seed: int, style: str = "") -> tuple[str, str]:
    """What the script is like, and its text."""
    r = Random(seed)
    make = r.choice(TASKS)
    task = make(r)
    loop = r.choice([s for s in loops.STYLES if style in ("", s.__name__)])
    batches, parts = loops.draw(r, task.loss)
    lines = loop(parts)
    return f"{make.__name__}, {loop.__name__}", HEAD.format(seed=seed % 1000) + task.data + batches + task.network + "\n".join(lines) + "\n"


def diagnosed(text: str) -> dict[str, Any]:
    """The verdict on a script, in a forked process."""
    with tempfile.TemporaryDirectory(prefix="assembled-") as folder:
        answer = Path(folder) / "answer.json"
        child = os.fork()
        if child == 0:
            try:
                answer.write_text(json.dumps(_run(Path(folder), text)), encoding="utf-8")
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {"verdict": "died", "causes": [], "failed": []}
        return found


def _run(folder: Path, text: str) -> dict[str, Any]:
    from sickbay.conclude import diagnose
    from sickbay.observe import starting
    from sickbay.observe.endings import note_crash
    from sickbay.record.reader import read_record
    from sickbay.settings import Settings

    os.chdir(folder)
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    sys.argv = [str(path)]
    record = starting.record_path(folder)
    session = starting.start(record, Settings())
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except Exception as error:
            note_crash(session, error)
    failed = [f"{what}: {why}" for what, why in session.limits.items() if "failed" in why]
    session.close()
    told = diagnose(read_record(record))
    return {"verdict": told.verdict, "causes": [(c.cause, c.certainty) for c in told.causes], "failed": failed}


def healthy(count: int, first: int, style: str) -> Iterator[tuple[str, bool]]:
    """Of each script what was said, and whether that was right."""
    for seed in range(first, first + count):
        like, text = script(seed, style)
        found = diagnosed(text)
        proven = [cause for cause, certainty in found["causes"] if certainty == "proven"]
        said = f"{found['verdict']}: {', '.join(cause for cause, _ in found['causes'][:3])}".rstrip(": ")
        yield (
            f"{seed} ({like}): {said}{' PROVEN' if proven else ''} {' '.join(found['failed'])}",
            not proven and not found["failed"] and found["verdict"] != "died",
        )


def mistaken(name: str, count: int, first: int, style: str) -> Iterator[tuple[str, bool]]:
    mistake, done = MISTAKES[name], 0
    for seed in range(first, first + MOST_DRAWS):
        like, text = script(seed, style)
        changed = mistake.change(text)
        if changed is None:
            continue
        found = diagnosed(changed)
        said = [cause for cause, _ in found["causes"]]
        yield f"{seed} ({like}): {name}: {', '.join(said[:3]) or found['verdict']} {' '.join(found['failed'])}", said[:1] == [mistake.cause]
        done += 1
        if done == count:
            return


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m assembled", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--healthy", type=int, default=0, metavar="N", help="healthy scripts")
    parser.add_argument("--mistakes", type=int, default=0, metavar="N", help="scripts with each mistake")
    parser.add_argument("--only", default="", metavar="WORD", help="mistakes with this word in their name or cause")
    parser.add_argument("--style", default="", choices=["", *(s.__name__ for s in loops.STYLES)], help="one way to write the loop")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first script")
    parser.add_argument("--print", type=int, metavar="SEED", help="only print this script")
    options = parser.parse_args()
    if options.print is not None:
        print(script(options.print, options.style)[1])
        return 0
    import torch

    torch.set_num_threads(1)
    names = [name for name, m in MISTAKES.items() if options.only in f"{name} {m.cause}"] if options.mistakes else []
    wrong = 0
    for rows in (healthy(options.healthy, options.seed, options.style), *(mistaken(n, options.mistakes, options.seed, options.style) for n in names)):
        results = list(_told(rows))
        wrong += results.count(False)
        if results:
            print(f"{results.count(True)} of {len(results)} right", flush=True)
    return 1 if wrong else 0


def _told(rows: Iterator[tuple[str, bool]]) -> Iterator[bool]:
    for text, right in rows:
        if not right:
            print(f"  {text}", flush=True)
        yield right


if __name__ == "__main__":
    sys.exit(main())
