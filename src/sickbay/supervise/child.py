"""The child process: what it finds in its environment, the signals that reach it, how it ended.

The child has our stdin, stdout, stderr and process group, so nothing stands between it and the terminal: Ctrl-C goes to
it directly. We only stay alive until it has ended, pass on what was sent to us alone, and tell its ending truthfully.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from sickbay.errors import UsageError
from sickbay.observe import bootstrap
from sickbay.settings import Settings

ENTRY = Path(bootstrap.__file__).resolve().parent / "entry"
FROM_TERMINAL = ("SIGINT", "SIGQUIT")
"""The terminal sends these to the whole group: the child has them already."""
TO_US_ALONE = ("SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2")
"""Somebody who knows only our process id sends these (a cluster's scheduler before it preempts a job): pass them on."""
DIE_ALIKE = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


@dataclass(frozen=True, slots=True)
class Ending:
    returncode: int
    """As `subprocess` has it: negative for a signal."""
    seconds: float

    @property
    def exit(self) -> int | str:
        """The exit code, or the name of the signal."""
        if self.returncode >= 0:
            return self.returncode
        with suppress(ValueError):
            return signal.Signals(-self.returncode).name
        return f"signal {-self.returncode}"

    @property
    def code(self) -> int:
        """As a shell has it: 128 + n for signal n."""
        return self.returncode if self.returncode >= 0 else 128 - self.returncode


def environment(folder: Path, settings: Settings, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment in which sickbay follows into every Python process that is started from the child."""
    env = dict(os.environ if base is None else base)
    others = [p for p in env.get("PYTHONPATH", "").split(os.pathsep) if p != str(ENTRY)] if env.get("PYTHONPATH") else []
    env["PYTHONPATH"] = os.pathsep.join([str(ENTRY), *others])
    env[bootstrap.RUN_DIR] = str(folder.resolve())
    env[bootstrap.HOME] = str(Path(__file__).resolve().parents[2])
    return env | settings.to_env()


def run_child(argv: Sequence[str], env: Mapping[str, str], cwd: str | None = None) -> Ending:
    """Start it (here, or in `cwd`) and wait until it has ended, however it ends."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    started = time.monotonic()
    with _signals() as reached:
        try:
            # close_fds=False: descriptors that a shell opened for the command (3>file) are the child's too; ours are not inheritable.
            child = subprocess.Popen(argv, env=env, cwd=cwd, close_fds=False)
        except OSError as e:
            raise UsageError(f"could not start {argv[0]!r}: {e.strerror or e}") from None
        reached.child = child
        reached.forward()
        _wait(child)
        returncode = child.wait()
    return Ending(returncode, time.monotonic() - started)


def _wait(child: subprocess.Popen[bytes]) -> None:
    """Until the child has ended. A plain wait could miss a signal that comes right before it blocks, and pass it on only after the end."""
    try:
        ended = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # not on this system, or it has ended already
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    try:
        while ended not in (ready := select.select([ended, read], [], [])[0]):
            if read in ready:
                os.read(read, 4096)  # our handler has passed the signal on by now
    finally:
        signal.set_wakeup_fd(before)
        for fd in (ended, read, write):
            os.close(fd)


class _Reached:
    """Signals that reached us and wait to be passed on."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None
        self.waiting: list[int] = []

    def take(self, number: int, _: FrameType | None) -> None:
        self.waiting.append(number)
        self.forward()

    def ignore(self, number: int, _: FrameType | None) -> None:
        """A handler and not SIG_IGN, which the child would inherit: it must die of its Ctrl-C as always."""

    def forward(self) -> None:
        while self.child is not None and self.waiting:
            with suppress(OSError):
                self.child.send_signal(self.waiting.pop(0))


@contextmanager
def _signals() -> Iterator[_Reached]:
    reached = _Reached()
    before = {}
    for names, handler in ((FROM_TERMINAL, reached.ignore), (TO_US_ALONE, reached.take)):
        for name in names:
            number = getattr(signal, name, None)
            # What is ignored already (nohup, a background job) stays so, for us and, by inheritance, for the child.
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, handler)
    try:
        yield reached
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def end_like(ending: Ending, code: int) -> None:
    """Leave this process as the child left its own, so that a shell's loop stops at Ctrl-C. Does not return."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    if ending.exit in DIE_ALIKE:
        number = -ending.returncode
        signal.signal(number, signal.SIG_DFL)
        if number == signal.SIGQUIT:
            _no_core()
        os.kill(os.getpid(), number)
        time.sleep(1)  # the signal may be blocked: then the exit code says it
    sys.exit(code)


def _no_core() -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
