"""Which line puts a column among the inputs, from the text of a script alone."""

from __future__ import annotations

import pytest

from causes.scripts import removed
from script.followed import loss_of
from sickbay.script.columns import made_column, made_with_others


def test_the_line_that_makes_a_column() -> None:
    text = """
    amount, charged = load()
    rate = means(charged)[merchant] * 2
    X = torch.stack([amount, rate], 1)
    loss = loss_fn(model(X[idx]), charged[idx])
    """
    column = made_column(loss_of(text), 1, 2)
    place = column.place if column is not None else None
    assert place is not None and place.text == "rate = means(charged)[merchant] * 2" and place.guess
    assert made_column(loss_of(text), 1, 3) is None and made_column(loss_of(text.replace("torch.stack([amount, rate], 1)", "load()")), 1, 2) is None


TAIL = "loss = loss_fn(model(X[idx]), y[idx])\n"


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ('COLUMNS = ["area", "rooms", "tax"]\nX = np.stack([table[c] for c in COLUMNS], 1)\n', 1, "tax"),
        ('FEATURES = [\n    "area",\n    "rooms",\n    "tax",\n]\nX = torch.tensor(frame[FEATURES].values)\n', 4, "tax"),
        ('X = frame[["area", "rooms", "tax"]].values\n', 1, "tax"),
        ('table = {\n    "area": area,\n    "rooms": rooms,\n    "tax": 0.1 * price,\n}\nX = torch.stack(list(table.values()), 1)\n', 4, "tax"),
    ],
)
def test_columns_by_name(text: str, line: int, name: str) -> None:
    column = made_column(loss_of(text + TAIL), 2, 3)
    assert column is not None and (column.place.line, column.name, column.place.guess) == (line, name, True)
    assert any(name in left for left in removed(column.without()))


@pytest.mark.parametrize(
    "text",
    [
        "X = frame[idx]\n",
        'COLUMNS = sorted(["b", "a", "c"])\nX = frame[COLUMNS].values\n',
        'COLUMNS = ["a", "b", "c"]\nCOLUMNS = COLUMNS[::-1]\nX = frame[COLUMNS].values\n',
        'X = np.stack([table[c] for c in ["a", "b", "c"] if c in table], 1)\n',
    ],
)
def test_orders_that_the_text_does_not_tell_name_no_column(text: str) -> None:
    assert made_column(loss_of(text + TAIL), 2, 3) is None


@pytest.mark.parametrize(
    "more",
    ['for w in range(2):\n    table[f"ward_{w}"] = ward == w\n', "table.update(ward_0=ward == 0, ward_1=ward == 1)\n"],
)
def test_columns_to_which_others_are_added_keep_their_places(more: str) -> None:
    text = 'table = {\n    "area": area,\n    "tax": 0.1 * price,\n}\n' + more + "X = np.stack([table[c] for c in list(table)], 1)\n" + TAIL
    column = made_column(loss_of(text), 1, 4)
    assert column is not None and (column.name, column.place.line) == ("tax", 3)
    assert made_column(loss_of(text), 2, 4) is None  # one of those added
    assert made_column(loss_of(text.replace("X =", 'table.pop("area")\nX =')), 1, 4) is None
    assert made_column(loss_of(text.replace(more, "")), 1, 4) is None


def test_a_column_that_is_worked_out_is_named_where_its_values_are_made() -> None:
    text = "collected = 0.3 * default\ncolumns = [income, age, np.log1p(collected)]\nX = np.stack(columns, 1)\n"
    column = made_column(loss_of(text + TAIL), 2, 3)
    assert column is not None and column.place.line == 1 and column.name == "" and column.without() == ""


def test_a_column_that_a_function_of_the_scripts_makes_is_made_where_it_is_called() -> None:
    text = "def mean_by(key, value):\n    row = np.unique(key)\n    return row\ncolumns = [income, age,\n           mean_by(shop, default)]\nX = np.stack(columns, 1)\n"
    column = made_column(loss_of(text + TAIL), 2, 3)
    assert column is not None and column.place.line == 5


LAGS = "columns = [load[t - k] for k in range(n)]\ncolumns += [hour, day]\ncolumns.append(holiday)\nX = np.stack(columns, 1)\n"
IN_A_LOOP = "columns = [hour]\nfor k in range(n):\n    columns.append(load[t - k])\nX = np.stack(columns, 1)\n"


@pytest.mark.parametrize(("text", "column", "line"), [(LAGS, 0, 1), (LAGS, 6, 1), (LAGS, 8, 2), (LAGS, 9, 3), (IN_A_LOOP, 0, 1), (IN_A_LOOP, 1, 3)])
def test_columns_that_one_line_makes_together(text: str, column: int, line: int) -> None:
    place = made_with_others(loss_of(text + TAIL), column, 10)
    assert place is not None and (place.line, place.guess) == (line, True)


@pytest.mark.parametrize(
    "text",
    [
        LAGS.replace("[hour, day]", "[f[t] for f in more]"),  # two of unknown length
        LAGS.replace("columns.append", "columns.insert"),
        LAGS.replace("X =", "columns = columns[::-1]\nX ="),
        LAGS.replace("np.stack(columns, 1)", "table[columns]"),
        "columns = load()\nX = np.stack(columns, 1)\n",
        "columns = [hour, day]\nX = np.stack(columns, 1)\n",
    ],
)
def test_lists_whose_order_the_text_does_not_tell(text: str) -> None:
    assert made_with_others(loss_of(text + TAIL), 0, 10) is None
