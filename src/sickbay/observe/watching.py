"""`with sickbay.watch(model, optimizer) as patient:` for notebooks and custom loops: the same Session, the same record."""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

import torch

from sickbay.errors import UsageError
from sickbay.nouns import Diagnosis
from sickbay.observe import starting
from sickbay.observe.crash import examined
from sickbay.observe.endings import crash_fact
from sickbay.observe.places import here
from sickbay.observe.session import Session
from sickbay.settings import Settings

if TYPE_CHECKING:
    from sickbay.record.reader import Record


class Patient:
    """A watched stretch of training. Inside the `with` block the diagnosis is of what was seen so far."""

    def __init__(
        self, models: tuple[torch.nn.Module, ...], optimizers: tuple[torch.optim.Optimizer, ...], folder: Path | None, settings: Settings
    ) -> None:
        self._models = models
        self._optimizers = optimizers
        self._folder = folder
        self._settings = settings
        self._session: Session | None = None
        self.path: Path | None = None

    def __enter__(self) -> Patient:
        if starting.current is not None:
            raise UsageError("this process is already being watched (by `sickbay run` or another sickbay.watch); leave that one first")
        folder = self._folder or Path(tempfile.mkdtemp(prefix="sickbay-"))
        self.path = starting.record_path(folder)
        self._session = session = starting.start(self.path, self._settings)
        frame = sys._getframe(1)
        for model in self._models:
            session.registry.add_root(model, frame)
        for optimizer in self._optimizers:
            session.registry.claim(session.registry.add_optimizer(optimizer, here(), frame), optimizer)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._session is not None:
            if kind is not None and error is not None:
                with suppress(Exception):
                    crash = crash_fact(kind, error, trace, self._session.step)
                    self._session.crash = examined(self._session, crash, trace) if crash is not None else None
            self._session.close()
            self._session = None

    @property
    def record(self) -> Record:
        """What was recorded (so far)."""
        from sickbay.record.reader import Record, read_record

        if self._session is not None:
            if not (self._session.backwards or self._session.optimizer_steps or self._session.forwards):
                return Record()
            self._session.report()
            self._session.writer.flush()
        if self.path is None or not self.path.exists():
            return Record()
        return read_record(self.path)

    @property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis of what was seen (so far)."""
        from sickbay.conclude import diagnose

        return diagnose(self.record)

    def _view(self) -> Any:
        from sickbay.conclude import diagnose
        from sickbay.report.view import build

        record = self.record
        return build(diagnose(record), record)

    def _repr_html_(self) -> str:
        from sickbay.report.notebook import html_fragment

        return html_fragment(self._view())

    def __repr__(self) -> str:
        diagnosis = self.diagnosis
        first = f": {diagnosis.causes[0].cause}" if diagnosis.causes else ""
        return f"<sickbay patient, {diagnosis.verdict}{first}, {diagnosis.run.steps} steps>"


def watch(
    model: torch.nn.Module | list[torch.nn.Module] | None = None,
    optimizer: torch.optim.Optimizer | list[torch.optim.Optimizer] | None = None,
    *,
    folder: Path | str | None = None,
    budget: float | str = 0.02,
) -> Patient:
    """Watch the training inside a `with` block.

    Model and optimizer need only be given if they were built before the block; everything else is found by itself.
    """
    models = tuple(model) if isinstance(model, (list, tuple)) else (model,) if model is not None else ()
    optimizers = tuple(optimizer) if isinstance(optimizer, (list, tuple)) else (optimizer,) if optimizer is not None else ()
    for thing, kind in [*((m, torch.nn.Module) for m in models), *((o, torch.optim.Optimizer) for o in optimizers)]:
        if not isinstance(thing, kind):
            raise UsageError(f"sickbay.watch expects a {kind.__module__}.{kind.__name__}, not {type(thing).__name__}: watch(model, optimizer)")
    return Patient(models, optimizers, Path(folder) if folder else None, Settings(budget=budget))  # type: ignore[arg-type]
