"""The supervisor with real child processes: nothing of the script's own changes, and it survives however the script ends."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sickbay
from sickbay.errors import UsageError
from sickbay.runs import RunInfo
from sickbay.supervise.command import resolve
from sickbay.supervise.line import LiveLine
from sickbay.supervise.pulse import Checkup, Pulse, describe, read_pulse

SOURCE = str(Path(sickbay.__file__).resolve().parents[1])
TOOL = [sys.executable, "-m", "sickbay"]
NEVER = b"never imported torch, so there was no training to watch.\n"


def clean_environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SICKBAY", "PYTHON"))}
    return kept | {"PYTHONPATH": SOURCE, "OMP_NUM_THREADS": "1"}


def run(folder: Path, *words: str, quiet: bool = True, **more: object) -> subprocess.CompletedProcess[bytes]:
    options = ["--quiet"] if quiet else []
    return subprocess.run([*TOOL, "run", *options, *words], cwd=folder, env=clean_environment(), capture_output=True, timeout=90, check=False, **more)  # type: ignore[call-overload]


def plain(folder: Path, *words: str, **more: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, *words], cwd=folder, env=clean_environment(), capture_output=True, timeout=90, check=False, **more)  # type: ignore[call-overload]


def script(folder: Path, text: str, name: str = "train.py") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return name


def the_run(folder: Path) -> Path:
    (only,) = (folder / ".sickbay" / "runs").iterdir()
    return only


# -- the ending ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code", "told"),
    [
        ("pass", 0, 0),
        ("import sys; sys.exit(3)", 3, 3),
        ("import os; os._exit(4)", 4, 4),
        ("raise ValueError('mine')", 1, 1),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, "SIGKILL"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139, "SIGSEGV"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15, "SIGTERM"),
        ("raise KeyboardInterrupt", -2, "SIGINT"),
    ],
)
def test_the_ending_is_the_scripts_own(tmp_path: Path, text: str, code: int, told: int | str) -> None:
    child = run(tmp_path, script(tmp_path, text))
    assert child.returncode == code, child.stderr
    info = RunInfo.load(the_run(tmp_path))
    assert info.exit == told
    assert info.ended is not None
    assert info.seconds is not None
    assert info.seconds > 0
    assert info.reached == "python"


def test_run_json_says_what_was_started(tmp_path: Path) -> None:
    run(tmp_path, script(tmp_path, "pass"), "--epochs", "3")
    data = json.loads((the_run(tmp_path) / "run.json").read_text())
    assert data["command"] == [sys.executable, "train.py", "--epochs", "3"]
    assert data["cwd"] == str(tmp_path)
    assert data["python"] == ".".join(map(str, sys.version_info[:3]))
    assert data["started"] <= data["ended"]
    assert re.fullmatch(r"train-\d{8}-\d{6}", the_run(tmp_path).name)
    assert (tmp_path / ".sickbay" / ".gitignore").read_text() == "*\n"
    assert sorted(p.name for p in the_run(tmp_path).iterdir() if p.name.startswith(".")) == []


def test_a_script_without_torch_gets_one_sentence(tmp_path: Path) -> None:
    child = run(tmp_path, script(tmp_path, "print('hello')"), quiet=False)
    assert child.stdout == b"hello\nsickbay: train.py " + NEVER
    assert child.stderr == b""
    assert not (the_run(tmp_path) / "report.html").exists()


def test_python_that_ignores_its_environment_cannot_be_watched_and_that_is_said(tmp_path: Path) -> None:
    child = run(tmp_path, "python", "-I", script(tmp_path, "print('hello')"), quiet=False)
    assert child.stdout.startswith(b"hello\nsickbay: train.py could not be watched: ")
    assert child.returncode == 0


# -- nothing of the script's own changes ---------------------------------------------------------------------------------

PROBE = """
import os, signal, sys
print(sys.argv, sys.path, sys.flags, sys.stdin.isatty(), sys.stdout.isatty(), os.getcwd(), __file__)
print({s.name: str(signal.getsignal(s)).split(' at ')[0] for s in signal.Signals})
print(os.getpgrp() == os.getpgid(os.getppid()))
print(sorted(k for k in os.environ if not k.startswith('SICKBAY_')))
print(sorted(os.listdir('/proc/self/fd')))
sys.stdout.flush()
os.write(1, bytes(range(256)))
sys.stderr.write('warning: \\x1b[31mred\\x1b[0m\\r\\n')
print(repr(sys.stdin.read()))
raise RuntimeError('the end')
"""


def test_output_input_and_surroundings_are_the_same_as_without_us(tmp_path: Path) -> None:
    name = script(tmp_path, PROBE)
    expected = plain(tmp_path, name, "--lr", "0.1", input=b"typed\n")
    watched = run(tmp_path, name, "--lr", "0.1", input=b"typed\n")
    assert watched.stdout == expected.stdout
    assert watched.stderr == expected.stderr
    assert b"RuntimeError: the end" in watched.stderr
    assert watched.returncode == expected.returncode == 1


def test_signals_that_are_ignored_stay_ignored(tmp_path: Path) -> None:
    """As under nohup, and in a script's background jobs."""
    name = script(tmp_path, "import signal\nprint(signal.getsignal(signal.SIGHUP), signal.getsignal(signal.SIGINT))")

    def ignore() -> None:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    assert run(tmp_path, name, preexec_fn=ignore).stdout == plain(tmp_path, name, preexec_fn=ignore).stdout


def test_a_reader_that_leaves_early_does_not_change_the_exit_code(tmp_path: Path) -> None:
    name = script(tmp_path, "import sys; sys.exit(5)")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        child = subprocess.run(
            [*TOOL, "run", name], cwd=tmp_path, env=clean_environment(), stdout=writer, stderr=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(writer)
    assert child.returncode == 5
    assert b"Traceback" not in child.stderr
    assert b"BrokenPipe" not in child.stderr


# -- ways to write the command -------------------------------------------------------------------------------------------


def test_ways_to_write_the_command(tmp_path: Path) -> None:
    here = tmp_path / "a folder with spaces"
    name = script(here, "import sys; print(sys.argv[1:], __name__)", "my train.py")
    script(here / "pkg", "import sys; print(sys.argv[1:], __package__)", "go.py")
    assert run(here, name, "--json", "x").stdout == b"['--json', 'x'] __main__\n"
    assert run(here, str(here / name), "a b").stdout == b"['a b'] __main__\n"
    assert run(here, "-m", "pkg.go", "--quiet").stdout == b"['--quiet'] pkg\n"
    assert run(here, "python", "-u", name, "-m").stdout == b"['-m'] __main__\n"
    assert run(here, "-u", name).stdout == b"[] __main__\n"
    assert run(here, "-c", "print(6 * 7)").stdout == b"42\n"
    assert run(here, "sh", "-c", f"'{sys.executable}' '{name}' $((1+1))").stdout == b"['2'] __main__\n"
    assert run(here, "--", name, "1").stdout == b"['1'] __main__\n"
    names = {p.name.rsplit("-", 2)[0] for p in (here / ".sickbay" / "runs").iterdir()}
    assert names >= {"my-train", "pkg.go"}


@pytest.mark.parametrize("words", [["trian.py"], ["nowhere/at/all.py"], ["no-such-program"], ["-m"], [], ["--bugdet", "2%", "train.py"]])
def test_what_cannot_be_started_is_said_clearly(tmp_path: Path, words: list[str]) -> None:
    script(tmp_path, "pass")
    child = run(tmp_path, *words)
    assert child.returncode == 2
    assert child.stdout == b""
    assert child.stderr.startswith(b"sickbay: ")
    assert child.stderr.count(b"\n") == 1
    assert not (tmp_path / ".sickbay").exists()


def test_a_near_miss_is_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, "pass")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"did you mean train.py\?"):
        resolve(["trian.py"])


def test_a_program_that_cannot_be_executed_leaves_no_run(tmp_path: Path) -> None:
    (tmp_path / "tool").write_bytes(b"\x00\x01")
    (tmp_path / "tool").chmod(0o755)
    child = run(tmp_path, "./tool")
    assert child.returncode == 2
    assert b"could not start './tool'" in child.stderr
    assert list((tmp_path / ".sickbay" / "runs").iterdir()) == []


def test_programs_beside_our_interpreter_are_found() -> None:
    assert resolve(["torchrun", "--standalone", "train.py"]).argv[0].endswith("torchrun")
    assert resolve(["torchrun", "--standalone", "train.py"]).stem == "train"


# -- signals -------------------------------------------------------------------------------------------------------------


def started(folder: Path, text: str) -> subprocess.Popen[bytes]:
    """A supervised script that has said `ready`."""
    # Under nohup the tests inherit an ignored SIGHUP, which the supervisor rightly leaves ignored.
    child = subprocess.Popen(
        [*TOOL, "run", "--quiet", script(folder, text)],
        cwd=folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    return child


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGUSR1"])
def test_signals_to_the_supervisor_reach_the_script(tmp_path: Path, name: str) -> None:
    text = f"import signal, sys, time\nsignal.signal(signal.{name}, lambda *_: sys.exit(9))\nprint('ready', flush=True)\ntime.sleep(30)"
    child = started(tmp_path, text)
    child.send_signal(getattr(signal, name))
    child.communicate(timeout=30)
    assert child.returncode == 9


def test_ctrl_c_to_the_supervisor_alone_does_not_end_it(tmp_path: Path) -> None:
    child = started(tmp_path, "import time\nprint('ready', flush=True)\ntime.sleep(0.5)")
    child.send_signal(signal.SIGINT)
    child.communicate(timeout=30)
    assert child.returncode == 0


class Terminal:
    """A sickbay under a real (pseudo-)terminal, with its own session, so that Ctrl-C works as in a shell."""

    def __init__(self, folder: Path, *words: str, rows: int = 24, columns: int = 80) -> None:
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # the tests themselves may run in the background of a shell that ignores it
            os.chdir(folder)
            os.execve(sys.executable, [*TOOL, "run", *words], clean_environment() | {"TERM": "xterm"})
        self.resize(rows, columns)
        self.output = b""

    def resize(self, rows: int, columns: int) -> None:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read_until(self, *texts: bytes, seconds: float = 30) -> None:
        end = time.monotonic() + seconds
        while not all(t in self.output for t in texts):
            assert time.monotonic() < end, self.output
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.output += os.read(self.fd, 65536)
                except OSError:  # the other side is closed
                    assert all(t in self.output for t in texts), self.output
                    return

    def type(self, text: bytes) -> None:
        os.write(self.fd, text)

    def wait(self) -> int:
        """Read to the end; the exit code, negative for a signal."""
        while True:
            try:
                more = os.read(self.fd, 65536)
            except OSError:
                break
            if not more:
                break
            self.output += more
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_ctrl_c_stops_the_script_and_still_ends_in_a_report(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, script(tmp_path, "import time\nprint('ready', flush=True)\ntime.sleep(30)"))
    terminal.read_until(b"ready")
    terminal.type(b"\x03")
    assert terminal.wait() == -signal.SIGINT
    assert b"KeyboardInterrupt" in terminal.output
    assert b"never imported torch" in terminal.output
    assert RunInfo.load(the_run(tmp_path)).exit == "SIGINT"


def test_a_script_may_take_ctrl_c_as_it_likes(tmp_path: Path) -> None:
    text = """
import time
for i in range(2):
    try:
        print('ready', i, flush=True)
        time.sleep(30)
    except KeyboardInterrupt:
        print('caught', i, flush=True)
"""
    terminal = Terminal(tmp_path, "--quiet", script(tmp_path, text))
    terminal.read_until(b"ready 0")
    terminal.type(b"\x03")
    terminal.read_until(b"ready 1")
    terminal.type(b"\x03")
    assert terminal.wait() == 0
    assert b"caught 1" in terminal.output


# -- the live line -------------------------------------------------------------------------------------------------------

GROWS = """
import os, time
from pathlib import Path
from sickbay.record.writer import RecordWriter
writer = RecordWriter(Path(os.environ["SICKBAY_RUN_DIR"], "process-1.sickbay"))
for step in range(1241):
    writer.frame("pulse", step, ("lr", "loss/train"), [0.1, 0.312])
writer.flush()
print("epoch 1", flush=True)
time.sleep({seconds})
{then}
"""


def test_a_live_line_in_a_terminal_and_the_screen_is_given_back(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, script(tmp_path, GROWS.format(seconds=2.5, then="raise SystemExit(6)")), rows=24)
    terminal.read_until(b"epoch 1", b"\x1b[24;1H\x1b[2K\x1b[2msickbay \xc2\xb7 step 1,240 \xc2\xb7 loss 0.312", b"\x1b[1;23r")
    terminal.resize(30, 100)
    terminal.read_until(b"\x1b[1;29r", b"\x1b[30;1H")
    assert terminal.wait() == 6
    assert terminal.output.rindex(b"\x1b[r") > max(terminal.output.rindex(b"\x1b[1;29r"), terminal.output.rindex(b"step 1,240"))


def test_the_screen_is_given_back_when_the_script_is_killed(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path, script(tmp_path, "import os, time\ntime.sleep(1)\nos.kill(os.getpid(), 9)"))
    terminal.read_until(b"sickbay \xc2\xb7 no training step yet")
    assert terminal.wait() == 137
    assert terminal.output.rindex(b"\x1b[r") > terminal.output.rindex(b"\x1b[1;23r")


def test_no_live_line_when_quiet_or_piped(tmp_path: Path) -> None:
    name = script(tmp_path, "import time\ntime.sleep(0.8)")
    assert b"\x1b" not in run(tmp_path, name, quiet=False).stdout
    terminal = Terminal(tmp_path, "--quiet", name)
    assert terminal.wait() == 0
    assert b"\x1b" not in terminal.output


def test_a_closed_line_writes_nothing_more(tmp_path: Path) -> None:
    with (tmp_path / "not a terminal").open("wb") as f:
        line = LiveLine(f.fileno())
        line.open()
        line.show("text")
        line.close()
        line.close()
    assert (tmp_path / "not a terminal").read_bytes() == b""


def test_what_the_live_line_says() -> None:
    assert describe(None, "") == "sickbay · no training step yet"
    assert describe(Pulse(1240, 0.31234), "healthy so far") == "sickbay · step 1,240 · loss 0.3123 · healthy so far"
    assert describe(Pulse(7, float("nan")), "healthy so far") == "sickbay · step 7 · loss nan · the loss is not finite"
    assert describe(Pulse(7, None), "") == "sickbay · step 7"


@pytest.mark.parametrize(("verdict", "words"), [("healthy", "healthy so far"), ("undecided", "undecided so far"), ("untrained", "")])
def test_a_checkup_says_what_a_diagnosis_would_say_by_now(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str, words: str) -> None:
    from types import ModuleType, SimpleNamespace

    fake = ModuleType("sickbay.conclude")
    looks: list[object] = []
    fake.diagnose = lambda record: looks.append(record) or SimpleNamespace(verdict=verdict)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sickbay.conclude", fake)
    monkeypatch.setattr("sickbay.supervise.pulse._yield_to_training", lambda: None)  # this is pytest's own thread
    RunInfo(command=("train.py",)).save(tmp_path)
    checkup = Checkup(tmp_path, pause=0.0)
    assert checkup.text(None) == checkup.text(Pulse(3, 1.0)) == ""
    assert looks == []
    assert checkup.text(Pulse(100, 1.0)) == words
    assert checkup.text(Pulse(101, 1.0)) == words
    assert len(looks) == 1  # the second would have spent more than a hundredth of the time


def test_the_pulse_is_the_newest_of_all_processes(tmp_path: Path) -> None:
    from sickbay.record.writer import RecordWriter

    assert read_pulse(tmp_path) is None
    (tmp_path / "broken.sickbay").write_bytes(b"SQLite format 3\0 and nonsense")
    writers = [RecordWriter(tmp_path / f"rank-{i}.sickbay") for i in range(2)]
    for i, writer in enumerate(writers):
        for step in range(5 + i):
            writer.frame("pulse", step, ("loss/train", "lr"), [step / 2, 0.1])
        writer.frame("pulse", 5 + i, ("loss/eval",), [9.0])
        writer.flush()
    assert read_pulse(tmp_path) == Pulse(5, 2.5)
    for writer in writers:
        writer.close()
    assert read_pulse(tmp_path) == Pulse(5, 2.5)
