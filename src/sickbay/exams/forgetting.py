"""`sickbay.forgetting(model, {"task a": loader_a})`: what the model could do before, checked while it learns something else.

    with sickbay.forgetting(model, {"digits": digits_loader}) as memory:
        for step, batch in enumerate(loader):
            ...
            if step % 200 == 0:
                memory.check(step)
    print(memory)

Each task's loader gives the same samples each time, so a check is compared with the best one before it sample by sample: what was right and is wrong,
against the reverse (McNemar 1947). Looking often finds something by chance some day: the chance is multiplied by how often was looked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sickbay.errors import UsageError
from sickbay.exams.evaluate_classes import ClassTally
from sickbay.exams.evaluate_numbers import Numbers
from sickbay.exams.evaluate_task import Tally
from sickbay.exams.intervals import means_differ, paired, shares_differ, two_sided
from sickbay.exams.passes import answers, left_alone, shuffles
from sickbay.facts.forgotten import ClassLoss, Forgotten, Remembered

Array = NDArray[Any]
SURE = 0.05
"""The chance that anything is called forgotten though nothing is."""
EXACT = 2000
"""Samples that changed sides, up to which chance is counted exactly; beyond, the normal limit is the same."""
COURSE = 500
"""Checks that are kept as a curve; then every other one is dropped."""


@dataclass(slots=True)
class Check:
    """One task at one step."""

    step: int
    score: Array
    """Of each sample: right or wrong, or its error; NaN where it does not count."""
    targets: Array | None
    measure: str
    yes_or_no: bool

    @property
    def value(self) -> float:
        return float(np.nanmean(self.score)) if np.isfinite(self.score).any() else math.nan

    @property
    def larger_is_better(self) -> bool:
        return self.measure != "mean absolute error"


@dataclass(slots=True)
class Task:
    name: str
    loader: Iterable[Any]
    shuffled: bool
    best: Check | None = None
    now: Check | None = None
    checks: int = 0
    chance: float = 1.0
    since: int | None = None
    course: list[tuple[int, float]] = field(default_factory=list)


class Forgetting:
    """Truthy as soon as something was forgotten."""

    def __init__(self, model: Any, tasks: Mapping[str, Iterable[Any]], class_names: Sequence[str] | None = None) -> None:
        if not isinstance(tasks, Mapping) or not tasks:
            raise UsageError('sickbay.forgetting expects loaders by name: forgetting(model, {"task a": loader_a})')
        self.model = model
        self.tasks = [Task(str(name), loader, shuffles(loader)) for name, loader in tasks.items()]
        self.class_names = class_names
        self.looks = 0
        """Comparisons so far."""

    def __enter__(self) -> Forgetting:
        if not any(t.checks for t in self.tasks):
            self.check(0)
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def check(self, step: int) -> tuple[str, ...]:
        """Look at every task now; gives the names of those that are worse than they were, beyond chance. The first check is what others are compared with."""
        for task in self.tasks:
            self._look(task, int(step))
        return tuple(t.name for t in self.tasks if t.since is not None)

    def _look(self, task: Task, step: int) -> None:
        task.now = now = _checked(self.model, task.loader, step)
        task.checks += 1
        task.course.append((step, now.value))
        if len(task.course) > COURSE:
            task.course = task.course[::2]
        if task.best is None or _better(now, task.best):
            task.best, task.since, task.chance = now, None, 1.0
            return
        self.looks += 1
        task.chance = min(1.0, len(self.tasks) * task.checks * _chance(task.best.score, now.score, now.yes_or_no, not task.shuffled))
        task.since = (task.since if task.since is not None else step) if task.chance < SURE else None

    @property
    def found(self) -> Forgotten:
        """All tasks as they stand."""
        tasks = [self._told(t) for t in self.tasks if t.best is not None and t.now is not None]
        notes = [f"{t.name}: the loader shuffles, so single samples cannot be followed and less is noticed" for t in self.tasks if t.shuffled]
        return Forgotten(tasks=tuple(sorted(tasks, key=lambda t: not t.worse)), notes=tuple(notes))

    def _told(self, task: Task) -> Remembered:
        assert task.best is not None and task.now is not None
        best, now = task.best, task.now
        lost, gained = _moved(best.score, now.score) if now.yes_or_no and not task.shuffled else (0, 0)
        return Remembered(
            name=task.name,
            measure=now.measure,
            larger_is_better=now.larger_is_better,
            before=best.value,
            before_at=f"step {best.step:,}",
            now=now.value,
            now_at=f"step {now.step:,}",
            worse=task.since is not None,
            since=task.since,
            chance=task.chance,
            lost=lost,
            gained=gained,
            classes=self._classes(best, now) if task.since is not None and not task.shuffled else (),
            course=tuple(task.course),
            note="only one check so far" if task.checks == 1 else "",
        )

    def _classes(self, best: Check, now: Check) -> tuple[ClassLoss, ...]:
        if now.targets is None or not now.yes_or_no:
            return ()
        classes = [int(c) for c in np.unique(now.targets) if c >= 0]
        found = []
        for c in classes:
            own = now.targets == c
            lost, gained = _moved(best.score[own], now.score[own])
            if lost > gained and len(classes) * _discordant(lost, gained) < SURE:
                name = str(self.class_names[c]) if self.class_names is not None and c < len(self.class_names) else str(c)
                found.append(
                    ClassLoss(name=name, support=int(own.sum()), before=float(np.nanmean(best.score[own])), now=float(np.nanmean(now.score[own])))
                )
        return tuple(sorted(found, key=lambda f: f.now - f.before))

    def __bool__(self) -> bool:
        return any(t.since is not None for t in self.tasks)

    def __str__(self) -> str:
        from sickbay.report.forgetting_page import text

        return text(self.found)

    def __repr__(self) -> str:
        from sickbay.report.forgetting_page import statement

        return f"<sickbay forgetting: {statement(self.found)}>"

    def to_dict(self) -> dict[str, Any]:
        """The document that `sickbay forgetting --json` writes."""
        from sickbay.report.forgetting_page import document

        return document(self.found)


def forgetting(model: Any, tasks: Mapping[str, Iterable[Any]], *, class_names: Sequence[str] | None = None) -> Forgetting:
    """Watch what a model could do before, while it learns something else: call `.check(step)` now and then, or use it in a `with` block.

    `tasks` are evaluation loaders by name; each gives the same samples in the same order every time. The model is left as it is by every check.
    """
    return Forgetting(model, tasks, class_names)


def _checked(model: Any, loader: Iterable[Any], step: int) -> Check:
    tally = Tally()
    with left_alone(model, loader):
        for answered in answers(model, loader):
            tally.add(answered.output, answered.target)
    judged = tally.judged()
    if isinstance(judged, Numbers):
        return Check(step, judged.off, None, "mean absolute error", False)
    if isinstance(judged, ClassTally):
        return Check(step, judged.right, judged.targets, "accuracy", judged.single)
    return Check(step, judged.right, None, "labels that are right", False)


def _better(now: Check, best: Check) -> bool:
    return now.value >= best.value if now.larger_is_better else now.value <= best.value


def _moved(before: Array, now: Array) -> tuple[int, int]:
    """Samples that were right and are wrong, and the reverse."""
    return int(((before == 1) & (now == 0)).sum()), int(((before == 0) & (now == 1)).sum())


def _chance(before: Array, now: Array, yes_or_no: bool, same_samples: bool) -> float:
    known = np.isfinite(before) & np.isfinite(now) if len(before) == len(now) else np.zeros(0, bool)
    if not same_samples or not len(known):
        one, other = before[np.isfinite(before)], now[np.isfinite(now)]
        return shares_differ(int(other.sum()), len(other), int(one.sum()), len(one)) if yes_or_no else means_differ(one, other)
    if yes_or_no:
        return _discordant(*_moved(before[known], now[known]))
    mean, error = paired(now[known] - before[known])
    return two_sided(mean / error) if error and math.isfinite(error) else float(mean == 0)


def _discordant(lost: int, gained: int) -> float:
    """How likely so uneven a split is, if samples change sides by chance."""
    n = lost + gained
    if not n:
        return 1.0
    if n > EXACT:
        return two_sided((lost - gained) / math.sqrt(n))
    few = min(lost, gained)
    tail = sum(math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) - n * math.log(2)) for k in range(few + 1))
    return min(1.0, 2 * tail)
