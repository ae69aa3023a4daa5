"""Gets us into a process that somebody else starts: waits for `import torch`, then installs the session, once.

`sickbay run` puts the folder `entry/` on PYTHONPATH; its `sitecustomize.py` calls `arm()` before the user's first line.
The process may belong to another interpreter with other packages, and this is run in every process that the user's
command starts, torch or no torch: so it needs the standard library alone, and next to nothing of that.
Whatever fails here is written to `bootstrap-errors.txt` in the run folder, and the user's program goes on.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # the same name in `typing` means the same to mypy; importing `typing` takes longer than all this file
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from types import ModuleType

    from sickbay.observe.session import Session

RUN_DIR = "SICKBAY_RUN_DIR"
HOME = "SICKBAY_HOME"
TRIAL = "SICKBAY_TRIAL"
ERRORS = "bootstrap-errors.txt"
UNTREATED = 70
"""Exit code of a process that could not be treated or fenced as asked (EX_SOFTWARE of sysexits.h)."""
PYTHON_REACHED, TORCH_REACHED = ".python", ".torch"
"""Empty files in the run folder: some process of the run got here, and got as far as importing torch."""


class TorchWatcher:
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
            try:
                execute(module)
            except BaseException as e:
                # We stay armed: the script may find another torch. Its traceback shows no frame of ours.
                e.__traceback__ = e.__traceback__ and e.__traceback__.tb_next
                raise
            vars(loader).pop("exec_module", None)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                install()

        try:
            loader.exec_module = exec_module  # type: ignore[method-assign]
        except Exception as e:
            tell(e)


def arm() -> None:
    """Install when torch has been imported: now, if it already is."""
    _mark(PYTHON_REACHED)
    if TRIAL in os.environ:
        _put_up_fence()
    if "torch" in sys.modules:
        install()
    elif not any(isinstance(f, TorchWatcher) for f in sys.meta_path):
        sys.meta_path.insert(0, TorchWatcher())


def install() -> None:
    """Start the session of this process. Nothing that goes wrong in it reaches the user, except their own Ctrl-C."""
    _mark(TORCH_REACHED)
    try:
        from pathlib import Path

        from sickbay.observe import starting
        from sickbay.settings import Settings

        begun = starting.install(Path(os.environ[RUN_DIR]), Settings.from_env())
    except KeyboardInterrupt:
        raise
    except BaseException as e:
        tell(e)
    else:
        if TRIAL in os.environ:
            _treat(begun)


def _treat(session: Session) -> None:
    """Change what the run is to be tried with. If that cannot be done the script must not go on as if it had been."""
    from sickbay.trials import inside
    from sickbay.trials.orders import Orders

    try:
        orders = Orders.from_env()
        if orders is not None:
            inside.begin(session, orders)
    except Exception as e:
        tell(e)
        os._exit(UNTREATED)


def _put_up_fence() -> None:
    """Before the script's first line: it may open files before it imports torch."""
    from sickbay.trials import fence
    from sickbay.trials.orders import Orders

    try:
        orders = Orders.from_env()
        if orders is not None and orders.scratch:
            fence.put_up(orders.scratch, os.environ[RUN_DIR])
    except Exception as e:
        tell(e)
        os._exit(UNTREATED)


def tell(error: BaseException) -> None:
    """One line in the run folder, for the supervisor to read."""
    line = " ".join(f"process {os.getpid()}: {type(error).__name__}: {error}".split())
    try:
        with open(f"{os.environ[RUN_DIR]}/{ERRORS}", "a", encoding="utf-8") as f:
            f.write(line + "\n")
    except Exception:
        pass


def _mark(name: str) -> None:
    try:  # noqa: SIM105
        os.close(os.open(f"{os.environ[RUN_DIR]}/{name}", os.O_CREAT | os.O_WRONLY))
    except (OSError, KeyError):
        pass
