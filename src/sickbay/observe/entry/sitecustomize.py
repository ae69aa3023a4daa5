"""Python runs this file by itself when it starts, because `sickbay run` put its folder first on PYTHONPATH.

It steps aside at once: the folder leaves sys.path, torch's import is watched (see `bootstrap.py`), and the
sitecustomize that this one shadowed, if there is one, is run in its place. It may meet any Python 3, so the syntax is
old on purpose, and nothing of ours may raise here; only what the shadowed module raises itself goes on to Python.
"""

import os
import sys


def _arm():  # type: ignore[no-untyped-def]
    """Load the very sickbay that supervises us, without putting its neighbours on the user's path."""
    if "sickbay" not in sys.modules:
        import importlib.util

        folder = os.path.join(os.environ["SICKBAY_HOME"], "sickbay")
        spec = importlib.util.spec_from_file_location("sickbay", os.path.join(folder, "__init__.py"), submodule_search_locations=[folder])
        module = importlib.util.module_from_spec(spec)
        sys.modules["sickbay"] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules["sickbay"]
            raise
    from sickbay.observe import bootstrap

    bootstrap.arm()


def _enter():  # type: ignore[no-untyped-def]
    try:
        here = os.path.realpath(os.path.dirname(__file__))
        sys.path[:] = [p for p in sys.path if not p or os.path.realpath(p) != here]
        if sys.version_info >= (3, 10) and "SICKBAY_RUN_DIR" in os.environ:
            _arm()
    except Exception as e:
        _tell(e)


def _tell(error):  # type: ignore[no-untyped-def]
    try:
        with open(os.path.join(os.environ["SICKBAY_RUN_DIR"], "bootstrap-errors.txt"), "a") as f:
            f.write("process {}: {}: {}\n".format(os.getpid(), type(error).__name__, str(error).replace("\n", " ")))
    except Exception:  # noqa: S110  there is nobody left to tell
        pass


def _chain():  # type: ignore[no-untyped-def]
    """Run the sitecustomize that Python would have found without us. Its errors are its own and go on as always."""
    import importlib.machinery
    import importlib.util

    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    ours = sys.modules["sitecustomize"]
    sys.modules["sitecustomize"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules["sitecustomize"] = ours
        raise


_enter()  # type: ignore[no-untyped-call]
_chain()  # type: ignore[no-untyped-call]
