"""One variant is called better than another by a difference that chance alone makes.

## What happens

Two architectures, optimizers or settings are trained once each, and the one that scores half a point more is taken. Trained again with another seed, the order turns around: initial weights, the order of the
batches and the few samples that validation has move the score by more than that. What was chosen is no better, and the next "improvement" is built upon it.

## How we know

The script trains several times from one line (an optimizer is made there for each), every time with something else, and evaluates all of them on the same samples. The best is ahead of the next by less than
two standard errors of such a difference on so many samples: that much chance does even if both models were the same. Seeds add to it. And the script says which one is better.

## Looks like it but is not

- The same trained several times with different seeds, or on several folds, and a mean with its spread taken of it: that is the cure.
- A difference that so many samples do tell.
- A search for a setting (a learning rate, a width) that takes the best and claims nothing of it: it does no harm when several are as good.
- An ensemble: nothing is chosen.

## Fix

Train each variant with five seeds and compare means with their spread (`sickbay seeds -n 5 train.py` shows the spread); call it better only if the difference is more than two standard errors.
More validation samples make the error smaller: four times as many halve it.

## References

- Bouthillier et al. 2021, Accounting for variance in machine learning benchmarks.
- Henderson et al. 2018, Deep reinforcement learning that matters.
- Picard 2021, torch.manual_seed(3407) is all you need.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sickbay.causes.evidence import hint, located, strong
from sickbay.causes.registry import cause
from sickbay.facts import ScoredSet, Start
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.chosen import claimed, compared_at, trained_again
from sickbay.script.fixing import mend
from sickbay.signs import Signs

ERRORS = 2.0
"""Standard errors of a difference that are called one: chance goes beyond them in one case of twenty."""
MOST = 6
"""Trainings: of more, some are repetitions, or it is a search."""
AT_THE_END = 0.75
"""Of a training, from where on a score is its result."""
FEWEST = 20
"""Samples that a share of right answers is taken of."""


@dataclass(frozen=True)
class Contest:
    """Trainings that were evaluated on the same samples."""

    scored: ScoredSet
    starts: tuple[Start, ...]
    results: tuple[float, ...]
    steps: tuple[int, ...]

    @property
    def ahead(self) -> float:
        best, second = sorted(self.results)[:-3:-1]
        return best - second

    @property
    def error(self) -> float:
        """Of the difference between the two best."""
        return math.sqrt(sum(p * (1 - p) for p in sorted(self.results)[-2:]) / self.scored.samples)


@cause(
    code="E603",
    level="evaluation",
    title="an improvement that chance alone would make",
    why="What is called better is not: with another seed, or other validation samples, the order turns around.",
    explains={"small-validation-set"},
    cure=None,
)
def seed_noise(record: Record, signs: Signs) -> Iterator[Evidence]:
    contest = next(filter(None, (_contest(record, s) for s in record.facts.scored)), None)
    if contest is None or not 0 < contest.ahead < ERRORS * contest.error or not claimed(record):
        return
    first = contest.starts[0].place
    if first is None or trained_again(record, first) is not False:
        return
    place, samples = compared_at(record, first) or first, contest.scored.samples
    yield strong(
        f"{len(contest.starts)} trainings are compared on the same {samples:,} samples, each done once{located(place)}: the best is right in {100 * max(contest.results):.2f} %, "
        f"{100 * contest.ahead:.2f} points ahead ({round(contest.ahead * samples)} samples). On so many samples the standard error of such a difference is {100 * contest.error:.2f} points",
        place,
        (contest.steps[0], contest.steps[-1]),
        ahead=contest.ahead,
        error=contest.error,
        samples=samples,
    )
    yield hint("other initial weights and another order of the batches move a result as well, and that was not tried: every training had one seed")


def _contest(record: Record, scored: ScoredSet) -> Contest | None:
    """The trainings that one line began, each with something else, and what each of them ended with on these samples."""
    starts = _starts(record)
    if not 2 <= len(starts) <= MOST or len({s.given for s in starts}) < len(starts) or scored.samples < FEWEST:
        return None
    known = [(step, v) for step, v in zip(scored.steps, scored.accuracy, strict=True) if v is not None]
    results, steps = [], []
    for begun, ended in pairwise([*(s.step for s in starts), record.facts.run.steps]):
        late = [(step, v) for step, v in known if begun + AT_THE_END * (ended - begun) <= step <= ended and step > begun]
        if not late:
            return None
        steps.append(late[-1][0])
        results.append(late[-1][1])
    return Contest(scored, tuple(starts), tuple(results), tuple(steps))


def _starts(record: Record) -> list[Start]:
    """Of the line that began most of them."""
    starts = [s for s in record.facts.randomness.starts if s.place is not None]
    lines = [(s.place.file, s.place.line) for s in starts if s.place is not None]
    most = max(lines, key=lines.count, default=None)
    return [s for s, line in zip(starts, lines, strict=True) if line == most]


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    text = "train each variant with several seeds, and call one better only if their means differ by more than two standard errors"
    snippet = "scores = torch.tensor([train(variant, seed) for seed in range(5)])\nprint(f'{scores.mean():.4f} ± {scores.std():.4f}')"
    return mend(text, "", snippet, "advice")
