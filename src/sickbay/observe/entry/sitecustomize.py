"""Python runs this file by itself when it starts, because `sickbay run` put its folder first on PYTHONPATH.

It steps aside at once: the folder leaves sys.path, torch's import is watched (see `bootstrap.py`), and the
sitecustomize that this one shadowed, if there is one, is run in its place. It may meet any Python 3, so the syntax is
old on purpose; it runs in every process, so imports are few; and nothing of ours may raise here: only what the shadowed
module raises itself goes on to Python.
"""

import os
import sys
from importlib.machinery import ModuleSpec, PathFinder


class _Home:
    """Finds the very sickbay that supervises us, and nothing of what is installed beside it."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        return PathFinder.find_spec(name, [os.environ["SICKBAY_HOME"]]) if name == "sickbay" else None


def _arm() -> None:
    sys.meta_path.insert(0, _Home)
    try:
        import sickbay  # noqa: F401
    finally:
        sys.meta_path.remove(_Home)
    from sickbay.observe import bootstrap

    bootstrap.arm()


def _enter() -> None:
    try:
        here = os.path.realpath(os.path.dirname(__file__))
        sys.path[:] = [p for p in sys.path if not p or os.path.realpath(p) != here]
        if sys.version_info >= (3, 10) and "SICKBAY_RUN_DIR" in os.environ:
            _arm()
    except Exception as e:
        _tell(e)


def _tell(error: BaseException) -> None:
    try:
        with open(os.path.join(os.environ["SICKBAY_RUN_DIR"], "bootstrap-errors.txt"), "a") as f:
            f.write("process {}: {}: {}\n".format(os.getpid(), type(error).__name__, str(error).replace("\n", " ")))
    except Exception:
        pass


def _chain() -> None:
    """Run the sitecustomize that Python would have found without us. Its errors are its own and go on as always."""
    if PathFinder.find_spec("sitecustomize") is not None:
        del sys.modules["sitecustomize"]
        __import__("sitecustomize")


_enter()
_chain()
