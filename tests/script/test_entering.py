"""After which line scaling the inputs belongs, from the text of a script alone."""

from __future__ import annotations

import pytest

from script.followed import source_of
from sickbay.facts import Timeline
from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.entering import chosen, entered, scaled_after, scaled_in_part
from sickbay.script.lineage import Lineage
from sickbay.script.prepared import Statements
from sickbay.testing import make_record

LOOP = """
for idx in torch.randperm(len(x)).split(9):
    loss = loss_fn(net(x[idx]), y[idx])
"""


def line_of(text: str) -> str | None:
    """The line that is chosen for what `net(...)` is given."""
    source = source_of(text)
    place = chosen(Statements(source, Lineage(source).of(source.calls("net")[0].args[0])))
    assert place is None or place.guess
    return place.text if place is not None else None


def record_of(text: str, forward: int) -> Record:
    places = {"forward": Place("train.py", forward)}
    return make_record(series={"loss/train": [1.0] * 9}, sources={"train.py": text}, timeline=Timeline(places=places))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a, b = load()\nx, v, y, w = train_test_split(a, b)\nx = torch.tensor(x)\n", "x, v, y, w = train_test_split(a, b)"),
        ("a, b = load()\nx, y = torch.from_numpy(a), torch.from_numpy(b)\n", "x, y = torch.from_numpy(a), torch.from_numpy(b)"),
        ("x, y = reports(2000)\nm = y.mean()\ny = y - m\n", "x, y = reports(2000)"),
    ],
)
def test_the_line_after_which_scaling_belongs(text: str, line: str) -> None:
    assert line_of(text + LOOP) == line


def test_orders_of_samples_hold_no_values() -> None:
    text = """
    x, y = load()
    order = torch.randperm(len(x))
    for i in order:
        net(x[i])
    """
    assert line_of(text) == "x, y = load()"


def test_a_constructor_knows_only_its_own_samples() -> None:
    text = """
    class Log:
        def __init__(self, seed):
            self.x = torch.stack(read(seed)).float()
        def batches(self):
            for i in torch.randperm(len(self.x)).split(9):
                yield self.x[i]

    def fit(data):
        for x in data.batches():
            net(x)

    train, test = Log(1), Log(2)
    fit(train)
    """
    assert line_of(text) == "train, test = Log(1), Log(2)"


def test_a_sample_is_scaled_where_it_is_made_a_tensor() -> None:
    text = """
    class Stamps(Dataset):
        def __init__(self):
            self.images = scan()
        def __getitem__(self, i):
            image = torch.from_numpy(self.images[i]).float()
            return image

    for image in DataLoader(Stamps()):
        net(image)
    """
    assert line_of(text) == "image = torch.from_numpy(self.images[i]).float()"


def test_what_comes_from_nowhere_names_no_line() -> None:
    assert line_of("def step(batch):\n    net(batch)\n") is None


SPLIT = """\
def run():
    X, y = load()
    X_train, X_test, y_train, y_test = train_test_split(X, y)
    for i in range(9):
        out = model(X_train[i])
"""


def test_both_parts_are_scaled_with_the_numbers_of_training() -> None:
    record = record_of(SPLIT, forward=5)
    place = entered(record)
    assert place is not None and place.line == 3 and place.guess
    added = [line for line in scaled_after(record, place).splitlines() if line.startswith("+ ")]
    assert added == [
        "+    mean, std = X_train.mean(0), X_train.std(0) + 1e-8",
        "+    X_train, X_test = (X_train - mean) / std, (X_test - mean) / std",
    ]


def test_other_lines_are_not_edited() -> None:
    record = record_of(SPLIT.replace("train_test_split(X, y)", "parts(X, y)"), forward=5)
    assert entered(record) is not None and scaled_after(record, entered(record)) == ""
    assert scaled_after(record, None) == ""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("COLS = ['a', 'b']\nframe[COLS] = scaler.transform(frame[COLS])\nx = frame.values\n", "COLS = ['a', 'b']"),
        ("W = ['a', 'b']\nat = [names.index(w) for w in W]\nx[:, at] = (x[:, at] - m) / s\n", "W = ['a', 'b']"),
        ("at = pick(names)\nx[:, at] = scaler.transform(x[:, at])\n", "x[:, at] = scaler.transform(x[:, at])"),
        ("at = pick(names)\nx[:, at] = x[:, at] + 1\n", None),
        ("x = scaler.transform(x)\n", None),
    ],
)
def test_columns_that_are_scaled(text: str, line: str | None) -> None:
    script = text + LOOP
    place = scaled_in_part(record_of(script, script.count("\n")))
    assert (place.text if place is not None else None) == line
