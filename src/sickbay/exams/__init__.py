"""Examinations: questions that a model or a script is asked on purpose, besides being watched.

overfit.py         can the model learn one batch by heart?             `sickbay.overfit`, the pytest fixture
by_heart.py        when one batch counts as learned
range_test.py      what a learning-rate sweep says (numbers only)      `sickbay lr`
statistics.py      what several seeds say together (numbers only)      `sickbay seeds`
randomness.py      random generators, taken and put back
repeatable.py      everything that a seed can set                      `sickbay.deterministic`
evaluate.py        how good a model is, and where it fails             `sickbay.evaluate`, `sickbay evaluate`
evaluate_*.py      ...what is counted for it, by kind of task (numbers only, but for evaluate_task.py)
skew.py            are samples prepared alike in training and serving `sickbay.skew`, `sickbay skew`
skew_*.py          ...what both make of them (sides, pairs), and what makes one of the other (maps: places, values)
forgetting.py      what a model could do once, while it learns more    `sickbay.forgetting`
passes.py          a model over a loader, without a trace left
intervals.py       how far a score may be off (numbers only)
"""
