"""A small script run under a session with a treatment, in this process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from observe.conftest import clean_process  # noqa: F401
from observe.watched import PREAMBLE, exact
from sickbay.record.reader import Record, read_record

Treated = Callable[..., tuple[Record, dict[str, Any]]]


def start_for_ctrl_c(cwd: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
    """A command of ours that Ctrl-C reaches: what runs in the background ignores it, and so would its children."""
    return subprocess.Popen(
        [sys.executable, "-m", "sickbay", *words],
        cwd=cwd,
        env=os.environ | {"OMP_NUM_THREADS": "1", "NO_COLOR": "1"} | variables,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.fixture
def treated(tmp_path: Path) -> Treated:
    """`treated("lr=x0.1", text)`: the record and the script's own variables."""
    pytest.importorskip("torch")

    def run(treat: str, text: str, **orders: Any) -> tuple[Record, dict[str, Any]]:
        from sickbay.observe.starting import start
        from sickbay.trials import inside
        from sickbay.trials.orders import Orders
        from sickbay.trials.stop import Enough

        number = len(list(tmp_path.glob("train*.py")))
        file, path = tmp_path / f"train{number}.py", tmp_path / f"run{number}.sickbay"
        file.write_text(PREAMBLE + text)
        names: dict[str, Any] = {"__name__": "__main__", "__file__": str(file)}
        session = start(path, exact())
        try:
            inside.begin(session, Orders(treat=treat, **orders))
            exec(compile(PREAMBLE + text, str(file), "exec"), names)
        except Enough:
            pass
        finally:
            session.close()
        return read_record(path), names

    return run
