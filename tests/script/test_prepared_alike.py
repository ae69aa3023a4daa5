"""At which line evaluation's data is prepared otherwise than training's, from the text of a script alone."""

from __future__ import annotations

import ast

import pytest

from causes.scripts import added
from script.followed import sides_of
from sickbay.facts import EvaluationData, Loader
from sickbay.nouns import Place
from sickbay.script.prepared import from_call, sides
from sickbay.script.prepared_alike import at_the_door, left_out, numbered, set_up, turned
from sickbay.testing import make_record, place_in


def test_the_line_that_prepares_validation_alone() -> None:
    text = """
    x, x_val = load()
    x = (x - mean) / std
    val = to_tensor(x_val)
    val_loader = DataLoader(val)
    fit(x)
    check(val_loader)
    """
    place = set_up(sides_of(text))
    assert place is not None and place.text == "val = to_tensor(x_val)"


def test_a_transform_of_its_own_is_named_itself() -> None:
    text = """
    train_tf = Compose(flip, scale)
    val_tf = Compose(scale)
    train = Frames(files[:80], train_tf)
    val = Frames(files[80:], val_tf)
    fit(train)
    check(val)
    """
    place = set_up(sides_of(text))
    assert place is not None and place.text == "val_tf = Compose(scale)"


def test_channels_that_the_augmentation_turns_round() -> None:
    text = """
    def flips(image):
        image = image[..., ::-1]
        return image[:, ::-1]
    def load(path):
        return cv2.imread(path)[..., ::-1]
    train = Slides(load(a), flips)
    val = Slides(load(b))
    fit(train)
    check(val)
    """
    place = turned(sides_of(text))
    assert place is not None and place.text == "image = image[..., ::-1]" and place.guess
    assert turned(sides_of(text.replace("    image = image[..., ::-1]\n", ""))) is None


def test_channels_that_are_turned_round_behind_a_switch() -> None:
    text = """
    class Crops(Dataset):
        def __init__(self, frames, augment=False):
            self.frames, self.augment = frames, augment
        def __getitem__(self, i):
            image = self.frames[i]
            if self.augment:
                image = image[:, :, ::-1]
                if torch.rand(()) < 0.5:
                    image = image[:, ::-1]
            return image
    train = Crops(a, augment=True)
    val = Crops(b)
    fit(train)
    check(val)
    """
    place = turned(sides_of(text))
    assert place is not None and place.text == "image = image[:, :, ::-1]" and place.guess
    assert turned(sides_of(text.replace("if self.augment:", "if random() < 0.5:"))) is None, "no switch, but chance"
    named = "\n    def to_rgb(image):\n        return image[:, :, ::-1].copy()\n" + text.replace("image = image[:, :, ::-1]", "image = to_rgb(image)")
    place = turned(sides_of(named))
    assert place is not None and place.text == "image = to_rgb(image)"
    assert turned(sides_of(named.replace("[:, :, ::-1]", "[:, ::-1]"))) is None, "a mirror"


def test_functions_that_both_sides_call_are_looked_into_for_each_call() -> None:
    text = """
    def prepare(rows):
        return torch.tensor(rows)

    rows, held = read()
    rows = scale(rows)
    a = prepare(rows)
    b = prepare(held)
    fit(a)
    check(b)
    """
    place = set_up(sides_of(text))
    assert place is not None and place.text == "rows = scale(rows)"  # what only training's rows go through


def test_a_step_that_is_missing_between_two_others() -> None:
    text = """
    class Cells:
        def __init__(self, counts):
            self.x = counts

    def total(cells):
        cells.x = cells.x / cells.x.sum(1)

    def logs(cells):
        cells.x = np.log1p(cells.x)

    def tensors(cells):
        return torch.tensor(cells.x)

    known = Cells(read(1))
    total(known)
    logs(known)
    query = Cells(read(2))
    total(query)
    fit(tensors(known))
    check(tensors(query))
    """
    place = set_up(sides_of(text))
    assert place is not None and place.text == "total(query)" and place.guess
    alike = set_up(sides_of(text.replace("total(query)", "total(query)\n    logs(query)")))
    assert alike is not None and alike.text != "total(query)"


@pytest.mark.parametrize(
    ("step", "line"),
    [
        ("x = (x - mean) / std", "v = (v - mean) / std"),
        ("x = scaler.fit_transform(x)", "v = scaler.transform(v)"),
        ("x, other = shrink(x)", None),
    ],
)
def test_the_missing_step_is_written_in_the_names_of_validation(step: str, line: str | None) -> None:
    text = f"""
    x, v = read()
    {step}
    a = torch.tensor(x)
    b = torch.tensor(v)
    fit(a)
    check(b)
    """
    missing = left_out(sides_of(text))
    assert missing is not None and missing.place.text == step and missing.place.guess
    assert added(missing.diff()) == ([line] if line is not None else [])


def test_nothing_is_left_out_where_validation_has_steps_of_its_own() -> None:
    text = "x, v = read()\nx = scale(x)\nv = crop(v)\nfit(x)\ncheck(v)\n"
    assert left_out(sides_of(text)) is None
    place = set_up(sides_of(text))
    assert place is not None and place.text == "v = crop(v)"


def test_what_only_looks_at_the_data_does_not_prepare_it() -> None:
    text = """
    def show(rows):
        print(len(rows))

    x, v = read()
    val = to_tensor(v)
    show(val)
    fit(x)
    check(val)
    """
    place = set_up(sides_of(text))
    assert place is not None and place.text == "val = to_tensor(v)"


def test_the_same_name_in_another_loop_or_comprehension_is_something_else() -> None:
    text = """
    train, valid = Rows(a), scaled(Rows(b))
    for epoch in range(9):
        for x in train:
            fit(x)
        total = [check(x) for x in valid]
    """
    found = sides_of(text)
    assert [s.lineno for s in found.trained.statements if isinstance(s, (ast.For, ast.Assign))] == [3, 1]
    assert [s.lineno for s in found.shown.statements] == [1]


def test_one_function_called_in_two_ways_in_one_line() -> None:
    text = "a, b = read(1)\nc, d = read(2)\nx, v = features(a, scale=True), features(c, scale=False)\nfit(x)\ncheck(v)\n"
    place = set_up(sides_of(text))
    assert place is not None and place.line == 3
    alike = set_up(sides_of(text.replace("scale=False", "scale=True")))
    assert alike is None or alike.line != 3


def test_the_model_is_no_part_of_what_it_is_evaluated_on() -> None:
    text = "class Net(nn.Module):\n    pass\nnet = Net()\nv = load()\nscore(net, v)\n"
    record = make_record(sources={"train.py": text})
    found = from_call(record, Place("train.py", 5), "score(net, v)")
    assert found is not None and [s.lineno for s in found.statements] == [4]


BRANCHES = """
class Pulses(Dataset):
    def __init__(self, n, train):
        self.x, self.train = read(n), train
    def __getitem__(self, i):
        x = self.x[i]
        if self.train:
            x = (x - x.mean()) / x.std()
        else:
            x = (x - 1000) / 150
        return x

for x in DataLoader(Pulses(900, train=True)):
    fit(x)
for x in DataLoader(Pulses(300, train=False)):
    check(x)
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("", "", "x = (x - 1000) / 150"),
        ("train=False", "False", "x = (x - 1000) / 150"),
        ("if self.train", "if not self.train", "x = (x - x.mean()) / x.std()"),
        ("        else:\n            x = (x - 1000) / 150\n", "", None),
    ],
)
def test_the_branch_that_a_switch_takes_for_validation(old: str, new: str, line: str | None) -> None:
    text = BRANCHES.replace("for x in DataLoader(Pulses(300, train=False))", "val = Pulses(300, train=False)\nfor x in DataLoader(val)")
    place = set_up(sides_of(text.replace(old, new) if old else text))
    assert place is not None and (place.text == line if line is not None else (place.text or "").startswith("val = "))


VOCABULARY = """
class Texts:
    def __init__(self, rows):
        counts = Counter(w for row in rows for w in row.split())
        self.index = {w: i for i, w in enumerate(counts)}
        self.x = torch.tensor([[self.index.get(w, 0) for w in row.split()] for row in rows])

    def batches(self):
        for ids in torch.arange(len(self.x)).split(9):
            yield self.x[ids]

train = Texts(read(1))
valid = Texts(read(2))
for x in train.batches():
    fit(x)
check(next(valid.batches()))
"""


def test_a_vocabulary_that_each_object_makes_of_its_own_rows() -> None:
    place = numbered(sides_of(VOCABULARY))
    assert place is not None and place.text == "self.index = {w: i for i, w in enumerate(counts)}" and place.guess


def test_a_vocabulary_that_both_share_is_made_once() -> None:
    shared = VOCABULARY.replace("        counts", "        pass\n        #").replace(
        "self.index = {w: i for i, w in enumerate(counts)}", "self.index = INDEX"
    )
    assert numbered(sides_of("INDEX = {w: i for i, w in enumerate(WORDS)}" + shared)) is None


def test_a_vocabulary_of_its_own_for_validation() -> None:
    text = """
    vocab = Vocab(texts)
    own = Vocab(val_texts)
    train = encode(texts, vocab)
    val = encode(val_texts, own)
    fit(train)
    check(val)
    """
    place = numbered(sides_of(text))
    assert place is not None and place.text == "own = Vocab(val_texts)"


def test_loaders_that_a_function_makes_are_told_apart_by_their_names() -> None:
    source = """\
def make_loader(texts, vocab):
    return DataLoader([vocab.encode(t) for t in texts], batch_size=9)

vocab = Vocab(train_texts)
train = make_loader(train_texts, vocab)
val = make_loader(val_texts, Vocab(val_texts))
"""
    built = Place("train.py", 2)
    loaders = [Loader(index=i, role=role, built_at=built, variable=name) for i, (role, name) in enumerate((("train", "train"), ("eval", "val")))]
    record = make_record(sources={"train.py": source}, loaders=loaders)
    given = sides(record, EvaluationData(loader=1))
    place = numbered(given)
    assert place is not None and place.text == "val = make_loader(val_texts, Vocab(val_texts))"


PREDICT = """\
for x, y in train_dl:
    loss = F.cross_entropy(net(x.float()), y)

def predict(x):
    with torch.no_grad():
        return net(scaler(x))
"""


@pytest.mark.parametrize(("given", "cured"), [("scaler(x)", "        return net(x)"), ("(x - mean) / std", None)])
def test_what_an_evaluation_does_to_its_data_right_in_the_call_of_the_model(given: str, cured: str | None) -> None:
    text = PREDICT.replace("scaler(x)", given)
    record = make_record(sources={"train.py": text})
    door = at_the_door(record, EvaluationData(place=place_in(text, "return net"), texts=(f"net({given})",)))
    assert door is not None and door.place.text == f"return net({given})" and door.place.guess
    assert added(door.diff()) == ([cured] if cured is not None else [])


@pytest.mark.parametrize(
    "text",
    [
        PREDICT.replace("x.float()", "scaler(x)"),  # as training does
        PREDICT.replace("scaler(x)", "x.view(-1, 4).float()"),
        PREDICT.replace("net(x.float())", "step(x)"),  # how training calls the model is not told
    ],
)
def test_an_evaluation_that_gives_its_data_as_training_does(text: str) -> None:
    place = place_in(text, "return net")
    call = (place.text or "").removeprefix("return ")
    assert at_the_door(make_record(sources={"train.py": text}), EvaluationData(place=place, texts=(call,))) is None
