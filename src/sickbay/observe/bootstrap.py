"""Gets us into a process that somebody else starts: waits for `import torch`, then installs the session, once.

`sickbay run` puts the folder `entry/` on PYTHONPATH; its `sitecustomize.py` calls `arm()` before the user's first line.
The process may belong to another interpreter with other packages, so this file needs the standard library alone.
Whatever fails here is written to `bootstrap-errors.txt` in the run folder, and the user's program goes on.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

RUN_DIR = "SICKBAY_RUN_DIR"
HOME = "SICKBAY_HOME"
ERRORS = "bootstrap-errors.txt"
ENTERED = "entered"
"""An empty file in the run folder: at least one Python process of this run was reached, torch or no torch."""
ENTRY = Path(__file__).parent / "entry"


class TorchWatcher(MetaPathFinder):
    """Stands first on `sys.meta_path` until torch is imported. It finds nothing itself; it only learns when torch is ready."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        for finder in list(sys.meta_path):
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    if spec.loader is not None:
                        self._listen(spec.loader)
                    return spec
        return None

    def _listen(self, loader: Loader) -> None:
        """Hear of the end of `loader.exec_module`. The loader object stays the same: torch.__spec__ shows no trace of us."""
        execute = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)  # if torch fails to import, we stay armed: the script may find another torch
            with suppress(AttributeError):
                del loader.exec_module  # type: ignore[method-assign]
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                install()

        try:
            loader.exec_module = exec_module  # type: ignore[method-assign]
        except Exception as e:
            tell(e)


def arm() -> None:
    """Install when torch has been imported: now, if it already is."""
    with suppress(OSError):
        os.close(os.open(Path(os.environ[RUN_DIR], ENTERED), os.O_CREAT | os.O_WRONLY))
    if "torch" in sys.modules:
        install()
    elif not any(isinstance(f, TorchWatcher) for f in sys.meta_path):
        sys.meta_path.insert(0, TorchWatcher())


def install() -> None:
    """Start the session of this process. Nothing that goes wrong in it reaches the user, except their own Ctrl-C."""
    try:
        from sickbay.observe import session
        from sickbay.settings import Settings

        session.install(Path(os.environ[RUN_DIR]), Settings.from_env())
    except KeyboardInterrupt:
        raise
    except BaseException as e:
        tell(e)


def tell(error: BaseException) -> None:
    """One line in the run folder, for the supervisor to read."""
    line = " ".join(f"process {os.getpid()}: {type(error).__name__}: {error}".split())
    with suppress(Exception), Path(os.environ[RUN_DIR], ERRORS).open("a", encoding="utf-8") as f:
        f.write(line + "\n")
