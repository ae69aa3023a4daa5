"""What people write after --treat, and what they are told when it is wrong."""

from __future__ import annotations

import pytest

from sickbay.errors import UsageError
from sickbay.trials.registry import catalogue
from sickbay.trials.treatment import Treatment, labels, parse


def test_several_treatments_and_values_with_commas() -> None:
    assert parse("lr=x0.1, clip=1.0") == (Treatment("lr", "x0.1"), Treatment("clip", "1.0"))
    assert parse("drop-samples=3,17,zero_grad") == (Treatment("drop-samples", "3,17"), Treatment("zero-grad"))
    assert parse("drop-samples=3,17")[0].value == (frozenset({3, 17}),)
    assert parse("warmup")[0].value == (0.1,)


def test_labels_say_it_in_words() -> None:
    assert labels(parse("lr=x0.1,clip")) == "learning rate ×0.1 and gradients clipped at 1.0"
    assert parse("lr=0.01")[0].label == "learning rate 0.01"
    assert parse("drop-samples=" + ",".join(map(str, range(100, 300))))[0].label == "samples 100,101,102,103,104... (200 in all) left out"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no treatment was given"),
        ("learning-rate=1", "there is no treatment 'learning-rate'"),
        ("zerograd", "did you mean zero-grad"),
        ("lr", "needs a value"),
        ("lr=fast", "write for example lr=x0.1"),
        ("zero-grad=1", "takes no value"),
        ("warmup=300%", "more than all steps"),
        ("drop-samples=first", "not a whole number"),
    ],
)
def test_mistakes_are_told(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        parse(text)


@pytest.mark.parametrize("name", catalogue())
def test_every_intervention_says_what_it_does(name: str) -> None:
    chosen = catalogue()[name]
    assert chosen.describe and chosen.describe[0].islower() and not chosen.describe.endswith(".")
    assert (chosen.parse is None) or chosen.default is None or Treatment(name).value
    assert Treatment(name, chosen.default or "").label
