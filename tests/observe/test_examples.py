"""The sample of inputs and targets that is kept in memory, and what is asked of it when the run is over."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
import torch

from observe.conftest import WatchScript
from sickbay.observe.examples.columns import best_column, copied_number
from sickbay.observe.examples.copies import near_copies
from sickbay.observe.examples.noise import suspects
from sickbay.observe.examples.offsets import offset
from sickbay.observe.examples.relation import Views, like_noise, relation
from sickbay.observe.examples.renamed import renamed
from sickbay.observe.examples.reservoir import Reservoir
from sickbay.observe.examples.rows import IMAGE, TABLE, WIDTH, keys_of, numbers_of, one_row_each, table_of, tensors_of
from sickbay.observe.keys import scattered

RNG = np.random.default_rng(0)
TRAIN = """
from torch.utils.data import DataLoader, TensorDataset, random_split
C = 4
centres = 3 * torch.randn(C, 8)
Y = torch.randint(0, C, (400,))
X = centres[Y] + torch.randn(400, 8)
CHANGE
model = nn.Linear(8, C)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = TensorDataset(X[:320], Y[:320])
for epoch in range(3):
    model.train()
    for x, y in LOADER:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        F.cross_entropy(model(X[320:]), Y[320:])
"""


def train(change: str = "", loader: str = "DataLoader(data, batch_size=32, shuffle=True)") -> str:
    return TRAIN.replace("CHANGE", change).replace("LOADER", loader)


# -- the reservoir ---------------------------------------------------------------------------------------------------


def test_all_of_a_small_set_is_kept_and_each_sample_once() -> None:
    held = Reservoir(100)
    names = scattered(np.arange(80))
    for part in (names[:50], names[30:]):
        rows, places = held.choose(part)
        new = rows[places < 0]
        held.add(part[new], np.ones((len(new), 3), np.float32), target=np.zeros(len(new)))
    assert len(held) == 80 and len(set(held.keys[:80].tolist())) == 80


def test_a_long_stream_is_bounded_and_its_order_does_not_matter() -> None:
    def kept(order: np.ndarray) -> set[int]:
        held = Reservoir(200)
        for part in np.array_split(order, 100):
            names = scattered(part)
            rows, places = held.choose(names)
            new = rows[places < 0]
            held.add(names[new], part[new, None].astype(np.float32), target=part[new].astype(float))
            assert len(held.keys) <= 2 * 200 + 200 and len(held.places) == len(held) <= 200
        return set(held.column("target").astype(int).tolist())

    forwards = np.arange(20_000)
    assert kept(forwards) == kept(forwards[::-1]) and len(kept(forwards)) >= 100
    assert 0.3 < np.mean(np.array(sorted(kept(forwards))) < 10_000) < 0.7


@pytest.mark.parametrize(
    "batch",
    [
        torch.randn(5, 12),
        torch.randn(5, 3, 40, 40),
        torch.randn(5, 2000),
        torch.randn(5, 300, 6),
        torch.randint(0, 5000, (5, 30)),
        torch.randint(0, 9, (5,)),
    ],
    ids=["table", "image", "long", "series", "tokens", "ids"],
)
def test_any_input_becomes_a_few_numbers(batch: torch.Tensor) -> None:
    numbers = numbers_of([batch], np.array([0, 3]))
    assert numbers.shape[0] == 2 and 1 <= numbers.shape[1] <= WIDTH and np.isfinite(numbers).all()


def test_inputs_are_found_wherever_they_are_and_the_target_is_left_out() -> None:
    x, y = torch.randn(6, 3), torch.arange(6)
    found = tensors_of(({"values": x, "more": [torch.ones(6, 2), "text"]}, y, torch.ones(4)), 6, y)
    assert [tuple(t.shape) for t in found] == [(6, 3), (6, 2)]


@pytest.mark.parametrize(("rows", "positions"), [(2, False), (32, True)], ids=["a last batch of two", "contrastive"])
def test_labels_in_order_are_positions_unless_they_are_few(rows: int, positions: bool, script: WatchScript) -> None:
    loop = f"""
        net = nn.Linear(4, 40)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for step in range(12):
            rows, y = ({rows}, torch.arange({rows})) if step % 4 == 3 else (20, torch.randint(0, 3, (20,)))
            loss = F.cross_entropy(net(torch.randn(rows, 4)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    """
    assert (script(loop).facts.data_probe is None) is positions


def test_pairs_of_ids_have_their_own_keys() -> None:
    users, items = torch.arange(50).repeat_interleave(50), torch.arange(50).repeat(50)
    assert len(set(keys_of([users, items]).tolist())) == 2500


# -- the questions ---------------------------------------------------------------------------------------------------


def blobs(rows: int = 900, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    y = rng.integers(0, classes, rows)
    return (2.5 * rng.standard_normal((classes, 10))[y] + rng.standard_normal((rows, 10))).astype(np.float32), y.astype(float)


def test_targets_that_follow_and_targets_that_do_not() -> None:
    x, y = blobs()
    found, dealt = relation(Views(x, "table"), y, True), relation(Views(x, "table"), RNG.permutation(y), True)
    assert found is not None and found.score > 0.95 and found.beyond > 50
    assert dealt is not None and abs(dealt.score - 1 / 3) < 0.08 and dealt.beyond < 3
    numbers = relation(Views(x, "table"), x[:, 0].astype(float) + y, False)
    assert numbers is not None and numbers.score > 0.8
    assert relation(Views(x, "table"), np.ones(len(y)), True) is None
    assert not like_noise(x) and like_noise(RNG.standard_normal((900, 10)).astype(np.float32))


def test_at_chance_is_rarely_called_related() -> None:
    x, y = blobs(400)
    views = Views(x, "table")
    beyond = [relation(views, RNG.permutation(y), True) for _ in range(60)]
    assert sum(r is not None and r.beyond > 3 for r in beyond) <= 2


def test_a_shift_is_found_and_a_series_is_left_alone() -> None:
    x, y = blobs()
    order = np.arange(len(y))
    as_is = relation(Views(x, "table"), np.roll(y, 2), True)
    assert as_is is not None
    found = offset(Views(x, "table"), order, np.roll(y, 2), 32, True, as_is)
    assert found is not None and found.by == -2 and found.relation.score > 0.9
    walk = np.cumsum(RNG.standard_normal(900))
    windows = np.stack([walk[i : i + 8] for i in range(880)])
    steps = np.sign(np.diff(walk))[7:887]
    views = Views(windows.astype(np.float32), "table")
    up = relation(views, steps, True)
    assert up is not None and offset(views, np.arange(880), steps, 32, True, up) is None, "the next window holds this one's target by design"


@pytest.mark.parametrize("kind", ["image", "table"])
def test_planted_wrong_labels_are_found(kind: str) -> None:
    """The bar: 5 % on data of the size of scikit-learn's digits, precision 0.95 and recall 0.9 (0.85 where each pixel counts alike)."""
    digits = pytest.importorskip("sklearn.datasets").load_digits()
    rng = np.random.default_rng(3)
    rows = rng.permutation(len(digits.target))[:1437]
    x, y = digits.data[rows].astype(np.float32), digits.target[rows]
    bad = rng.choice(len(y), 72, replace=False)
    given = y.copy()
    given[bad] = (y[bad] + rng.integers(1, 10, 72)) % 10
    found = suspects(Views(x, kind), given.astype(float), np.arange(len(y)))
    assert found is not None
    hits = np.isin(found.indices, bad)
    assert hits.mean() >= 0.95 and hits.sum() / len(bad) >= (0.9 if kind == "image" else 0.85)


# -- in a run --------------------------------------------------------------------------------------------------------


def test_a_run_with_its_own_labels(script: WatchScript) -> None:
    probe = script(train()).facts.data_probe
    assert (probe.kind, probe.targets, probe.classes, probe.target) == ("table", "classes", 4, "y")
    assert probe.relation.rows == 320 and probe.relation.score > 0.9 and probe.changed == 0 and probe.again > 200
    assert probe.offset is None and (probe.suspects is None or probe.suspects.count < 10)
    assert probe.evaluations[0].relation.rows == 80


def test_two_tasks_at_one_line_are_two(script: WatchScript) -> None:
    """First which of eight, then which of two groups of them: no label of the one is a wrong label of the other."""
    probe = script("""
centres = 4 * torch.randn(8, 12)
which = torch.randint(0, 8, (400,))
X = centres[which] + torch.randn(400, 12)
def fit(model, x, y, epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        for rows in torch.randperm(len(y)).split(40):
            optimizer.zero_grad()
            F.cross_entropy(model(x[rows]), y[rows]).backward()
            optimizer.step()
fit(nn.Linear(12, 8), X, which, 6)
fit(nn.Linear(12, 2), X[:300], which[:300] % 2, 3)
""").facts.data_probe
    assert (probe.relation.rows, probe.classes, probe.changed) == (400, 8, 0)
    assert probe.suspects is None or probe.suspects.count < 5


def test_classes_that_evaluation_numbers_otherwise(script: WatchScript) -> None:
    (told,) = (e.renamed for e in script(train("Y[320:] = (Y[320:] + 1) % C").replace("400", "500")).facts.data_probe.evaluations)
    assert told.right < 0.1 and told.renamed > 0.9 and set(told.names) == {(0, 1), (1, 2), (2, 3), (3, 0)}


def test_channels_that_evaluation_reads_in_opposite_order() -> None:
    rng = np.random.default_rng(0)
    colours = np.array([[1.0, 0.2, 0.0], [0.0, 0.2, 1.0], [0.1, 1.0, 0.6], [0.6, 1.0, 0.1]])

    def pictures(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.integers(0, 4, n)
        return (colours[y][:, :, None] + 0.2 * rng.normal(size=(n, 3, 25))).astype(np.float32), y

    (x, y), (other, other_y) = pictures(400), pictures(200)
    told = renamed(x.reshape(400, -1), y, other[:, ::-1].reshape(200, -1), other_y, IMAGE)
    assert told is not None and told.right < 0.1 and told.turned > 0.95
    told = renamed(x.reshape(400, -1), y, other.reshape(200, -1), other_y, IMAGE)
    assert told is not None and told.right > 0.95 and told.turned < 0.1
    told = renamed(x.reshape(400, -1), y, other.reshape(200, -1), other_y, TABLE)
    assert told is not None and not told.turned


@pytest.mark.parametrize("rows", [1, 2, 9, 11, 59])
def test_a_handful_of_samples_says_nothing(script: WatchScript, rows: int) -> None:
    run = script(train(loader=f"((X[i], Y[i]) for i in torch.arange({rows}).split(32))").replace("X[320:]", "X[:3]").replace("Y[320:]", "Y[:3]"))
    assert run.facts.data_probe.relation is None and not run.record.events("observer-failed")


def test_wrong_labels_are_suspected_by_their_index(script: WatchScript) -> None:
    suspects = script(train("Y[:40] = (Y[:40] + 1) % C")).facts.data_probe.suspects
    assert len(set(suspects.indices) & set(range(40))) > 25 and len(set(suspects.indices) - set(range(40))) < 5


def test_labels_of_the_next_sample(script: WatchScript) -> None:
    probe = script(train("Y = Y.roll(1)")).facts.data_probe
    assert probe.relation.beyond < 5 and probe.offset.by == -1


def test_indices_of_a_split_count_in_the_whole(script: WatchScript) -> None:
    split = "DataLoader(random_split(data, [300, 20], torch.Generator().manual_seed(0))[0], batch_size=30, shuffle=True)"
    assert script(train("Y = Y.roll(1)", split)).facts.data_probe.offset.by == -1


def test_labels_that_are_shuffled_on_their_own(script: WatchScript) -> None:
    probe = script(train(loader="zip(DataLoader(X[:320], 32, shuffle=True), DataLoader(Y[:320], 32, shuffle=True))")).facts.data_probe
    assert probe.changed > 0.6 * probe.again > 100


def test_rows_without_a_loader_are_known_by_their_numbers(script: WatchScript) -> None:
    probe = script(train(loader="((X[i], Y[i]) for i in torch.randperm(320).split(32))")).facts.data_probe
    assert probe.relation.rows == 320 and probe.again > 200 and (probe.suspects is None or probe.suspects.indices == ())


def test_what_has_no_single_target_is_left_alone(script: WatchScript) -> None:
    loop = "\nmodel = nn.Linear(6, 6)\noptimizer = torch.optim.SGD(model.parameters(), 0.1)\nfor _ in range(8):\n    x = torch.randn(16, 6)\n    LOSS.backward()\n    optimizer.step()\n"
    for loss in (
        "F.mse_loss(model(x), x)",
        "F.cross_entropy(model(x) @ model(x).T, torch.arange(16))",
        "F.cross_entropy(model(x), torch.rand(16, 6).softmax(1))",
    ):
        assert script(loop.replace("LOSS", loss)).facts.data_probe is None


def test_nothing_of_the_samples_reaches_the_record(script: WatchScript, tmp_path: Path) -> None:
    run = script(train("X[::3, 2] = 123456.789"))
    assert run.facts.data_probe is not None
    for file in tmp_path.glob("*.sickbay"):
        db = sqlite3.connect(file)
        text = "\n".join(str(row) for table in ("facts", "events", "meta") for row in db.execute(f"SELECT * FROM {table}"))
        db.close()
        assert "123456" not in text and "1.23456" not in text


def test_a_column_of_a_table_is_found_beside_categories() -> None:
    rows = 600
    y = RNG.integers(0, 2, rows)
    table = RNG.normal(size=(rows, 5)).astype(np.float32)
    table[:, 0] += 0.8 * y
    table[:, 3] = np.where(y > 0, RNG.uniform(1, 5, rows), 0)
    inputs = [torch.from_numpy(RNG.integers(0, 40, (rows, 2))), torch.from_numpy(table)]
    found = best_column(numbers_of(inputs, np.arange(rows)), table_of(inputs), y, True)
    assert found is not None and (found.column, found.columns) == (3, 5) and found.score > 0.99 and found.others < 0.85


def test_labels_that_the_loss_leaves_out_are_not_counted(script: WatchScript) -> None:
    text = """
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    with torch.no_grad():
        model.weight.zero_()
        model.bias.copy_(torch.tensor([0.0, 1.0, 0.0]))
    for step in range(6):
        x, y = torch.randn(12, 4), torch.tensor([1, 1, 2, 1] + [-100] * 8)
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    """
    record = script(text).record
    assert record.facts.labels is not None and record.facts.labels.histogram == (0, 18, 6)
    np.testing.assert_allclose(record.series("accuracy/train").values, 0.75)
    np.testing.assert_allclose(record.family("predicted_share/train").values[0], [0, 1, 0])


@pytest.mark.parametrize(("merchants", "sealed"), [(6000, True), (40, False)])
def test_a_mean_over_outcomes_seals_the_rows_that_stand_alone(merchants: int, sealed: bool) -> None:
    draws = np.random.default_rng(1)
    x = draws.normal(size=(2000, 4))
    y = (x[:, 0] + draws.normal(size=2000) > 0).astype(int)
    merchant = draws.integers(0, merchants, 2000)
    rate = (np.bincount(merchant, y, merchants) / np.maximum(np.bincount(merchant, minlength=merchants), 1))[merchant]
    found = best_column(np.column_stack([x, rate]).astype(np.float32), slice(0, 5), y.astype(float), True)
    assert (found is not None and found.sealed > 0.5 and found.sealed_classes == 2) == sealed


def test_a_column_that_is_certain_of_most_rows_need_not_tell_the_rest() -> None:
    draws = np.random.default_rng(2)
    x = draws.normal(size=(2000, 4))
    y = (x[:, 0] + draws.normal(size=2000) > 1.1).astype(int)
    shared = draws.random(2000) < 0.3
    rate = np.where(shared, np.where(draws.random(2000) < 0.5, 0.5, 0.4), y)  # of two and more outcomes: between them
    found = best_column(np.column_stack([x, rate]).astype(np.float32), slice(0, 5), y.astype(float), True)
    assert found is not None
    assert found.score < found.chance + 0.8 * (1 - found.chance), "by the score alone it would be passed over"
    assert found.column == 4 and found.sealed > 0.6 and found.sealed_classes == 2


def stays(draws: np.random.Generator, how: str) -> tuple[np.ndarray, np.ndarray]:
    """Patients who are to be predicted to be readmitted, with what was written down afterwards; or the same with plain measurements in its place."""
    x = draws.normal(size=(2000, 6))
    y = (x @ [0.8, 0.7, 0.6, 0.5, 0.4, 0.3] + draws.logistic(size=2000) * 0.5 > 0).astype(int)
    if how == "after":
        days, letters = np.where(y == 1, draws.gamma(4, 5, 2000), 0.1 * draws.random(2000)), draws.poisson(np.where(y == 1, 5, 1))
    elif how == "sensors":
        days = 4 * y + draws.normal(size=2000)
        letters = days + 0.1 * draws.normal(size=2000)
    else:
        days, letters = 4 * y + draws.normal(size=2000), 3 * y + draws.normal(size=2000)
    return np.column_stack([x[:, :3], days, x[:, 3:], letters]).astype(np.float32), y


@pytest.mark.parametrize(("how", "fixed", "alike"), [("after", True, False), ("sensors", False, True), ("cloud", False, False)])
def test_a_few_columns_that_stand_out(how: str, fixed: bool, alike: bool) -> None:
    x, y = stays(np.random.default_rng(4), how)
    found = best_column(x, slice(0, 8), y.astype(float), True)
    assert found is not None and found.group is not None and found.group.columns == (3, 7)
    assert (found.group.fixed < 0.25, found.group.alike > 0.5) == (fixed, alike)
    assert found.group.least > 0.75 > found.group.next_best and found.group.others > 0.7
    narrow = best_column(x[:, 2:], slice(0, 6), y.astype(float), True)
    assert narrow is not None and narrow.group is None  # of so few columns two are no small part


@pytest.mark.parametrize(("sellers", "copied"), [(20_000, True), (40, False)])
def test_a_mean_over_numbers_is_the_number_itself_where_a_row_stands_alone(sellers: int, copied: bool) -> None:
    draws = np.random.default_rng(1)
    x = draws.normal(size=(2000, 4))
    y = x[:, 0] + draws.normal(size=2000)
    seller = draws.integers(0, sellers, 2000)
    mean = (np.bincount(seller, y, sellers) / np.maximum(np.bincount(seller, minlength=sellers), 1))[seller]
    table = np.column_stack([x, (mean - 3) / 7]).astype(np.float32)
    found = best_column(table, slice(0, 5), y.astype(np.float32), False)
    assert (found is not None and found.on_a_line > 0.8) == copied


def test_a_close_measurement_is_no_copy() -> None:
    draws = np.random.default_rng(1)
    x = draws.normal(size=(2000, 4))
    y = x[:, 0] + draws.normal(size=2000)
    found = best_column(np.column_stack([x, y + 0.02 * draws.normal(size=2000)]), slice(0, 5), y, False)
    assert found is not None and found.on_a_line < 0.05


def test_values_that_come_again_are_no_copies() -> None:
    """Sales of a shop that are zero on most days, and were the day before."""
    draws = np.random.default_rng(1)
    before = draws.integers(0, 3, 2000) * 1.0
    y = before + (draws.random(2000) < 0.02)
    found = best_column(np.column_stack([draws.normal(size=(2000, 4)), before]), slice(0, 5), y, False)
    assert found is not None and found.on_a_line < 0.05


@pytest.mark.parametrize(("ahead", "copied"), [(0, True), (1, False)])
def test_windows_that_end_with_the_value_to_be_told(ahead: int, copied: bool) -> None:
    draws = np.random.default_rng(3)
    series = np.zeros(2024)
    for t in range(1, 2024):
        series[t] = 0.9 * series[t - 1] + draws.normal()
    windows = np.lib.stride_tricks.sliding_window_view(series[: 2024 - ahead], 24).astype(np.float32)
    found = copied_number(windows, (series[23 + ahead :].astype(np.float32) - 2) / 5)
    assert (found is not None) == copied
    assert found is None or (found.column == 23 and found.on_a_line > 0.99 and 0.5 < found.others < 0.95)


def test_a_value_that_often_stays_is_no_copy_of_the_one_before() -> None:
    draws = np.random.default_rng(3)
    levels = np.repeat(draws.normal(size=200), draws.integers(5, 15, 200))
    windows = np.lib.stride_tricks.sliding_window_view(levels[:-1], 24).astype(np.float32)
    assert copied_number(windows, levels[24:].astype(np.float32)) is None


def with_copies(rows: int, width: int, noise: float) -> np.ndarray:
    """Each row four times, with a little noise, in no order."""
    rows = RNG.normal(size=(rows, width))
    return RNG.permutation(np.concatenate([rows + noise * RNG.normal(size=rows.shape) for _ in range(4)])).astype(np.float32)


def test_near_copies_of_training_samples_are_found() -> None:
    x = with_copies(500, 20, 0.1)
    found = near_copies(x[:1500], None, x[1500:], "table")
    assert found is not None and found.found > 0.9 * found.rows and found.by_chance < 0.01 and found.closer > 2


@pytest.mark.parametrize("width", [5, 20])
def test_samples_that_merely_lie_dense_are_no_copies(width: int) -> None:
    x = RNG.normal(size=(2000, width)).astype(np.float32)
    found = near_copies(x[:1500], None, x[1500:], "table")
    assert found is not None and found.found < 0.05 * found.rows


def test_copies_within_training_alone_are_nobodys_business() -> None:
    found = near_copies(with_copies(400, 20, 0.1), None, RNG.normal(size=(300, 20)).astype(np.float32), "table")
    assert found is not None and found.found < 0.05 * found.rows


def test_the_few_samples_of_a_class_are_no_copies() -> None:
    people, per = 60, 8
    centres = RNG.normal(size=(people, 30))
    y = RNG.permutation(np.repeat(np.arange(people), per))
    x = (centres[y] + 0.1 * RNG.normal(size=(len(y), 30))).astype(np.float32)
    found = near_copies(x[:360], y[:360], x[360:], "table")
    assert found is not None and found.found == 0


@pytest.mark.parametrize("x", [RNG.integers(0, 3, (400, 8)), np.column_stack([RNG.normal(size=(400, 3)), RNG.integers(0, 2, (400, 5))])])
def test_categories_lie_on_a_grid_where_distances_jump_anyway(x: np.ndarray) -> None:
    assert near_copies(x[:300].astype(np.float32), None, x[300:].astype(np.float32), "table") is None


def test_ids_in_one_row_become_one_row_each() -> None:
    ids, begins = torch.tensor([5, 6, 7, 8, 9]), torch.tensor([0, 2, 2])
    (table,) = one_row_each((ids, begins))
    assert table.tolist() == [[5, 6, 0], [0, 0, 0], [7, 8, 9]]
    user, item = torch.tensor([3, 1, 2]), torch.tensor([0, 4, 1])
    assert one_row_each((user, item)) == (user, item)
