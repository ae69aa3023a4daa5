"""For people who add causes: build a record by hand, and check a cause on a sick one and on its look-alikes.

class TestMissingZeroGrad(CauseTestCase):
    cause = "missing-zero-grad"

    def sick(self):
        yield make_record(steps=100, optimizers=[Optimizer(index=0, steps=100, intervals=99, stale_intervals=99, stale_norm=1.0)])

    def look_alikes(self):
        yield "cleared by hand", make_record(steps=100, optimizers=[Optimizer(index=0, steps=100, intervals=99)])
"""

from sickbay.testing.cases import HEADINGS, CauseTestCase, assert_silent, assert_suspects, suspicion_of
from sickbay.testing.records import falling, make_record, model_facts, place_in

__all__ = [
    "HEADINGS",
    "CauseTestCase",
    "assert_silent",
    "assert_suspects",
    "falling",
    "make_record",
    "model_facts",
    "place_in",
    "suspicion_of",
]
