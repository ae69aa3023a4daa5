"""Where the numbers of a schedule stand."""

from __future__ import annotations

import pytest

from sickbay.nouns import Place
from sickbay.script.scheduled import set_at
from sickbay.testing import make_record

GIVEN = {
    "a default": ("def run(milestones=(2, 4)):\n    s = MultiStepLR(o, milestones=list(milestones))\n", 2, 1),
    "an option": ("ap.add_argument('--drops', nargs='+', default=[3, 6])\na = ap.parse_args()\ns = MultiStepLR(o, a.drops, gamma=0.1)\n", 3, 1),
    "an entry": ("HP = {'step': 2, 'gamma': 0.5}\ns = optim.lr_scheduler.StepLR(o, step_size=HP['step'], gamma=HP['gamma'])\n", 2, 1),
    "a factor": ("DECAY = 0.1\ns = ExponentialLR(o, DECAY)\n", 2, 1),
    "on the line itself": ("s = MultiStepLR(o, [2, 4])\n", 1, None),
    "worked out": ("EPOCHS = 9\ns = StepLR(o, EPOCHS // 3)\n", 2, None),
    "given twice": ("def run(drop=3):\n    s = StepLR(o, drop)\nrun(drop=5)\n", 2, None),
    "unpacked": ("cfg = {'drops': {'milestones': [1, 2]}}\ns = MultiStepLR(o, **cfg['drops'])\n", 2, 1),
    "a length of its own": ("class C:\n    decay_epochs: int = 5\ns = PolynomialLR(o, total_iters=C.decay_epochs)\n", 3, 2),
    "as long as the run": ("EPOCHS = 5\ns = CosineAnnealingLR(o, EPOCHS)\n", 2, None),
    "another kind": ("T = 5\ns = CosineAnnealingWarmRestarts(o, T)\n", 2, None),
}


@pytest.mark.parametrize("name", GIVEN)
def test_where_it_is_said_when_the_rate_falls(name: str) -> None:
    text, built, line = GIVEN[name]
    found = set_at(make_record(sources={"train.py": text}), Place("train.py", built))
    assert (found.line if found is not None else None) == line
