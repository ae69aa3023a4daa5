"""class-imbalance, repeated-batches and input-bound."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from causes.scripts import added
from sickbay.facts import Batches, Deliveries, EvaluationData, Head, LabelOrder, Loader, Loss, Randomness, Run, Values
from sickbay.nouns import Place
from sickbay.record.reader import Record, with_facts
from sickbay.testing import CauseTestCase, assert_suspects, falling, make_record


def imbalanced(labels: tuple[int, ...], predicted: tuple[float, ...], family: str = "predicted_share/eval") -> Record:
    order = LabelOrder(classes=len(labels), histogram=labels, batches=50)
    steps = np.arange(0, 200, 20)
    return make_record(steps=200, labels=order, families={family: {str(i): (steps, np.full(len(steps), p)) for i, p in enumerate(predicted)}})


def tags(per_row: tuple[float, float]) -> Record:
    """Fourteen tags, of which a sample has a few or none; none is predicted."""
    head = Head(
        function="binary_cross_entropy_with_logits",
        target_shape=(64, 14),
        target=Values(count=99, maximum=1, whole=True, distinct=(0, 1), row_sum=per_row),
    )
    return with_facts(pixels((0.95, 0.05), (0.999, 0.001)), losses=(Loss(index=0, heads=(head,)),))


def pixels(labels: tuple[float, ...], predicted: tuple[float, ...], looks: int = 9) -> Record:
    """Segmentation: every pixel has a label."""
    steps = np.arange(looks) * 20
    families = {"label_share/train": labels, "predicted_share/train": predicted}
    return make_record(steps=200, families={f: {str(i): (steps, np.full(looks, p)) for i, p in enumerate(shares)} for f, shares in families.items()})


class TestClassImbalance(CauseTestCase):
    cause = "class-imbalance"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield imbalanced((950, 50), (1.0, 0.0))
        yield imbalanced((950, 50), (0.998, 0.002), "predicted_share/train")
        yield imbalanced((900, 40, 30, 30), (1.0, 0.0, 0.0, 0.0))
        yield imbalanced((9530, 250, 220), (0.988, 0.0002, 0.0118))
        yield pixels((0.979, 0.021), (1.0, 0.0))
        yield pixels((0.9, 0.07, 0.03), (0.999, 0.001, 0.0))
        yield tags((0.0, 4.0))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "rare classes are found", imbalanced((950, 50), (0.955, 0.045))
        yield "a rare class that is found less often than it is there", imbalanced((9530, 250, 220), (0.98, 0.008, 0.012))
        yield "balanced, and stuck at one class", imbalanced((500, 500), (1.0, 0.0))
        yield "hardly any rare labels", imbalanced((995, 5), (1.0, 0.0))
        yield "few labels", imbalanced((95, 5), (1.0, 0.0))
        yield "rare pixels are found", pixels((0.979, 0.021), (0.985, 0.015))
        yield "one of many classes as rows of zeros and a one", tags((1.0, 1.0))
        yield "about half of the pixels each", pixels((0.55, 0.45), (1.0, 0.0))
        yield "hardly any rare pixels", pixels((0.9995, 0.0005), (1.0, 0.0))
        yield "two looks", pixels((0.979, 0.021), (1.0, 0.0), looks=2)
        yield "no predictions seen", make_record(steps=200, labels=LabelOrder(classes=2, histogram=(950, 50)))


def test_weights_are_in_the_fix() -> None:
    assert "0.53, 10" in assert_suspects(imbalanced((950, 50), (1.0, 0.0)), "class-imbalance").fix.diff
    assert "pos_weight=torch.tensor(47.1)" in assert_suspects(pixels((0.979, 0.0208), (1.0, 0.0)), "class-imbalance").fix.diff


@pytest.mark.parametrize(
    ("line", "head", "new"),
    [
        (
            "loss_fn = nn.CrossEntropyLoss()",
            Head(function="cross_entropy", module="CrossEntropyLoss"),
            "loss_fn = nn.CrossEntropyLoss(weight=torch.tensor([0.53, 10]))",
        ),
        ("loss = F.cross_entropy(net(x), y)", Head(function="cross_entropy"), "loss = F.cross_entropy(net(x), y, weight=torch.tensor([0.53, 10]))"),
        (
            "loss_fn = nn.BCEWithLogitsLoss(reduction='mean')",
            Head(function="binary_cross_entropy_with_logits", module="BCEWithLogitsLoss"),
            "loss_fn = nn.BCEWithLogitsLoss(reduction='mean', pos_weight=torch.tensor(19.0))",
        ),
        ("loss_fn = nn.CrossEntropyLoss(weight=w)", Head(function="cross_entropy", module="CrossEntropyLoss"), None),
        ("loss = mine(net(x), y)", Head(function="cross_entropy"), None),
    ],
)
def test_weights_are_written_where_the_loss_is_made(line: str, head: Head, new: str | None) -> None:
    at = Place("train.py", 1)
    record = replace(imbalanced((950, 50), (1.0, 0.0)), sources={"train.py": f"{line}\n"})
    record = with_facts(record, losses=(Loss(index=0, heads=(replace(head, called_at=at),)),))
    s = assert_suspects(record, "class-imbalance")
    assert s.place is not None and s.place.line == 1
    assert added(s.fix.diff) == ([new] if new is not None else [])


def test_weights_that_do_not_help_are_named_where_they_are_worked_out() -> None:
    source = "counts = torch.bincount(y)\nweights = counts / counts.sum()\nloss_fn = nn.CrossEntropyLoss(weight=weights)\n"
    head = Head(function="cross_entropy", module="CrossEntropyLoss", called_at=Place("train.py", 3))
    record = with_facts(replace(imbalanced((950, 50), (1.0, 0.0)), sources={"train.py": source}), losses=(Loss(index=0, heads=(head,)),))
    s = assert_suspects(record, "class-imbalance")
    assert s.place is not None and s.place.line == 2 and s.place.guess and "do not" in s.fix.text


ITEM = Place("/x/train.py", 12, None, "def __getitem__(self, i):")
SOURCE = "loader = DataLoader(Pictures(), batch_size=8, shuffle=True)\n"
BUILT = Place("/x/train.py", 1, None, SOURCE.strip())


def waiting(data: float, step: float, count: int = 200, loaders: bool = True, **loader: Any) -> Record:
    facts: dict[str, Any] = {"run": Run(steps=count, training_seconds=count * step)}
    if loaders:
        facts["loaders"] = [Loader(**{"index": 0, "role": "train", "item_at": ITEM, "built_at": BUILT} | loader)]
    series = {"time/data": np.full(count, data), "time/step": np.full(count, step)}
    return make_record(steps=count, series=series, sources={"/x/train.py": SOURCE}, **facts)


class TestInputBound(CauseTestCase):
    cause = "input-bound"
    certainty = "likely"

    def sick(self) -> Iterable[Record]:
        yield waiting(0.09, 0.1)
        yield waiting(0.08, 0.1, workers=2)

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "the model takes the time", waiting(0.02, 0.1)
        yield "a tiny model: collating is most of it", waiting(0.0015, 0.002, 2000)
        yield "workers on a busy machine", waiting(0.012, 0.016, workers=2)
        yield "half a second in all", waiting(0.008, 0.01, 60)
        yield "batches without a loader", waiting(0.09, 0.1, loaders=False)
        uneven = np.full(200, 0.002)
        uneven[::20] = 1.0
        series = {"time/data": uneven, "time/step": uneven + 0.01}
        yield "workers that start once per epoch", make_record(steps=200, series=series, loaders=[Loader(index=0, role="train")], run=Run(steps=200))


def test_workers_are_added() -> None:
    suspicion = assert_suspects(waiting(0.09, 0.1), "input-bound")
    assert suspicion.place == ITEM
    assert "+loader = DataLoader(Pictures(), batch_size=8, shuffle=True, num_workers=4)" in suspicion.fix.diff.replace("+ ", "+")


SLOW = """\
def warp(picture):
    for row in picture:
        move(row)

def turned(picture):
    return warp(picture)

class Pictures(Dataset):
    def __getitem__(self, i):
        return turned(self.files[i])
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SLOW, 1),
        (SLOW.replace("return turned(self.files[i])", "return [turned(f) for f in self.files[i]]"), 9),
        (SLOW.replace("for row in picture:", "if picture:"), 9),
    ],
)
def test_the_function_with_the_loop_is_named(text: str, line: int) -> None:
    item = Place("/x/data.py", 9)
    record = waiting(0.09, 0.1, item_at=item)
    suspicion = assert_suspects(replace(record, sources={**record.sources, "/x/data.py": text}), "input-bound")
    assert suspicion.place is not None and suspicion.place.line == line and suspicion.place.guess == (line == 1)
    assert ("probably by a loop in the function at data.py:1" in suspicion.evidence[0].text) == (line == 1)


def test_the_line_that_reads_a_file_for_each_sample() -> None:
    record = waiting(0.09, 0.1)
    text = "class Pictures(Dataset):\n    def __getitem__(self, i):\n        name = self.names[i]\n        rows = np.genfromtxt(name)\n        return rows\n"
    loader = replace(record.facts.loaders[0], item_at=Place("/x/data.py", 2))
    record = replace(with_facts(record, loaders=(loader,)), sources={**record.sources, "/x/data.py": text})
    suspicion = assert_suspects(record, "input-bound")
    assert suspicion.place is not None and suspicion.place.line == 4 and suspicion.place.guess
    assert "by reading at data.py:4" in suspicion.evidence[0].text


SAME_FILE = """\
class Tickets(Dataset):
    def words(self, text):
        return [number(w) for w in text.split()]
    def __getitem__(self, i):
        row = self.start + i
        with open(self.path) as f:
            lines = f.readlines()
        return self.words(lines[row])
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SAME_FILE, 6),
        (SAME_FILE.replace("open(self.path)", "open(f'{self.path}/{row}.txt')"), 2),
        (SAME_FILE.replace("open(self.path)", "open(self.paths[i])"), 2),
    ],
)
def test_the_same_file_for_each_sample(text: str, line: int) -> None:
    record = waiting(0.09, 0.1)
    loader = replace(record.facts.loaders[0], item_at=Place("/x/data.py", 4))
    suspicion = assert_suspects(replace(with_facts(record, loaders=(loader,)), sources={**record.sources, "/x/data.py": text}), "input-bound")
    assert suspicion.place is not None and suspicion.place.line == line and suspicion.place.guess
    assert ("reading the same file" in suspicion.evidence[0].text) == (line == 6) == ("read the file once" in suspicion.fix.text)


def repeated(steps: int = 200, in_a_row: int = 0, again: int = 0, **loader: Any) -> Record:
    seen = min(steps, 512)
    batches = Batches(seen=seen, distinct=max(1, seen - again), repeated=again, in_a_row=in_a_row)
    return make_record(steps=steps, batches=batches, loaders=[Loader(**{"index": 0, "role": "train", "batches": 20, "batch_size": 8} | loader)])


class TestRepeatedBatches(CauseTestCase):
    cause = "repeated-batches"

    def sick(self) -> Iterable[Record]:
        yield repeated(in_a_row=199, again=199, epochs=200)
        yield repeated(again=140, epochs=10, workers=4, sampler="RandomSampler")
        yield repeated(epochs=10, workers=4, delivered=Deliveries(seen=200, distinct=50, alike=150, run=4))
        yield repeated(epochs=10, workers=1, delivered=Deliveries(seen=200, distinct=20, period=20, moved=180))

    def look_alikes(self) -> Iterable[tuple[str, Record]]:
        yield "the same order in every epoch", repeated(again=180, epochs=10, sampler="SequentialSampler")
        yield "one batch taken once and kept, to see whether it can be memorised", repeated(in_a_row=199, again=199, epochs=1)
        yield "a loader of one batch", repeated(in_a_row=199, again=199, epochs=200, batches=1)
        yield "a random batch for every step", repeated(epochs=200, sampler="RandomSampler")
        yield "the same samples for the same indices", repeated(epochs=10, delivered=Deliveries(seen=200, distinct=20, period=20))
        yield "samples in pairs, and four workers", repeated(epochs=10, workers=4, delivered=Deliveries(seen=200, distinct=100, alike=100, run=2))
        yield "too few to tell", repeated(epochs=1, workers=2, delivered=Deliveries(seen=8, distinct=4, alike=4, run=2))
        yield "shuffled, with workers", repeated(epochs=10, workers=4, sampler="RandomSampler")
        yield "all data at once", drawn_by_hand(trained=800, evaluated=200)
        points = drawn_by_hand(trained=15, evaluated=400)
        seen = tuple(replace(d, train_whole=False) for d in points.facts.evaluation_data)
        yield "a few measurements beside points at which derivatives are asked for", with_facts(points, evaluation_data=seen)
        yield "slices in order, without random numbers", simulated(again=0)
        yield "dropout, and slices in order", simulated(repeated=180, again=0)
        yield "seeded for each epoch in front of a permutation", simulated(more="order = torch.randperm(n)")


def drawn_by_hand(trained: int, evaluated: int, **more: Any) -> Record:
    batches = Batches(seen=200, distinct=1, repeated=199, in_a_row=199)
    data = EvaluationData(rows=evaluated, distinct=evaluated, train_distinct=trained, train_rows=200 * trained, passes=5, texts=("model(x_val)",))
    return make_record(series={"loss/train": falling(2, 0.1, 200)}, batches=batches, evaluation_data=[data], **more)


def test_a_batch_drawn_by_hand_that_is_always_the_same() -> None:
    suspicion = assert_suspects(drawn_by_hand(trained=24, evaluated=200), "repeated-batches", "likely")
    assert "generator" in suspicion.fix.text + suspicion.fix.diff


RESEEDED = """\
def evaluate(net):
    torch.manual_seed(1234)
    return net(simulate(500))

for step in range(300):
    loss = net(simulate(32))
    evaluate(net)
"""


def simulated(repeated: int = 240, again: int = 240, more: str = "") -> Record:
    batches = Batches(seen=256, distinct=256 - repeated, repeated=repeated)
    return make_record(
        series={"loss/train": falling(2, 0.1, 300)},
        batches=batches,
        randomness=Randomness(seen=256, again=again),
        sources={"train.py": RESEEDED + more},
    )


def test_a_seed_for_evaluation_that_sets_training_back() -> None:
    suspicion = assert_suspects(simulated(), "repeated-batches", "proven")
    assert suspicion.place is not None and suspicion.place.line == 2


SEEDED = """\
def batch(source):
    g = torch.Generator().manual_seed(1337)
    return torch.randint(len(source), (16,), generator=g)

torch.manual_seed(0)
for step in range(300):
    x = batch(train)
"""


def test_a_generator_that_is_seeded_in_every_call_is_pointed_at() -> None:
    suspicion = assert_suspects(drawn_by_hand(trained=24, evaluated=200, sources={"train.py": SEEDED}), "repeated-batches")
    assert suspicion.place is not None and suspicion.place.line == 2


def test_the_loader_is_named_as_the_script_does() -> None:
    record = repeated(in_a_row=199, again=199, epochs=200, iterated_at=Place("train.py", 2))
    record = replace(record, sources={"train.py": "for step in range(200):\n    xb, yb = next(iter(train_loader))\n"})
    assert "    for xb, yb in train_loader:" in assert_suspects(record, "repeated-batches").fix.diff
