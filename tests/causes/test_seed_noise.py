"""seed-noise: trainings that are compared by a difference that so many samples do not tell."""

from __future__ import annotations

import pytest

from sickbay import facts
from sickbay.record.reader import Record
from sickbay.testing import assert_silent, assert_suspects, make_record, place_in

SCRIPT = """\
def train(width):
    net = make(width)
    opt = Adam(net.parameters())
    net.train()
    return accuracy(net)

def main():
    scores = {}
    for width in (32, 64):
        scores[width] = train(width)
    print(f"{max(scores, key=scores.get)} is better")
"""


def run(
    accuracy: tuple[float | None, ...] = (0.90, 0.92),
    samples: int = 300,
    given: str = "ab",
    script: str = SCRIPT,
    late: int = 100,
) -> Record:
    """Trainings of a hundred steps each, evaluated when they are over."""
    place = place_in(script, "opt = Adam")
    starts = tuple(facts.Start(step=100 * i, place=place, given=g) for i, g in enumerate(given))
    steps = tuple(100 * i + late for i in range(len(accuracy)))
    scored = facts.ScoredSet(samples=samples, steps=steps, accuracy=accuracy, loss=(None,) * len(accuracy))
    return make_record(
        run=facts.Run(steps=100 * len(given), backwards=100 * len(given)),
        randomness=facts.Randomness(starts=starts),
        scored=[scored],
        sources={"train.py": script},
    )


def test_two_points_on_three_hundred_samples_are_chance() -> None:
    suspicion = assert_suspects(run(), "seed-noise", "likely")
    assert "2.00 points ahead (6 samples)" in suspicion.evidence[0].text
    assert suspicion.place is not None
    assert suspicion.place.line == 10, "the line that trains each of them; net.train() is no call of train()"


@pytest.mark.parametrize(
    "record",
    [
        run(samples=30_000),
        run(accuracy=(0.80, 0.92)),
        run(accuracy=(0.92, 0.92)),
        run(accuracy=(None, 0.92)),
        run(late=30),
        run(given="aa"),
        run(given="a"),
        run(accuracy=tuple(0.9 + 0.002 * i for i in range(8)), given="abcdefgh"),
        run(script=SCRIPT.replace("is better", "is used")),
        run(script=SCRIPT.replace("for width in (32, 64)", "for seed, width in ((1, 32), (2, 32))")),
        run(script=SCRIPT.replace("for width in (32, 64)", "for width in folds")),
    ],
    ids=[
        "enough samples",
        "far ahead",
        "a tie",
        "one is not evaluated",
        "only evaluated on the way",
        "the same again",
        "one training",
        "a search",
        "nothing claimed",
        "seeds",
        "folds",
    ],
)
def test_what_only_looks_like_it(record: Record) -> None:
    assert_silent(record, "seed-noise")
