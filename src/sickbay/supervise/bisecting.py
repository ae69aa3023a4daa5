"""Which commit made a script sick: bisection over git history, in a tree of its own, with a question that a diagnosis answers."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from sickbay.conclude import diagnose, suspect_all
from sickbay.errors import UsageError
from sickbay.signs import read_signs
from sickbay.supervise.command import Command
from sickbay.supervise.examining import Examined, examine
from sickbay.supervise.history import History, Tree
from sickbay.supervise.seeding import final
from sickbay.trials.orders import Orders

if TYPE_CHECKING:
    from sickbay.record.reader import Record

Word = Literal["good", "bad", "skipped"]


@dataclass(frozen=True, slots=True)
class Question:
    """What makes a revision bad: being sick; or one cause, by name; or a final training loss above a limit."""

    cause: str | None = None
    worse_than: float | None = None

    def asked(self, seen: Examined) -> tuple[Word, str]:
        """The answer, and what it rests on."""
        record = seen.record
        if record is None:
            return "skipped", f"it does not run: {seen.trouble}"
        diagnosis = diagnose(record)
        first = f"{diagnosis.verdict}: {diagnosis.reason}" if diagnosis.verdict != "healthy" else "healthy"
        if self.cause is not None:
            found = next((s for s in suspect_all(record, read_signs(record)) if s.cause == self.cause and s.certainty != "possible"), None)
            if found is not None:
                return "bad", f"{self.cause} ({found.certainty})"
        elif self.worse_than is not None:
            loss = final(record, "loss/train")
            if loss is not None and not loss <= self.worse_than:
                return "bad", f"final loss {loss:.4g}"
            first = f"final loss {loss:.4g}" if loss is not None else first
        elif diagnosis.verdict == "sick":
            return "bad", first
        if record.facts.crash is not None and diagnosis.verdict != "sick":
            return "skipped", f"it does not run through: {record.facts.crash.kind}"
        return "good", first


@dataclass(frozen=True, slots=True)
class Judged:
    sha: str
    word: Word
    text: str
    seconds: float
    record: Record | None = None
    ran: tuple[str, ...] = ()
    """Files of the repository that the script loaded."""


@dataclass(slots=True)
class Found:
    """What is known so far."""

    bad: str
    good: list[str]
    suspects: list[str]
    """Commits one of which is the first bad one; just `bad` at the end, unless what lies before it could not be run."""
    judged: dict[str, Judged] = field(default_factory=dict)

    @property
    def certain(self) -> bool:
        return self.suspects == [self.bad]

    @property
    def runs_left(self) -> int:
        return math.ceil(math.log2(len(self.suspects))) if self.suspects else 0


class Bisection:
    """`search` runs revisions one after the other; `told` hears of each, with what is known by then."""

    def __init__(self, history: History, what: Command, folder: Path, question: Question, steps: int | None) -> None:
        self.history = history
        self.what = what
        self.folder = folder
        self.question = question
        self.steps = steps
        self.cwd = Path.cwd()

    def open(self, good: str, bad: str) -> Found:
        """Before anything is run: what lies between two revisions. Raises UsageError if they cannot be bisected."""
        first, last = self.history.commit(good), self.history.commit(bad)
        if first == last:
            raise UsageError(f"{good} and {bad} are the same commit; --good is one where the script was still well")
        if not self.history.is_ancestor(first, last):
            raise UsageError(f"{bad} does not come from {good}: --good must be an ancestor of --bad; `git merge-base {good} {bad}` names one")
        return Found(last, [first], self.history.suspects(last, [first]))

    def search(self, found: Found, told: Callable[[Judged, Found], None]) -> Found:
        with self._tree() as tree:
            self._ends(tree, found, told)
            while (sha := self._next(found)) is not None:
                judged = self._run(tree, sha)
                found.judged[sha] = judged
                if judged.word == "bad":
                    found.bad = sha
                elif judged.word == "good":
                    found.good.append(sha)
                found.suspects = self.history.suspects(found.bad, found.good)
                told(judged, found)
        return found

    def _ends(self, tree: Tree, found: Found, told: Callable[[Judged, Found], None]) -> None:
        """The bad revision must be bad and the good one good, or every run after them would be for nothing."""
        for sha, wanted in ((found.bad, "bad"), (found.good[0], "good")):
            judged = found.judged[sha] = self._run(tree, sha)
            told(judged, found)
            if judged.word != wanted:
                raise UsageError(f"{self.history.tell(sha).short} was given as the {wanted} revision, but is not: {judged.text}")

    def _next(self, found: Found) -> str | None:
        """The commit that halves the suspects best. Beside one that does not run there are often others: the more of them, the further away."""
        open_ones = [sha for sha in found.suspects[:-1] if sha not in found.judged]
        skipped = sum(sha in found.judged for sha in found.suspects[:-1])
        return open_ones[int(len(open_ones) * skipped / (2 * skipped + 2))] if open_ones else None

    def _run(self, tree: Tree, sha: str) -> Judged:
        tree.show(sha)
        cwd = tree.top / self.cwd.relative_to(self.history.top)
        if not cwd.is_dir():
            return Judged(sha, "skipped", f"there is no folder {self.cwd.relative_to(self.history.top)} in it", 0.0)
        program, *words = self.what.argv
        what = Command((program, *(tree.word(w, self.cwd) for w in words)), self.what.stem)
        began = time.monotonic()
        (seen,) = examine(what, self.folder, [(sha[:12], Orders(steps=self.steps, seed=0))], cwd=cwd, base=_base(tree))
        word, text = self.question.asked(seen)
        if seen.record is not None and (stray := self._stray(seen.record)):
            raise UsageError(
                f"{stray} was run from your checkout and not from the revision; if it is installed, install it without -e, or set PYTHONPATH"
            )
        files = [Path(file) for file in seen.record.sources] if seen.record is not None else []
        ran = tuple(str(file.relative_to(tree.top)) for file in files if file.is_relative_to(tree.top))
        return Judged(sha, word, text, time.monotonic() - began, seen.record, ran)

    def _stray(self, record: Record) -> str | None:
        """A file of the checkout that ran in place of the revision's own."""
        return next((file for file in record.sources if self.history.inside(Path(file)) is not None), None)

    @contextmanager
    def _tree(self) -> Iterator[Tree]:
        with tempfile.TemporaryDirectory(prefix="sickbay-bisect-") as scratch:
            yield Tree(self.history, Path(scratch, self.history.top.name))


def _base(tree: Tree) -> Mapping[str, str]:
    return {**os.environ, "PYTHONPATH": tree.python_path()}
