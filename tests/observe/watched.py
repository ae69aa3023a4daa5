"""Runs a script or a function under a session and gives back what was recorded."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sickbay.nouns import Place
from sickbay.record.reader import Record, read_record
from sickbay.settings import Settings

PREAMBLE = "import torch\nfrom torch import nn\nimport torch.nn.functional as F\ntorch.manual_seed(0)\n"


def exact(**settings: Any) -> Settings:
    """Every step in full, unless the test says otherwise."""
    return Settings(**{"detail_steps": 1000} | settings)


@dataclass
class Run:
    """What came of it. `names` are the script's own variables, as they were at its end."""

    record: Record
    source: str = ""
    file: str = ""
    names: dict[str, Any] = field(default_factory=dict)
    result: Any = None

    def line(self, text: str) -> int:
        """The number of the one line that holds this text."""
        found = [i for i, line in enumerate(self.source.splitlines(), 1) if text in line]
        assert len(found) == 1, f"{text!r} is on lines {found}"
        return found[0]

    def at(self, place: Place | None, text: str) -> bool:
        return place is not None and place.file == self.file and place.line == self.line(text)

    @property
    def facts(self) -> Any:
        return self.record.facts

    @property
    def loss(self) -> Any:
        assert len(self.facts.losses) == 1, self.facts.losses
        return self.facts.losses[0]


@contextmanager
def watching(path: Path, settings: Settings) -> Iterator[Any]:
    from sickbay.observe.starting import start

    session = start(path, settings)
    try:
        yield session
    finally:
        session.close()


def watch_script(text: str, folder: Path, settings: Settings, number: int | None = None) -> Run:
    """As the user would run it: its own file, its own namespace; the preamble imports torch, nn and F."""
    source = PREAMBLE + textwrap.dedent(text)
    number = len(list(folder.glob("train*.py"))) if number is None else number
    file = folder / f"train{number}.py"
    file.write_text(source)
    linecache.checkcache(str(file))
    names: dict[str, Any] = {"__name__": "__main__", "__file__": str(file)}
    path = folder / f"run{number}.sickbay"
    with watching(path, settings):
        exec(compile(source, str(file), "exec"), names)
    return Run(read_record(path) if path.exists() else Record(), source, str(file), names)


def watch_function(train: Callable[[], Any], folder: Path, settings: Settings) -> Run:
    path = folder / f"function{len(list(folder.glob('function*')))}.sickbay"
    with watching(path, settings):
        result = train()
    return Run(read_record(path) if path.exists() else Record(), result=result)
