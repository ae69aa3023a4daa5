"""Carries out a plan of trials: the recorded command again, each time with one thing changed, fenced, and compared with the run as it was."""

from __future__ import annotations

import math
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
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
from sickbay.signs import read_signs
from sickbay.supervise.jobs import make_job
from sickbay.supervise.planning import STRONGER, Plan, Planned, eases
from sickbay.supervise.replay import SEEDED
from sickbay.trials.compare import Course, Outcome, comparable, compare, compare_waiting, course_of
from sickbay.trials.ground import FENCED_FILE
from sickbay.trials.orders import Orders
from sickbay.trials.runner import Done, Runner
from sickbay.trials.storage import TRIALS_FILE, TRIALS_FOLDER, dump_trials
from sickbay.trials.treatment import parse

if TYPE_CHECKING:
    from sickbay.nouns import Series
    from sickbay.record.reader import Record

SEED = 0
POINTS = 60
"""Of each curve that are kept with a trial: what a small chart shows."""
LONGEST_NAME = 60
"""Of a trial's folder: a list of samples to leave out is longer than file systems allow."""
MORE_SEEDS = 4
"""Besides the script's own: the noise of a mean of five is less than half that of one."""
WORTHWHILE = 0.5
"""Share of a trial for which there must be time if it is to begin."""
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

    def __init__(self, folder: Path, record: Record, plan: Plan, runner: Runner, progress: Callable[[Told], None] = lambda _: None) -> None:
        self.folder = folder
        self.record = record
        self.info = RunInfo.load(folder)
        self.plan = plan
        self.runner = runner
        self.progress = progress
        self.results: list[Trial] = []
        self.unclear: dict[str, tuple[Planned, Done, Path]] = {}
        """Trials that noise alone kept from telling something, by treatment."""
        self.other_seeds: dict[int, Course] = {}
        """The script as it is, with other seeds."""
        self.before = {s.cause: s for s in suspect_all(record, read_signs(record))}
        self.ends = time.monotonic() + plan.budget
        self.untreated = course_of(record, plan.steps)

    def carry_out(self) -> Iterator[Trial]:
        if self.plan.baseline:
            self._baseline()
        waiting = list(self.plan.trials)
        number = 0
        while waiting and (self._time_left() or not self.results):
            together, waiting = waiting[: self.runner.at_once], waiting[self.runner.at_once :]
            for planned, done, folder in self._run(together, number, number + len(together) + len(waiting)):
                trial = self._trial(planned, done, folder)
                self._keep(trial)
                yield trial
                waiting = self._next(waiting, planned, trial)
            number += len(together)
        if not any(trial.effect == "CURED" for trial in self.results):
            yield from self._with_more_seeds()

    def _with_more_seeds(self) -> Iterator[Trial]:
        """Where noise hides whether a treatment does anything, both ways are run with other seeds, pair by pair, until it shows or time is up."""
        for planned, done, folder in list(self.unclear.values()):
            others: list[tuple[Course, Course]] = []
            while planned.text in self.unclear and len(others) < MORE_SEEDS and time.monotonic() + 2 * self.plan.each < self.ends:
                pair = self._pair(planned, len(others) + 1)
                if pair is None:
                    break
                others.append(pair)
                trial = self._trial(planned, done, folder, others)
            if others:
                self._keep(trial)
                yield trial

    def _pair(self, planned: Planned, seed: int) -> tuple[Course, Course] | None:
        """The script as it is and treated, with the same other seed; None if the two cannot be compared."""
        other = parse(f"seed={seed}")
        wanted = [] if seed in self.other_seeds else [Planned("", other)]
        treated = None
        for ran, _, folder in self._run([*wanted, Planned(planned.cause, (*other, *planned.treatments))], len(self.results), len(self.results)):
            record = _opened(folder)
            if record is None:
                return None
            if ran.treatments == other:
                self.other_seeds[seed] = course_of(record, self.plan.steps)
            else:
                treated = course_of(record, self.plan.steps)
        untreated = self.other_seeds.get(seed)
        return (untreated, treated) if untreated is not None and treated is not None and comparable(untreated, treated) else None

    def _next(self, waiting: list[Planned], planned: Planned, trial: Trial) -> list[Planned]:
        """What is still worth a trial after this one."""
        stronger = STRONGER.get(planned.text)
        if stronger and planned.cause and trial.effect not in ("CURED", "HARMED") and self._time_left():
            return [Planned(planned.cause, parse(stronger)), *waiting]
        return [w for w in waiting if self._still_asked(w, planned)] if trial.effect == "CURED" and planned.cause else waiting

    def _time_left(self) -> bool:
        """For another trial, or most of it: one that is ended at the limit is compared as far as it came."""
        return time.monotonic() + WORTHWHILE * self.plan.each < self.ends

    def _still_asked(self, waiting: Planned, cured: Planned) -> bool:
        """Once a cure is found, only suspicions at least as firm are worth another run."""
        other, this = self.before.get(waiting.cause), self.before.get(cured.cause)
        return not waiting.cause or (other is not None and this is not None and _firm(other) and other.cause not in this.explains)

    def _baseline(self) -> None:
        for _, _, folder in self._run([Planned("", ())], 0, len(self.plan.trials)):
            record = _opened(folder)
            if record is not None and record.facts.run.steps:
                self.untreated = course_of(record, self.plan.steps)

    def _trial(self, planned: Planned, done: Done, folder: Path, others: Sequence[tuple[Course, Course]] = ()) -> Trial:
        record = _opened(folder)
        outcome, treated = self._judge(planned, done, folder, record, others)
        if outcome.noisy:
            self.unclear[planned.text] = planned, done, folder
        else:
            self.unclear.pop(planned.text, None)
        return Trial(
            cause=planned.cause,
            treatment=planned.text,
            label=planned.label,
            effect=outcome.effect,
            text=outcome.text,
            size=outcome.size,
            noise=outcome.noise,
            steps=treated.steps if treated is not None else 0,
            seconds=round(done.seconds * (1 + 2 * len(others)), 2),
            untreated=thinned(self.untreated.loss),
            treated=thinned(treated.loss) if treated is not None else (),
            fenced=tuple(_lines(folder / FENCED_FILE)),
        )

    def _judge(
        self, planned: Planned, done: Done, folder: Path, record: Record | None, others: Sequence[tuple[Course, Course]]
    ) -> tuple[Outcome, Course | None]:
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
        outcome = compare(self.untreated, treated, redefined=redefined, eased=eases(planned, self.record), gone=gone, well=well, others=others)
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
                folder = new_run(self.folder / TRIALS_FOLDER, planned.text[:LONGEST_NAME] or "untreated")
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
        """In place of an earlier one of the same treatment."""
        self.results = [t for t in self.results if (t.cause, t.treatment) != (trial.cause, trial.treatment)] + [trial]
        write_atomically(self.folder / TRIALS_FILE, dump_trials(tuple(self.results)))


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
