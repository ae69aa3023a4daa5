"""The import law: data flows one way, and so do imports.

    nouns, errors, facts, settings  ->  record  ->  signs, script  ->  causes  ->  conclude  ->  report

`observe` stands in the user's process, where only the standard library, numpy and torch are sure to be. The wiring (cli,
runs, supervise...) may import everything, but torch only inside functions.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from repo.source import ROOT, Import, imports, modules

BASE = frozenset({"nouns", "errors", "facts", "settings"})

ALLOWED: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    # part: (parts of sickbay that it may import, packages of others that it may import)
    "nouns": (frozenset(), frozenset({"numpy"})),
    "errors": (frozenset(), frozenset()),
    "facts": (frozenset({"nouns"}), frozenset({"numpy"})),
    "settings": (frozenset({"nouns", "errors"}), frozenset({"numpy"})),
    "record": (BASE, frozenset({"numpy", "msgspec"})),
    "signs": (BASE | {"record"}, frozenset({"numpy"})),
    "script": (BASE | {"record"}, frozenset()),
    "causes": (BASE | {"record", "signs", "script"}, frozenset({"numpy"})),
    "conclude": (BASE | {"record", "signs", "causes"}, frozenset({"numpy"})),
    "scanned": (BASE | {"record", "signs", "script", "causes", "conclude"}, frozenset({"numpy"})),
    "report": (BASE | {"record", "signs", "script", "causes", "conclude"}, frozenset({"numpy", "msgspec", "rich", "jinja2", "markupsafe"})),
    "observe": (BASE | {"record"}, frozenset({"numpy", "torch"})),
    "exams": (BASE | {"record", "observe"}, frozenset({"numpy", "torch"})),
    "trials": (BASE | {"record", "observe", "exams"}, frozenset({"h5py", "numpy", "torch", "msgspec", "safetensors"})),
    "testing": (BASE | {"record", "signs", "script", "causes", "conclude"}, frozenset({"numpy", "msgspec", "pytest"})),
}
WIRING = frozenset({"", "__main__", "cli", "clip_advice", "doctor", "incidents", "runs", "scans", "supervise", "web", "integrations"})
"""Puts the stages together: may import all of sickbay, but torch only lazily. "" is `sickbay/__init__.py`."""
EDGES = frozenset(
    {"sickbay.observe.watching", "sickbay.observe.bootstrap", "sickbay.exams.evaluate", "sickbay.exams.skew", "sickbay.exams.forgetting"}
)
"""Wiring that lives beside the stage it opens: `sickbay.watch` observes and then, lazily, concludes; the bootstrap begins a trial where one is ordered; an
examination's result shows itself."""
IN_TREATED_PROCESS = frozenset({"sickbay.trials.inside", "sickbay.trials.fence", "sickbay.exams.randomness"})
"""What a trial imports in the user's process, with everything that these import in turn."""
IN_USERS_PROCESS = frozenset({"sickbay.record.writer", "sickbay.record.schema", "sickbay.record.incident"})
"""The only modules of `record` that observers may import; they need nothing but the standard library and numpy."""


def part(module: str) -> str:
    return module.removeprefix("sickbay").lstrip(".").partition(".")[0]


def package(found: Import) -> str:
    return found.module.partition(".")[0]


def foreign(found: Import) -> bool:
    return package(found) != "sickbay" and package(found) not in sys.stdlib_module_names and package(found) != "__future__"


def at_edge(found: Import) -> bool:
    return found.importer in EDGES and (found.lazy or found.typing_only)


def everything() -> list[Import]:
    return [found for module in modules() for found in imports(module)]


def show(found: Import) -> str:
    return f"{modules()[found.importer]}:{found.line} imports {found.module}"


def test_every_part_has_a_place_in_the_law() -> None:
    unknown = {part(m) for m in modules()} - ALLOWED.keys() - WIRING
    assert not unknown, f"say in ALLOWED or WIRING what these parts may import: {sorted(unknown)}"


def test_stages_import_only_forwards() -> None:
    backwards = [
        show(found)
        for found in everything()
        if part(found.importer) in ALLOWED and package(found) == "sickbay" and not at_edge(found)
        if part(found.module) not in ALLOWED[part(found.importer)][0] | {part(found.importer), ""}
    ]
    assert not backwards, "\n".join(backwards)


def test_stages_import_only_packages_they_may() -> None:
    forbidden = [
        show(found)
        for found in everything()
        if part(found.importer) in ALLOWED and foreign(found) and package(found) not in ALLOWED[part(found.importer)][1]
    ]
    assert not forbidden, "\n".join(forbidden)


def test_wiring_imports_torch_only_lazily() -> None:
    eager = [
        show(found)
        for found in everything()
        if part(found.importer) in WIRING and package(found) == "torch" and not (found.lazy or found.typing_only)
    ]
    assert not eager, "\n".join(eager)


def test_observers_take_only_the_writing_half_of_record() -> None:
    reading = [
        show(found)
        for found in everything()
        if part(found.importer) == "observe" and part(found.module) == "record" and found.module not in IN_USERS_PROCESS
        if not at_edge(found)
    ]
    assert not reading, "\n".join(reading)


def test_the_writing_half_of_record_needs_only_numpy() -> None:
    heavy = [show(f) for m in sorted(IN_USERS_PROCESS) for f in imports(m) if foreign(f) and package(f) != "numpy"]
    assert not heavy, "\n".join(heavy)


def test_no_import_cycles() -> None:
    graph = {m: sorted({f.module for f in imports(m) if f.module in modules() and not f.lazy and not f.typing_only} - {m}) for m in modules()}
    finished: set[str] = set()

    def walk(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, "import cycle: " + " -> ".join([*path[path.index(module) :], module])
        if module in finished:
            return
        for imported in graph[module]:
            walk(imported, (*path, module))
        finished.add(module)

    for module in graph:
        walk(module, ())


BLOCK = """
import importlib, importlib.abc, sys
class Block(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}} (blocked by the test)", name=name)
sys.meta_path.insert(0, Block())
for module in {modules!r}:
    importlib.import_module(module)
"""


def import_without(blocked: set[str], names: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", BLOCK.format(modules=names, blocked=blocked)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_diagnosing_works_without_torch() -> None:
    stages = {"record", "signs", "script", "causes", "conclude", "scanned", "scans", "report", "cli", "doctor", "runs", "supervise"}
    import_without({"torch"}, [m for m in modules() if part(m) in stages | BASE | {""}])


def test_the_users_process_needs_only_numpy_and_torch() -> None:
    pytest.importorskip("torch")
    names = [m for m in modules() if part(m) in {"observe", "settings"} or m in IN_USERS_PROCESS or m in IN_TREATED_PROCESS]
    import_without(our_dependencies() - {"numpy"}, names)


def our_dependencies() -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return {re.split(r"[^a-z0-9_]", requirement)[0] for requirement in project["dependencies"]}
