"""Rows that evaluation shares with training, and the scale of both."""

from __future__ import annotations

import pytest
import torch

from observe.conftest import WatchScript
from sickbay.observe.keys import row_keys, some_columns, whole_row_keys

SCRIPT = """
from torch.utils.data import DataLoader, TensorDataset
X = torch.randn(120, 6)
Y = torch.randint(0, 2, (120,))
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
def score(x):
    model.eval()
    with torch.no_grad():
        out = model(x)
    model.train()
for epoch in range(4):
    for ids in torch.randperm(80).split(16):
        optimizer.zero_grad()
        F.cross_entropy(model(X[ids]), Y[ids]).backward()
        optimizer.step()
    EVALUATE
"""


def test_keys_do_not_depend_on_the_batch() -> None:
    x = torch.randn(50, 3, 40, 7)
    keys = row_keys(some_columns(x))
    assert len(set(keys.tolist())) == 50
    assert (row_keys(some_columns(x[13:14])) == keys[13:14]).all()
    assert (row_keys(some_columns(x.flip(0))) == keys[::-1]).all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool])
def test_keys_of_every_kind(dtype: torch.dtype) -> None:
    x = (100 * torch.rand(20, 30)).to(dtype)
    assert len(row_keys(some_columns(x))) == 20


def test_shared_rows_are_counted(script: WatchScript) -> None:
    run = script(SCRIPT.replace("EVALUATE", "score(X[60:])"))
    (data,) = run.facts.evaluation_data
    assert (data.rows, data.distinct, data.found, data.found_distinct) == (120, 60, 40, 20)  # two passes
    assert (data.train_distinct, data.train_again, data.width, data.whole_numbers) == (80, 1.0, 6, False)
    assert run.at(data.place, "out = model(x)") and run.at(data.called_from, "score(X[60:])")
    assert data.texts == ("model(x)", "score(X[60:])")


def test_two_evaluations_by_one_function_are_told_apart(script: WatchScript) -> None:
    run = script(SCRIPT.replace("EVALUATE", "score(X[:80])\n    score(X[80:] * 10)"))
    first, second = run.facts.evaluation_data
    assert (first.found, first.rows) == (160, 160) and second.found == 0
    assert second.evaluation is not None and second.train is not None
    assert sum(second.evaluation.std) > 5 * sum(second.train.std)


def test_a_loader_is_known_and_a_batch_of_training_is_not_taken_for_it(script: WatchScript) -> None:
    loop = """
    for x, y in DataLoader(TensorDataset(X[80:], Y[80:]), batch_size=20):
        score(x)
"""
    run = script(SCRIPT.replace("    EVALUATE\n", loop + "    model.eval()\n    score(X[:4])\n"))
    loaders = {data.loader for data in run.facts.evaluation_data}
    assert 0 in loaders


def test_shared_samples_are_named_by_the_loaders_indices(script: WatchScript) -> None:
    loop = "[score(x) for x, _ in DataLoader(TensorDataset(X[60:], Y[60:]), 20)]"
    (data,) = script(SCRIPT.replace("EVALUATE", loop)).facts.evaluation_data
    assert data.samples == tuple(range(20))


def test_what_was_seen_before_the_best_weights_are_loaded_counts(script: WatchScript) -> None:
    run = script(SCRIPT.replace("EVALUATE", "score(X[60:])") + "model.load_state_dict(model.state_dict())\n")
    assert [data.found for data in run.facts.evaluation_data] == [40]


def test_a_model_that_starts_anew_has_met_nothing(script: WatchScript) -> None:
    fold = "fresh = {k: torch.zeros_like(v) for k, v in model.state_dict().items()}; model.load_state_dict(fresh); score(X[:80])"
    run = script(SCRIPT.replace("EVALUATE", fold))
    assert all(not data.found for data in run.facts.evaluation_data)


ANEW = """
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
X, Y = torch.randn(120, 6), torch.randint(0, 2, (120,))
order = torch.randperm(120)
for epoch in range(4):
    BEGIN
    for ids in order[:80].split(16):
        optimizer.zero_grad()
        F.cross_entropy(model(X[ids]), Y[ids]).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        model(X[order[80:]])
    model.train()
"""


def test_a_split_that_is_drawn_anew(script: WatchScript) -> None:
    (data,) = script(ANEW.replace("BEGIN", "order = torch.randperm(120)")).facts.evaluation_data
    assert data.found_first == 0 and data.found_later > 10
    (data,) = script(ANEW.replace("BEGIN", "pass")).facts.evaluation_data
    assert (data.found_first, data.found_later) == (0, 0)


def test_folds_with_weights_drawn_anew(script: WatchScript) -> None:
    folds = script(ANEW.replace("BEGIN", "order = torch.randperm(120); model.reset_parameters()")).facts.evaluation_data
    assert len(folds) == 4 and all(not d.found_first and not d.found_later for d in folds)


def test_a_second_stage_that_divides_anew(script: WatchScript) -> None:
    stages = ANEW.replace("range(4)", "range(6)").replace("BEGIN", "order = order if epoch != 4 else torch.randperm(120)")
    (data,) = script(stages).facts.evaluation_data
    assert (data.found_first, data.found_later, data.anew_rows, data.anew_after) == (0, 0, 40, 20)
    assert 10 < data.anew_found < 40


def test_data_that_stays_is_not_looked_at_again(script: WatchScript) -> None:
    shuffled = ANEW.replace("range(4)", "range(6)").replace("BEGIN", "order[80:] = order[80:][torch.randperm(40)]")
    for text in (shuffled, ANEW.replace("BEGIN", "pass"), ANEW.replace("X[order[80:]]", "torch.randn(40, 6)").replace("BEGIN", "pass")):
        (data,) = script(text).facts.evaluation_data
        assert (data.anew_rows, data.anew_found) == (0, 0)


def test_thin_rows_are_known_by_all_of_their_numbers() -> None:
    """Words counted in a text: the columns that are picked hold next to nothing."""
    generator = torch.Generator().manual_seed(0)
    rows = (torch.rand(400, 600, generator=generator) < 0.01).float()
    keys = whole_row_keys(rows)
    assert len(set(keys.tolist())) == len(torch.unique(rows, dim=0))
    assert whole_row_keys(rows[37:40]).tolist() == keys[37:40].tolist()  # whatever the batch


WRITES = """
model = nn.Sequential(nn.Embedding(30, 8), nn.Flatten(), nn.Linear(8 * 12, 30))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
text = torch.randint(0, 30, (400,))
for step in range(20):
    at = torch.randint(0, 380, (32,))
    rows = torch.stack([text[i : i + 12] for i in at.tolist()])
    optimizer.zero_grad()
    F.cross_entropy(model(rows), text[at + 12]).backward()
    optimizer.step()
model.eval()
ids = [7] * 12
with torch.no_grad():
    for _ in range(80):
        logits = model(torch.tensor([NEXT]))
        ids.append(int(logits.argmax()))
"""


@pytest.mark.parametrize(("given", "compared"), [("ids[-12:]", False), ("text[len(ids) * 3 % 380 :][:12].tolist()", True)])
def test_text_that_a_model_writes_itself_is_no_sample(script: WatchScript, given: str, compared: bool) -> None:
    run = script(WRITES.replace("NEXT", given))
    (data,) = run.facts.evaluation_data
    assert data.rows == 80
    assert (data.words is not None) == (data.evaluation is not None) == compared


PARTS = """
from torch.utils.data import DataLoader, Subset, SubsetRandomSampler, TensorDataset, random_split
model = nn.Linear(6, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
whole = TensorDataset(torch.randn(140, 6), torch.randint(0, 2, (140,)))
pool = Subset(whole, range(20, 140))
split = random_split(pool, [80, 40])
def part(side):
    return DataLoader(SPLIT[side], batch_size=16)
for epoch in range(3):
    for x, y in part(0):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for x, y in part(1):
            model(x)
    model.train()
"""


def test_parts_that_each_loader_draws_for_itself(script: WatchScript) -> None:
    (data,) = script(PARTS.replace("SPLIT", "random_split(pool, [80, 40])")).facts.evaluation_data
    assert data.part == 40 and 10 < data.part_shared <= 40
    assert data.found_first is not None and 10 < data.found_first < data.first_rows == 40


@pytest.mark.parametrize("split", ["split", "(Subset(pool, range(80)), Subset(whole, range(100, 140)))"])
def test_parts_of_one_split_share_nothing(script: WatchScript, split: str) -> None:
    (data,) = script(PARTS.replace("SPLIT", split)).facts.evaluation_data
    assert (data.part, data.part_shared, data.found) == (40, 0, 0)


def test_parts_that_samplers_draw(script: WatchScript) -> None:
    loader = "DataLoader(pool, batch_size=16, sampler=SubsetRandomSampler([*range(80)] if side == 0 else [*range(70, 110)]))"
    (data,) = script(PARTS.replace("DataLoader(SPLIT[side], batch_size=16)", loader)).facts.evaluation_data
    assert (data.part, data.part_shared) == (40, 10)


def test_a_model_that_starts_anew_was_trained_on_no_part(script: WatchScript) -> None:
    text = PARTS.replace("SPLIT", "random_split(pool, [80, 40])").replace("    model.eval()", "    model.reset_parameters()\n    model.eval()")
    assert all(not data.part_shared for data in script(text).facts.evaluation_data)
