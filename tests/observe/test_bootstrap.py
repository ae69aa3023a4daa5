"""Getting into a process that somebody else starts. A stand-in torch and a stand-in session keep this fast."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sickbay
from sickbay.observe import bootstrap
from sickbay.settings import Settings
from sickbay.supervise.child import ENTRY, environment

PACKAGE = Path(sickbay.__file__).parent
SESSION = """
import sys
from pathlib import Path
def install(run_dir, settings):
    ready = getattr(sys.modules["torch"], "ready", False)
    with open(run_dir / "installed.txt", "a") as f:
        f.write(f"ready={ready} budget={settings.budget}\\n")
    EXTRA
"""


class World:
    """A run folder, a sickbay whose session only leaves a note, a tiny torch, and a folder for scripts."""

    def __init__(self, folder: Path) -> None:
        self.run_dir = folder / "run dir"
        self.home = folder / "home of sickbay"
        self.here = folder / "user's scripts"
        self.site = folder / "site"
        for path in (self.run_dir, self.here, self.site, self.home):
            path.mkdir()
        shutil.copytree(PACKAGE, self.home / "sickbay", ignore=shutil.ignore_patterns("__pycache__", "assets", "templates"))
        self.session()
        self.write(self.here / "torch" / "__init__.py", "import sys\nprint('torch imported')\nready = True\n")

    def session(self, extra: str = "pass") -> None:
        self.write(self.home / "sickbay" / "observe" / "starting.py", SESSION.replace("EXTRA", extra))

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def environment(self, **more: str) -> dict[str, str]:
        base = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SICKBAY"))} | more
        env = environment(self.run_dir, Settings(budget=0.05), base)
        return env | {"SICKBAY_HOME": str(self.home)}

    def run(self, script: str, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
        path = self.write(self.here / "train.py", script)
        return subprocess.run(
            [sys.executable, *options, str(path)], env=self.environment(**more), capture_output=True, text=True, timeout=60, check=False
        )

    @property
    def installed(self) -> list[str]:
        path = self.run_dir / "installed.txt"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def errors(self) -> list[str]:
        path = self.run_dir / bootstrap.ERRORS
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_installs_once_after_torch_has_been_imported(world: World) -> None:
    child = world.run("import torch, torch\nimport importlib\nprint('torch' in globals())")
    assert (child.stdout, child.stderr, child.returncode) == ("torch imported\nTrue\n", "", 0)
    assert world.installed == ["ready=True budget=0.05"]
    assert world.errors == []
    assert (world.run_dir / bootstrap.TORCH_REACHED).exists()


def test_leaves_no_trace_in_the_import_system(world: World) -> None:
    show = """
import sys
if {torch}:
    import torch
    print(type(torch.__spec__.loader).__name__, vars(torch.__spec__.loader).keys(), torch.__loader__ is torch.__spec__.loader)
print(sys.path, [getattr(f, "__name__", type(f).__name__) for f in sys.meta_path])
"""
    for torch in (False, True):
        script = world.write(world.here / "train.py", show.format(torch=torch))
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SICKBAY"))}
        plain = subprocess.run([sys.executable, str(script)], env=clean, capture_output=True, text=True, check=True).stdout
        watched = world.run(show.format(torch=torch)).stdout
        before, after = plain.splitlines()[-1], watched.splitlines()[-1]
        if torch:
            assert watched == plain
        else:  # torch was not imported yet: one finder more
            assert before.split("] [")[0] == after.split("] [")[0]


def test_a_script_without_torch_is_left_alone(world: World) -> None:
    child = world.run("print('hello')")
    assert (child.stdout, child.stderr) == ("hello\n", "")
    assert world.installed == []
    assert (world.run_dir / bootstrap.PYTHON_REACHED).exists()
    assert not (world.run_dir / bootstrap.TORCH_REACHED).exists()


def test_asking_whether_torch_is_there_does_not_install(world: World) -> None:
    child = world.run("import importlib.util\nprint(importlib.util.find_spec('torch') is not None)")
    assert child.stdout == "True\n"
    assert world.installed == []


def test_stays_armed_when_the_first_import_of_torch_fails(world: World) -> None:
    world.write(world.here / "broken" / "torch" / "__init__.py", "raise ImportError('no CUDA')")
    child = world.run(
        """
import sys
sys.path.insert(0, sys.path[0] + "/broken")
try:
    import torch
except ImportError as e:
    print(e)
del sys.path[0]
import torch
"""
    )
    assert child.stdout == "no CUDA\ntorch imported\n"
    assert world.installed == ["ready=True budget=0.05"]


@pytest.mark.parametrize("torch", ["raise ImportError('libcudart.so')", "import absent_module", "1/0", "raise KeyboardInterrupt"])
def test_the_traceback_of_a_torch_that_fails_is_its_own(world: World, torch: str) -> None:
    world.write(world.here / "torch" / "__init__.py", torch)
    script = world.write(world.here / "train.py", "import torch.nn\n")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SICKBAY"))}
    plain = subprocess.run([sys.executable, str(script)], env=clean, capture_output=True, text=True, check=False)
    watched = world.run("import torch.nn\n")
    assert (watched.stderr, watched.returncode) == (plain.stderr, plain.returncode)
    assert "Traceback" in watched.stderr


def test_follows_into_child_processes(world: World) -> None:
    child = world.run("import subprocess, sys, torch\nif len(sys.argv) == 1: subprocess.run([sys.executable, __file__, 'again'], check=True)")
    assert child.returncode == 0, child.stderr
    assert len(world.installed) == 2


@pytest.mark.parametrize("extra", ["raise ValueError('broken session')", "sys.exit(7)", "1/0"])
def test_a_failing_session_never_reaches_the_script(world: World, extra: str) -> None:
    world.session(extra)
    child = world.run("import torch\nprint('trained')")
    assert (child.stdout, child.stderr, child.returncode) == ("torch imported\ntrained\n", "", 0)
    assert len(world.errors) == 1
    assert "Error" in world.errors[0] or "SystemExit" in world.errors[0]


def test_a_missing_sickbay_never_reaches_the_script(world: World) -> None:
    shutil.rmtree(world.home)
    child = world.run("import torch\nprint('trained')")
    assert (child.stdout, child.stderr, child.returncode) == ("torch imported\ntrained\n", "", 0)
    assert len(world.errors) == 1


def test_unreadable_settings_and_a_vanished_run_folder_never_reach_the_script(world: World) -> None:
    env = world.environment() | {"SICKBAY_SETTINGS": "{nonsense"}
    script = world.write(world.here / "train.py", "import torch\nprint('trained')")
    for _ in range(2):
        child = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=True)
        assert (child.stdout, child.stderr) == ("torch imported\ntrained\n", "")
        shutil.rmtree(world.run_dir, ignore_errors=True)


def test_does_not_show_the_neighbours_of_sickbay_to_the_script(world: World) -> None:
    """sickbay may live in an environment of its own (pipx): its other packages are none of the script's business."""
    world.write(world.home / "neighbour.py", "")
    child = world.run("import torch\nimport sickbay\nprint(sickbay.__file__)\nimport neighbour")
    assert str(world.home) in child.stdout
    assert "No module named 'neighbour'" in child.stderr


def test_chains_to_a_shadowed_sitecustomize(world: World) -> None:
    world.write(world.site / "sitecustomize.py", "import sys\nsys.greeting = 'hello'\nx = 1\n")
    child = world.run("import sys, sitecustomize\nprint(sys.greeting, sitecustomize.__file__)\nimport torch", PYTHONPATH=str(world.site))
    assert child.stdout == f"hello {world.site / 'sitecustomize.py'}\ntorch imported\n"
    assert world.installed == ["ready=True budget=0.05"]


def test_a_shadowed_sitecustomize_that_fails_fails_as_always(world: World) -> None:
    world.write(world.site / "sitecustomize.py", "raise ValueError('mine')\n")
    script = world.write(world.here / "train.py", "import torch")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SICKBAY"))} | {"PYTHONPATH": str(world.site)}
    plain = subprocess.run([sys.executable, str(script)], env=clean, capture_output=True, text=True, check=False)
    watched = world.run("import torch", PYTHONPATH=str(world.site))
    assert "mine" in watched.stderr
    assert (watched.stderr, watched.returncode) == (plain.stderr, plain.returncode)
    assert world.installed == ["ready=True budget=0.05"]


def test_a_shadowed_sitecustomize_may_import_torch(world: World) -> None:
    world.write(world.site / "sitecustomize.py", f"import sys\nsys.path.insert(0, {str(world.here)!r})\nimport torch\n")
    child = world.run("print('script')", PYTHONPATH=str(world.site))
    assert child.stdout == "torch imported\nscript\n"
    assert world.installed == ["ready=True budget=0.05"]


def test_torch_that_is_there_already_is_watched_at_once(world: World) -> None:
    child = world.run("import os\nos.environ['SICKBAY_RUN_DIR']\nimport torch\nfrom sickbay.observe import bootstrap\nbootstrap.arm()")
    assert child.returncode == 0, child.stderr
    assert len(world.installed) == 2


def test_the_environment_keeps_what_was_on_pythonpath(tmp_path: Path) -> None:
    def path(before: dict[str, str]) -> list[str]:
        return environment(tmp_path, Settings(), before)["PYTHONPATH"].split(os.pathsep)

    entry = str(ENTRY)
    assert path({}) == [entry]
    assert path({"PYTHONPATH": ""}) == [entry]
    assert path({"PYTHONPATH": "a:b"}) == [entry, "a", "b"]
    assert path({"PYTHONPATH": f"{entry}:a"}) == [entry, "a"]
