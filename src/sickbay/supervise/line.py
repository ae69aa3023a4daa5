"""The one live line at the bottom of an interactive terminal.

The terminal's scroll region is made one row shorter, as apt does for its progress bar: the script's output scrolls above
and never meets the line. Whatever happens, the region is given back.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

SAVE, RESTORE = "\0337", "\0338"
DIM, PLAIN = "\033[2m", "\033[0m"
SMALLEST_ROWS = 4
TICK_SECONDS = 0.5


class LiveLine:
    """Owns the bottom row of the terminal `fd` between `open` and `close`. Each change is one write, so it cannot be torn."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._rows = 0
        """Height for which the region is set; 0 while it is not."""
        self.lock = threading.RLock()

    def open(self) -> None:
        with self.lock, suppress(OSError):
            rows = os.get_terminal_size(self.fd).lines
            if rows >= SMALLEST_ROWS and _in_foreground(self.fd):
                # The new line makes room if the cursor stands on the last row; setting the region moves the cursor home.
                self._write(f"\n{SAVE}\033[1;{rows - 1}r{RESTORE}\033[1A")
                self._rows = rows

    def show(self, text: str) -> None:
        """Draw the line anew; follow the terminal if it was resized."""
        with self.lock, suppress(OSError):
            columns, rows = os.get_terminal_size(self.fd)
            if rows != self._rows:
                self.close()
                self.open()
            if self._rows and _in_foreground(self.fd):
                fitting = text if len(text) < columns else text[: max(columns - 2, 0)] + "…"
                self._write(f"{SAVE}\033[{self._rows};1H\033[2K{DIM}{fitting}{PLAIN}{RESTORE}")

    def close(self) -> None:
        """Clear the line and give the whole screen back. Safe to call at any time, any number of times."""
        with self.lock, suppress(OSError):
            if self._rows:
                rows, self._rows = self._rows, 0
                self._write(f"{SAVE}\033[{rows};1H\033[2K\033[r{RESTORE}")

    def _write(self, text: str) -> None:
        os.write(self.fd, text.encode())


def _in_foreground(fd: int) -> bool:
    """A job in the background must not draw on the terminal."""
    try:
        return os.tcgetpgrp(fd) == os.getpgrp()
    except OSError:
        return False


@contextmanager
def live_line(text: Callable[[], str], enabled: bool = True) -> Iterator[None]:
    """Show `text()` twice a second while the block runs, if standard output is a terminal; else do nothing."""
    if not (enabled and os.name == "posix" and sys.stdout.isatty() and os.environ.get("TERM", "dumb") != "dumb"):
        yield
        return
    line, over = LiveLine(sys.stdout.fileno()), threading.Event()

    def draw() -> None:
        while not over.wait(TICK_SECONDS):
            with suppress(Exception):
                line.show(text())

    thread = threading.Thread(target=draw, name="sickbay-live-line", daemon=True)
    with _stopping_politely(line):
        try:
            line.open()
            thread.start()
            yield
        finally:
            over.set()
            with suppress(RuntimeError):
                thread.join()
            line.close()


@contextmanager
def _stopping_politely(line: LiveLine) -> Iterator[None]:
    """Ctrl-Z: give the screen back to the shell, stop, and take the line again when we are continued."""

    def stop(number: int, _: FrameType | None) -> None:
        with line.lock:
            line.close()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)  # we stand still here until the shell says `fg`
            signal.signal(number, stop)

    before = signal.getsignal(signal.SIGTSTP)
    if before is not signal.SIG_IGN:
        signal.signal(signal.SIGTSTP, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTSTP, before)
