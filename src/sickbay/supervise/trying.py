"""Carries out a plan of trials: the recorded command again, each time with one thing changed, fenced, and compared with the run as it was."""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sickbay.causes.registry import catalogue
from sickbay.conclude import diagnose, suspect_all
from sickbay.errors import SickbayError
from sickbay.nouns import Suspicion, Trial
from sickbay.observe.bootstrap import UNTREATED
from sickbay.runs import RunInfo, bootstrap_errors, new_run, open_run, write_atomically
from sickbay.settings import Settings
from sickbay.signs import read_signs
from sickbay.supervise.child import environment
from sickbay.supervise.planning import STRONGER, Plan, Planned
from sickbay.supervise.replay import SEEDED
from sickbay.trials.compare import Course, Outcome, compare, compare_waiting, course_of
from sickbay.trials.fence import TRACKERS_OFF
from sickbay.trials.ground import FENCED_FILE
from sickbay.trials.orders import Orders
from sickbay.trials.runner import Done, Job, Runner
from sickbay.trials.storage import TRIALS_FILE, TRIALS_FOLDER, dump_trials
from sickbay.trials.treatment import parse

if TYPE_CHECKING:
    from sickbay.nouns import Series
    from sickbay.record.reader import Record

SEED = 0
POINTS = 60
"""Of each curve that are kept with a trial: what a small chart shows."""
SLACK = 5.0
"""Seconds beyond the budget that a trial under way is given: a script that is nearly through may end by itself."""


@dataclass
class Told:
    """What a progress line may say."""

    planned: tuple[Planned, ...]
    number: int
    """Of the first of them; ..."""
    of: int
    folders: tuple[Path, ...]
    began: float


class Trying:
    """The trials of one run. `carry_out` gives each result when it is there; what is done is on disk by then."""

    def __init__(
        self, folder: Path, record: Record, plan: Plan, runner: Runner, at_once: int = 1, progress: Callable[[Told], None] = lambda _: None
    ) -> None:
        self.folder = folder
        self.record = record
        self.info = RunInfo.load(folder)
        self.plan = plan
        self.runner = runner
        self.at_once = at_once
        self.progress = progress
        self.results: list[Trial] = []
        self.before = {s.cause: s for s in suspect_all(record, read_signs(record))}
        self.ends = time.monotonic() + plan.budget
        self.untreated = course_of(record, plan.steps)

    def carry_out(self) -> Iterator[Trial]:
        if self.plan.baseline:
            self._baseline()
        waiting = list(self.plan.trials)
        number = 0
        while waiting and (time.monotonic() < self.ends or not self.results):
            together, waiting = waiting[: self.at_once], waiting[self.at_once :]
            for planned, done, folder in self._run(together, number, number + len(together) + len(waiting)):
                trial = self._trial(planned, done, folder)
                self._keep(trial)
                yield trial
                waiting = self._next(waiting, planned, trial)
            number += len(together)

    def _next(self, waiting: list[Planned], planned: Planned, trial: Trial) -> list[Planned]:
        """What is still worth a trial after this one."""
        stronger = STRONGER.get(planned.text)
        if stronger and planned.cause and trial.effect not in ("CURED", "HARMED") and time.monotonic() + self.plan.each < self.ends:
            return [Planned(planned.cause, parse(stronger)), *waiting]
        return [w for w in waiting if self._still_asked(w, planned)] if trial.effect == "CURED" and planned.cause else waiting

    def _still_asked(self, waiting: Planned, cured: Planned) -> bool:
        """Once a cure is found, only suspicions at least as firm are worth another run."""
        other, this = self.before.get(waiting.cause), self.before.get(cured.cause)
        return not waiting.cause or (other is not None and this is not None and _firm(other) and other.cause not in this.explains)

    def _baseline(self) -> None:
        for _, _, folder in self._run([Planned("", ())], 0, len(self.plan.trials)):
            record = _opened(folder)
            if record is not None and record.facts.run.steps:
                self.untreated = course_of(record, self.plan.steps)

    def _trial(self, planned: Planned, done: Done, folder: Path) -> Trial:
        record = _opened(folder)
        outcome, treated = self._judge(planned, done, folder, record)
        return Trial(
            cause=planned.cause,
            treatment=planned.text,
            label=planned.label,
            effect=outcome.effect,
            text=outcome.text,
            size=outcome.size,
            noise=outcome.noise,
            steps=treated.steps if treated is not None else 0,
            seconds=round(done.seconds, 2),
            untreated=thinned(self.untreated.loss),
            treated=thinned(treated.loss) if treated is not None else (),
            fenced=tuple(_lines(folder / FENCED_FILE)),
        )

    def _judge(self, planned: Planned, done: Done, folder: Path, record: Record | None) -> tuple[Outcome, Course | None]:
        if done.returncode is None or done.returncode == UNTREATED or record is None:
            why = done.trouble or next(iter(bootstrap_errors(folder)), "") or f"it ended with exit code {done.returncode} and recorded nothing"
            return Outcome("INCONCLUSIVE", f"the trial did not come about: {why}"), None
        treated = course_of(record, self.plan.steps)
        gone = self._gone(planned, record)
        if planned.cause and catalogue()[planned.cause].level == "system":
            return compare_waiting(self.record, record, gone), treated
        redefined = any(t.intervention.redefines_loss for t in planned.treatments)
        found = diagnose(record)
        well = not any(s.certainty != "possible" for s in found.causes)
        outcome = compare(self.untreated, treated, redefined=redefined, gone=gone, well=well)
        return (replace(outcome, text=f"{outcome.text} ({done.trouble})") if done.trouble else outcome), treated

    def _gone(self, planned: Planned, record: Record) -> bool | None:
        """Whether what made the cause suspected is no longer seen. In a shortened run only what is proven by structure would have been."""
        before = self.before.get(planned.cause)
        if before is None or (self.plan.steps is not None and before.certainty != "proven"):
            return None
        after = next((s for s in suspect_all(record, read_signs(record)) if s.cause == planned.cause), None)
        return after is None or (_firm(before) and not _firm(after))

    def _run(self, together: list[Planned], number: int, of: int) -> Iterator[tuple[Planned, Done, Path]]:
        """Some trials at once; each is given back when it has ended."""
        limit = max(self.ends - time.monotonic(), 0.0 if self.results else self.plan.each) + SLACK
        began = time.time()
        with tempfile.TemporaryDirectory(prefix="sickbay-trial-") as scratch:
            by_folder: dict[Path, Planned] = {}
            jobs = []
            for planned in together:
                folder = new_run(self.folder / TRIALS_FOLDER, planned.text or "untreated")
                by_folder[folder] = planned
                orders = Orders(treat=planned.text, steps=self.plan.steps, total=self.record.facts.run.steps, seed=SEED)
                jobs.append(replace(make_job(planned.text, self.info, folder, orders, Path(scratch, folder.name)), seconds=limit))
            told = Told(tuple(together), number + 1, of, tuple(by_folder), began)
            self.progress(told)
            for done in self.runner.run(jobs, lambda: self.progress(told)):
                folder = done.job.folder
                replace(self.info, started=began, ended=time.time(), seconds=round(done.seconds, 3), exit=done.returncode).save(folder)
                yield by_folder[folder], done, folder

    def _keep(self, trial: Trial) -> None:
        self.results.append(trial)
        write_atomically(self.folder / TRIALS_FILE, dump_trials(tuple(self.results)))


def make_job(name: str, info: RunInfo, folder: Path, orders: Orders, scratch: Path) -> Job:
    """The recorded command, fenced: what it writes goes to the scratch folder."""
    temporary = scratch / "tmp"
    temporary.mkdir(parents=True)
    fenced = replace(orders, scratch=str(scratch))
    env = environment(folder, Settings(blackbox=0)) | TRACKERS_OFF | fenced.to_env()
    env |= {"TMPDIR": str(temporary), "MLFLOW_TRACKING_URI": (temporary / "mlflow").as_uri()}
    env.setdefault("PYTHONHASHSEED", "0")
    return Job(name, tuple(info.command), info.cwd, env, folder)


def forget(folder: Path) -> None:
    """Before new trials: what earlier ones left."""
    shutil.rmtree(folder / TRIALS_FOLDER, ignore_errors=True)
    (folder / TRIALS_FILE).unlink(missing_ok=True)


def is_seeded(record: Record) -> bool:
    return any(SEEDED.search(text) for text in record.sources.values())


def thinned(series: Series) -> tuple[tuple[int, float], ...]:
    """At most so many points: medians of stretches, NaN where all of one is not finite."""
    edges = np.linspace(0, len(series), min(POINTS, len(series)) + 1).astype(int)
    parts = [(int(series.steps[i]), series.values[i:j][np.isfinite(series.values[i:j])]) for i, j in pairwise(edges)]
    return tuple((step, float(np.median(part)) if len(part) else math.nan) for step, part in parts)


def _firm(s: Suspicion) -> bool:
    return s.certainty != "possible"


def _opened(folder: Path) -> Record | None:
    try:
        record = open_run(folder)
    except SickbayError:
        return None
    return record if record.all_series or record.facts.run.steps else None


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
