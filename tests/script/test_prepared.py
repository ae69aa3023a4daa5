"""Which line prepared the data, from the text of a script alone."""

from __future__ import annotations

import ast

import pytest

from script.followed import loss_of, sides_of
from sickbay.script.kept_apart import copied, drawn_twice, joined, parted
from sickbay.script.prepared import displaced, in_order, relabelled

LOOP = """
for x, y in DataLoader(TensorDataset(X, Y)):
    loss = loss_fn(model(x), y)
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("X, Y = load()\nnp.random.shuffle(X)\n", "np.random.shuffle(X)"),
        ("X, Y = load()\nX = X[np.argsort(X[:, 0])]\n", "X = X[np.argsort(X[:, 0])]"),
        ("X, words = load()\nX = np.concatenate([X, X])\nY = np.repeat(words, 2)\n", "Y = np.repeat(words, 2)"),
        ("rows = load()\nX = [r.a for r in rows if r.a]\nY = [r.b for r in rows if r.b]\n", "Y = [r.b for r in rows if r.b]"),
    ],
)
def test_what_moves_one_side_alone_is_found(text: str, line: str) -> None:
    place = displaced(loss_of(text + LOOP))
    assert place is not None and place.text == line


def test_an_order_that_both_share_moves_neither() -> None:
    text = "X, Y = load()\norder = np.random.permutation(len(X))\nX, Y = X[order], Y[order]\n"
    assert displaced(loss_of(text + LOOP)) is None


def test_two_loaders_side_by_side() -> None:
    text = """
    a = DataLoader(images, shuffle=True)
    b = DataLoader(labels, shuffle=True)
    for x, y in zip(a, b):
        loss = loss_fn(model(x), y)
    """
    place = displaced(loss_of(text))
    assert place is not None and place.text == "for x, y in zip(a, b):"


def test_labels_are_followed_through_a_data_set_and_the_functions_around_it() -> None:
    text = """
    class Data(Dataset):
        def __init__(self, scans, cards):
            self.x = torch.stack(list(scans.values()))
            self.y = torch.tensor([cards.get(name, 0) for name in scans])

        def __getitem__(self, i):
            return self.x[i], self.y[i]

    def epoch(model, loader):
        for x, y in tqdm(loader):
            loss = loss_fn(model(x), y)

    epoch(model, DataLoader(Data(*read())))
    """
    found = loss_of(text)
    place = relabelled(found)
    assert place is not None and place.text == "self.y = torch.tensor([cards.get(name, 0) for name in scans])"
    assert all("torch.stack" not in found.source.lines[s.lineno - 1] for s in found.targets)


def test_the_newest_change_of_labels_comes_first() -> None:
    text = "X, Y = load()\nY[gone] = -1\nY[rest] = Y[0]\n"
    place = relabelled(loss_of(text + LOOP))
    assert place is not None and place.line == 3


@pytest.mark.parametrize("mean", ["np.rint(votes.mean(axis=1)).astype(int)", "votes.mean(1).round().long()", "np.round(np.average(votes, 1))"])
def test_a_mean_of_class_numbers_comes_before_what_the_votes_went_through(mean: str) -> None:
    text = f"X, votes = load()\nvotes[gone] = 0\nY = {mean}\nY = torch.tensor(Y)\n"
    place = relabelled(loss_of(text + LOOP))
    assert place is not None and place.line == 3


@pytest.mark.parametrize("steps", ["(price > price.mean()).astype(int)", "((price - price.mean()) / price.std()).round().long()", "price.mean(1)"])
def test_a_mean_that_labels_are_compared_with_is_none_of_class_numbers(steps: str) -> None:
    assert relabelled(loss_of(f"X, price = load()\nY = {steps}\n" + LOOP)) is None


def test_clean_labels_name_no_line() -> None:
    assert relabelled(loss_of("X, Y = load()\nY = Y.long()\n" + LOOP)) is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("for i in range(0, n, 8):\n    x, y = X[i : i + 8], Y[i : i + 8]\n    loss = loss_fn(model(x), y)\n", 2),
        ("batches = torch.arange(n).split(8)\nfor b in batches:\n    loss = loss_fn(model(X[b]), Y[b])\n", 1),
        ("for x, y in batches(records):\n    loss = loss_fn(model(x), y)\n", 1),
    ],
)
def test_where_samples_are_taken_in_order(text: str, line: int) -> None:
    place = in_order(loss_of(text))
    assert place is not None and place.line == line


def test_copies_made_before_the_split_are_blamed_on_the_line_that_asks_for_them() -> None:
    text = """
    def oversampled(x, y):
        idx = np.concatenate([np.arange(len(y)), np.repeat(np.flatnonzero(y), 6)])
        return x[idx], y[idx]

    x, y = load()
    x, y = oversampled(x, y)
    train, val = x[:800], x[800:]
    fit(train)
    check(val)
    """
    place = copied(sides_of(text))
    assert place is not None and place.text == "x, y = oversampled(x, y)"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = np.concatenate([x] + [x[rare]] * times)\n", 2),
        ("more = resample(x[y == 1], n_samples=90)\nx = np.vstack([x, more])\n", 3),
        ("rows = x[rare]\nx = torch.cat([x, rows + 0.01])\n", None),
        ("idx = np.concatenate([np.arange(9), np.repeat(rare, 5)])\nx, y = x[idx], y[idx]\n", 3),
        ("x_more, y_more = SMOTE().fit_resample(x, y)\nx = x_more\n", 2),
        ("other = load_other()\nx = np.vstack([x, other])\n", None),
        ("x = np.repeat(x, 3, axis=0)\n", 2),
    ],
)
def test_spellings_of_copies_before_the_split(text: str, line: int | None) -> None:
    place = copied(sides_of(f"x, y = load()\n{text}train, val, a, b = train_test_split(x, y)\nfit(train)\ncheck(val)\n"))
    assert (place.line if place is not None else None) == line


def test_states_that_last_are_no_copies_of_samples() -> None:
    text = "def record():\n    state = draw().repeat_interleave(300)\n    return state\nx = record()\nfit(x[:800])\ncheck(x[800:])\n"
    assert copied(sides_of(text)) is None


def test_a_split_that_is_made_twice() -> None:
    text = """
    def parts():
        return random_split(data, [0.8, 0.2])

    train, _ = parts()
    _, val = parts()
    fit(train)
    check(val)
    """
    place = parted(sides_of(text))
    assert place is not None and place.text == "return random_split(data, [0.8, 0.2])"


def test_scripts_that_call_themselves_in_circles_come_to_an_end() -> None:
    assert relabelled(loss_of("def f(a):\n    return f(a)\nX = f(X)\nY = f(f(X))\n" + LOOP)) is None


def test_scripts_whose_functions_all_call_each_other_come_to_an_end() -> None:
    names = [f"f{i}" for i in range(12)]
    calls = " + ".join(f"{n}(a.x)" for n in names)
    text = "".join(f"def {n}(a):\n    return {calls} + a.y\n" for n in names)
    assert len(loss_of(text + "class A:\n    def __init__(self, x):\n        self.x = x\nX = f0(A(f1))\nY = f2(X)\n" + LOOP).inputs) > 2


def test_an_index_that_is_moved_on_one_side() -> None:
    text = """
    class Forms(Dataset):
        def __init__(self):
            self.images, self.labels = load()
        def __getitem__(self, i):
            return self.images[i], self.labels[i + 1]
    for x, y in DataLoader(Forms()):
        loss = loss_fn(model(x), y)
    """
    place = displaced(loss_of(text))
    assert place is not None and place.text == "return self.images[i], self.labels[i + 1]" and place.guess
    assert displaced(loss_of(text.replace("[i + 1]", "[i]"))) is None
    assert displaced(loss_of(text.replace("self.images[i], self.labels[i + 1]", "self.images[2 * i], self.labels[i + 1]"))) is None


def test_what_is_done_to_labels_after_inputs_were_made_of_them_is_theirs_alone() -> None:
    text = """
    def recordings(n):
        faulty = draw(n)
        clips = base + faulty[:, None] * rattle
        faulty[swapped] = 1 - faulty[swapped]
        return clips, faulty
    X, Y = recordings(100)
    for x, y in DataLoader(TensorDataset(X, Y)):
        loss = loss_fn(model(x), y)
    """
    place = relabelled(loss_of(text))
    assert place is not None and place.text == "faulty[swapped] = 1 - faulty[swapped]"
    before = text.replace("        clips = base", "        faulty[rare] = 1\n        clips = base").replace(
        "        faulty[swapped] = 1 - faulty[swapped]\n", ""
    )
    assert relabelled(loss_of(before)) is None  # inputs follow from these labels


def test_a_loop_comes_round_again() -> None:
    text = """
    for epoch in range(9):
        loss = loss_fn(model(X), Y)
        Y[doubtful] = 0
    """
    place = relabelled(loss_of(text))
    assert place is not None and place.text == "Y[doubtful] = 0"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("X = torch.cat([a, b])\nY = torch.cat([codes_a, codes_b])\n", "Y = torch.cat([codes_a, codes_b])"),
        ("X = torch.cat([a, b])\nY = torch.cat([codes[:9], codes[9:]])\n", None),
        ("X, Y = load()\nY = Y[:, 0]\n", None),
        ("X, answers = load()\nY = torch.from_numpy(answers[:, 0])\n", "Y = torch.from_numpy(answers[:, 0])"),
        ("X, labels = load()\nY = torch.from_numpy(labels[:, 0])\n", None),
        ("X, truth = load()\nvotes = ask(truth)\nY = votes[:, 0]\n", "Y = votes[:, 0]"),
        ("table = load()\nX, Y = table[:, 1:], table[:, 0]\n", None),
        ("table = load()\nX = table[:, 1:]\nY = table[:, 0]\n", None),
    ],
)
def test_labels_of_two_origins(text: str, line: str | None) -> None:
    place = relabelled(loss_of(text + LOOP))
    assert (place.text if place is not None else None) == line


def test_one_vote_of_several() -> None:
    text = """
    class Tickets(Dataset):
        def __getitem__(self, i):
            return self.words[i], self.votes[i, 0]
    for x, y in DataLoader(Tickets()):
        loss = loss_fn(model(x), y)
    """
    place = relabelled(loss_of(text))
    assert place is not None and place.text == "return self.words[i], self.votes[i, 0]"
    assert relabelled(loss_of(text.replace("self.words[i], self.votes[i, 0]", "self.words[i, 0], self.votes[i]"))) is None


def test_a_split_of_the_scripts_own() -> None:
    text = """
    class Split:
        def __init__(self, x, share):
            order = torch.randperm(len(x))
            n = int(share * len(x))
            self.val, self.train = x[order[:n]], x[order[n:]]
        def batches(self):
            for i in torch.randperm(len(self.train)).split(9):
                yield self.train[i]
    x = load()
    data = Split(x, 0.2)
    for batch in data.batches():
        fit(batch)
    check(data.val)
    """
    place = parted(sides_of(text))
    assert place is not None and place.text == "data = Split(x, 0.2)"
    assert (
        parted(
            sides_of(
                text.replace("order = torch.randperm(len(x))", "order = torch.arange(len(x))").replace(
                    "torch.randperm(len(self.train))", "self.train"
                )
            )
        )
        is None
    )


def test_what_is_under_a_key_is_followed_alone() -> None:
    """Samples that are dictionaries: names sorted as text, labels in the order of the sheet."""
    text = """
    class Scans(Dataset):
        def __init__(self):
            self.files, sheet = archive()
            self.names = sorted(self.files)
            self.labels = [int(row) for row in sheet]
        def __getitem__(self, i):
            image = self.files[self.names[i]] / 16
            return {"image": image, "label": self.labels[i]}

    for batch in DataLoader(Subset(Scans(), range(1400))):
        batch = {k: v.to(device) for k, v in batch.items()}
        loss = loss_fn(net(batch["image"]), batch["label"])
    """
    for written in (text, text.replace('{"image": image, "label": self.labels[i]}', "dict(image=image, label=self.labels[i])")):
        place = displaced(loss_of(written))
        assert place is not None and place.text == "self.names = sorted(self.files)"


def test_what_is_put_under_another_key_is_another_thing() -> None:
    text = """
    data = {}
    data["x"] = load()
    data["y"] = np.random.permutation(labels)
    loss = loss_fn(net(data["x"]), data["y"])
    """
    found = loss_of(text)
    place = displaced(found)
    assert place is not None and place.text == 'data["y"] = np.random.permutation(labels)'
    assert not any("permutation" in ast.unparse(s) for s in found.inputs)


@pytest.mark.parametrize("taken", ["votes[:, 0]", "torch.from_numpy(votes[:, 0])", "torch.tensor(votes[:, 0].astype(int)).long()"])
def test_one_of_several_votes_in_whatever_form(taken: str) -> None:
    text = f"""
    x, kinds = load()
    votes = np.stack([annotate(kinds, s) for s in skills], 1)
    y = {taken}
    loss = loss_fn(net(x[idx]), y[idx])
    """
    place = relabelled(loss_of(text))
    assert place is not None and place.text == f"y = {taken}"


GENERATOR = """
    def batches(x, y, size):
        for start in range(0, len(y), size):
            yield x[start : start + size], y[start : start + size]
    for x, y in batches(X, Y, 25):
        loss = loss_fn(net(x), y)
"""


def test_a_generator_that_counts_up() -> None:
    place = in_order(loss_of(GENERATOR))
    assert place is not None and place.text == "for start in range(0, len(y), size):" and place.guess


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("        for start", "        order = torch.randperm(len(y))\n        for start"),
        ("yield x[start : start + size], y[start : start + size]", "yield x[start], y[start]"),
    ],
)
def test_a_generator_that_draws_an_order_or_cuts_nothing_is_not_meant(old: str, new: str) -> None:
    place = in_order(loss_of(GENERATOR.replace(old, new)))
    assert place is not None and place.text == "for x, y in batches(X, Y, 25):"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("x = np.concatenate([e.x for e in exports])\n", "x = np.concatenate([e.x for e in exports])"),
        ("x = torch.cat([march, april])\n", "x = torch.cat([march, april])"),
        ("x = torch.cat(parts)\n", None),
        ("x = load()\n", None),
    ],
)
def test_what_is_joined_before_a_split_may_hold_rows_twice(text: str, line: str | None) -> None:
    place = joined(sides_of(text + "train, val, a, b = train_test_split(x, y)\nfit(train)\ncheck(val)\n"))
    assert (place.text if place is not None else None) == line


def test_what_is_joined_behind_a_split_is_not_meant() -> None:
    text = "train, val, a, b = train_test_split(x, y)\nmore = np.concatenate([train, extra])\nfit(more)\ncheck(val)\n"
    assert joined(sides_of(text)) is None


TWO_ORDERS = "train = np.random.permutation(n)[:k]\nval = np.random.permutation(n)[k:]\n"


@pytest.mark.parametrize(
    "text",
    [
        TWO_ORDERS + "fit(x[train])\ncheck(x[val])\n",
        TWO_ORDERS + "x_train, x_val, rest = (torch.from_numpy((a - mean) / std) for a in (x[train], x[val], other))\nfit(x_train)\ncheck(x_val)\n",
    ],
)
def test_two_orders_that_are_drawn_one_for_each_side(text: str) -> None:
    place = drawn_twice(sides_of("x, n = load()\n" + text))
    assert place is not None and place.text == "val = np.random.permutation(n)[k:]"


@pytest.mark.parametrize(
    "text",
    [
        "order = np.random.permutation(n)\nfit(x[order[:k]])\ncheck(x[order[k:]])\n",
        "order = np.random.permutation(n)[:m]\ntrain, val = order[:k], order[k:]\nfit(x[train])\ncheck(x[val])\n",
    ],
)
def test_one_order_that_is_cut_in_two(text: str) -> None:
    assert drawn_twice(sides_of("x, n = load()\n" + text)) is None


BUILT_TWICE = """
class Beats:
    def __init__(self, n, train):
        x = load()
        order = DRAW
        keep = order[:40] if train else order[40:]
        self.x = x[keep]
fit(Beats(50, True).x)
check(Beats(50, False).x)
"""


@pytest.mark.parametrize(
    ("draw", "anew"), [("torch.randperm(n)", True), ("np.random.permutation(n)", True), ("np.random.default_rng(0).permutation(n)", False)]
)
def test_an_order_that_each_side_draws_where_it_is_built(draw: str, anew: bool) -> None:
    place = drawn_twice(sides_of(BUILT_TWICE.replace("DRAW", draw)))
    assert (place is not None and place.text == f"order = {draw}") == anew
