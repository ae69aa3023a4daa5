"""Where a script says how long it trains."""

from __future__ import annotations

import pytest

from sickbay.facts import Optimizer, Run, Timeline
from sickbay.nouns import Place
from sickbay.script.length import length_place
from sickbay.testing import make_record

BY_OPTION = """\
def train(model, loader):
    for x, y in tqdm(loader, desc=f"epoch {now}"):
        loss = criterion(model(x), y)
        loss.backward()

for repeat in range(args.repeats):
    optimizer = SGD(model.parameters(), lr=0.1)
    for epoch in range(1, args.epochs + 1):
        train(model, loader)
"""
REPEATED = """\
for repeat in range(args.repeats):
    optimizer = SGD(model.parameters(), lr=0.1)
    while not done():
        for x, y in loader:
            loss = criterion(model(x), y)
            loss.backward()
"""


@pytest.mark.parametrize(
    ("text", "backward", "built", "line"),
    [
        (BY_OPTION, 4, 7, 8),
        (BY_OPTION.replace("epoch in range(1, args.epochs + 1)", "_ in range(args.n_epochs)"), 4, 7, 8),
        (BY_OPTION.replace("args.epochs + 1", "13"), 4, 7, 8),
        (REPEATED, 6, 2, 3),
        ("loss.backward()\n", 1, 1, None),
    ],
    ids=["a loop called epochs", "by what it counts to", "a number", "loops that begin anew", "none"],
)
def test_the_loop_that_is_training(text: str, backward: int, built: int, line: int | None) -> None:
    record = make_record(
        sources={"train.py": text},
        run=Run(script="train.py", steps=60, epochs=12),
        timeline=Timeline(places={"backward": Place("train.py", backward), "forward": Place("train.py", built)}),
        optimizers=[Optimizer(index=0, built_at=Place("train.py", built))],
    )
    place = length_place(record)
    assert (place.line if place is not None else None) == line
