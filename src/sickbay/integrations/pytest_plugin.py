"""For pytest, found by itself once sickbay is installed.

`pytest --sickbay`      tests that train are watched, and fail with the diagnosis if the training is sick
`sickbay_overfits`      a fixture: can a model learn one batch by heart?
`sickbay_healthy`       a fixture: is a training script well?

Without the option and the fixtures nothing of this imports torch or anything else that is heavy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from sickbay.exams.overfit import Overfit
    from sickbay.integrations.watched_tests import WatchedTest
    from sickbay.nouns import Diagnosis

LEVELS = ("architecture", "procedure")
"""What is a mistake whatever the data: the numbers that a test trains on, its learning rate and its number of steps are mostly made up."""
MARKER = "sickbay(allow=[cause, ...], watch=True): with --sickbay, causes that this test may show; watch=False leaves it alone"
_watched = pytest.StashKey["WatchedTest"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("sickbay")
    group.addoption("--sickbay", action="store_true", help="watch tests that train a PyTorch model, and fail those whose training is sick")
    group.addoption("--sickbay-allow", metavar="CAUSE,...", default="", help="with --sickbay: causes that no test fails for")
    parser.addini("sickbay", "as if --sickbay were always given", type="bool", default=False)
    parser.addini("sickbay_allow", "with --sickbay: causes that no test fails for", type="args", default=[])
    parser.addini("sickbay_levels", "with --sickbay: levels of causes that a test fails for, or all", type="args", default=list(LEVELS))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)
    if not _is_on(config):
        return
    import importlib.util

    from sickbay.errors import SickbayError

    if importlib.util.find_spec("torch") is None:
        raise pytest.UsageError("--sickbay watches PyTorch, and there is no torch in this environment")
    try:
        _allowed(config)
    except SickbayError as e:
        raise pytest.UsageError(f"--sickbay-allow: {e}") from None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Iterator[None]:
    """Fixtures that train are watched with the first test that asks for them."""
    marker = item.get_closest_marker("sickbay")
    if _is_on(item.config) and not (marker is not None and marker.kwargs.get("watch") is False):
        from sickbay.integrations.watched_tests import WatchedTest

        item.stash[_watched] = watched = WatchedTest()
        watched.begin()
    return (yield)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    watched = item.stash.get(_watched, None)
    if watched is None:
        return (yield)
    try:
        result = yield
    except BaseException as e:
        watched.end(e)
        if told := _told(item, watched):
            item.add_report_section("call", "sickbay", told)
        raise
    watched.end()
    if told := _told(item, watched):
        pytest.fail(told, pytrace=False)
    return result


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    watched = item.stash.get(_watched, None)
    if watched is not None:
        watched.end()  # where the set-up failed, the test itself was never called


def _told(item: pytest.Item, watched: WatchedTest) -> str:
    """What the test fails for; empty if for nothing."""
    marker = item.get_closest_marker("sickbay")
    allowed = _allowed(item.config) | _named(marker.kwargs.get("allow", ()) if marker is not None else ())
    return watched.told(allowed, item.config.getini("sickbay_levels"))


def _is_on(config: pytest.Config) -> bool:
    return bool(config.getoption("--sickbay") or config.getini("sickbay"))


def _allowed(config: pytest.Config) -> frozenset[str]:
    given = [name.strip() for name in config.getoption("--sickbay-allow").split(",") if name.strip()]
    return _named([*given, *config.getini("sickbay_allow")])


def _named(causes: Any) -> frozenset[str]:
    """Names of causes that are given by name or code. One that does not exist is an error: it would allow nothing, in silence."""
    from sickbay.causes import find

    return frozenset(find(name).name for name in ([causes] if isinstance(causes, str) else causes))


@pytest.fixture
def sickbay_overfits() -> Callable[..., Overfit]:
    """`sickbay_overfits(model, (inputs, targets), loss_fn)` fails the test if the model cannot learn that one batch by heart."""

    def check(model: Any, batch: Any, loss_fn: Callable[[Any, Any], Any], *, steps: int = 300) -> Overfit:
        from sickbay.exams.overfit import overfit

        result = overfit(model, batch, loss_fn, steps=steps)
        if not result:
            pytest.fail(f"{type(model).__name__} does not overfit one batch: {result.reason}", pytrace=False)
        return result

    return check


@pytest.fixture
def sickbay_healthy(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Diagnosis]:
    """`sickbay_healthy("train.py", "--epochs", 1, steps=200)` runs a script and fails the test if it is sick, breaks down or does not train.

    The script is run as it is, in a process of its own; what it writes goes to a scratch folder. `allow` names causes that it may show.
    """

    def check(script: str | Path, *arguments: object, steps: int | None = None, allow: Any = (), seconds: float | None = None) -> Diagnosis:
        from sickbay.integrations.watched_tests import healthy

        diagnosis, why = healthy((str(script), *map(str, arguments)), tmp_path_factory.mktemp("sickbay"), steps, _named(allow), seconds)
        if diagnosis is None or why:
            pytest.fail(why, pytrace=False)
        return diagnosis

    return check
