"""`sickbay.evaluate` on live models: what it reads, what it leaves as it was, what it says."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import sickbay
from sickbay.errors import UsageError

torch = pytest.importorskip("torch")
nn, data = torch.nn, torch.utils.data


class Table(nn.Module):
    """Answers with what it is given."""

    def forward(self, x: Any) -> Any:
        return x


def loader(*columns: Any, size: int = 16, shuffle: bool = False) -> Any:
    return data.DataLoader(data.TensorDataset(*columns), batch_size=size, shuffle=shuffle)


def scores(classes: int = 3, n: int = 300, right: float = 0.8) -> tuple[Any, Any]:
    torch.manual_seed(0)
    target = torch.randint(0, classes, (n,))
    said = torch.where(torch.rand(n) < right, target, (target + 1) % classes)
    return nn.functional.one_hot(said, classes).float() * 4 + 0.1 * torch.randn(n, classes), target


def test_classes() -> None:
    logits, target = scores()
    found = sickbay.evaluate(Table(), loader(logits, target), loss_fn=nn.CrossEntropyLoss(), class_names=["cat", "dog", "fox"]).found
    assert found.task == "classes" and found.read_as == "logits" and found.samples == found.counted == 300
    assert found.score.value == pytest.approx(float((logits.argmax(1) == target).float().mean()))
    assert found.loss == pytest.approx(float(nn.functional.cross_entropy(logits, target)), rel=1e-5)
    entropy = next(s for s in found.more if s.name == "cross-entropy")
    assert entropy.value == pytest.approx(found.loss, rel=1e-4) and entropy.constant == pytest.approx(np.log(3), abs=0.02)
    assert found.standing == "beyond" and not found.worst
    assert {c.taken_for for c in found.confused} == {"cat", "dog", "fox"}


def test_probabilities_and_logits_say_the_same() -> None:
    logits, target = scores()
    one = sickbay.evaluate(Table(), loader(logits, target)).found
    other = sickbay.evaluate(Table(), loader(logits.softmax(1), target)).found
    assert other.read_as == "probabilities"
    assert one.score == other.score
    assert one.reliability and other.reliability and one.reliability.error == pytest.approx(other.reliability.error, abs=1e-4)
    noted = sickbay.evaluate(Table(), loader(logits.softmax(1), target), loss_fn=nn.CrossEntropyLoss()).found
    assert any("expects logits" in note for note in noted.notes)


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
@pytest.mark.parametrize("whole", [False, True])
def test_yes_or_no(shape: tuple[int, ...], whole: bool) -> None:
    torch.manual_seed(0)
    target = (torch.rand(400) < 0.3).float()
    logits = 3 * (target - 0.5) + torch.randn(400)
    y = target.long() if whole else target.reshape(shape)
    found = sickbay.evaluate(Table(), loader(logits.reshape(shape), y)).found
    likely = sickbay.evaluate(Table(), loader(logits.sigmoid().reshape(shape), y)).found
    assert (found.read_as, likely.read_as) == ("logits", "probabilities")
    assert found.score == likely.score and found.score.value == pytest.approx(float(((logits > 0) == (target > 0)).float().mean()))
    assert found.reliability is not None and found.reliability.of == "positive class"
    assert any(s.name == "area under the ROC curve" for s in found.more)


def test_one_hot_targets_are_classes_and_several_labels_are_labels() -> None:
    logits, target = scores()
    hot = nn.functional.one_hot(target, 3).float()
    assert sickbay.evaluate(Table(), loader(logits, hot)).found.score == sickbay.evaluate(Table(), loader(logits, target)).found.score
    several = (torch.rand(300, 3) < 0.4).float()
    found = sickbay.evaluate(Table(), loader(4 * several - 2 + torch.randn(300, 3), several)).found
    assert found.task == "labels" and found.score.name == "F1 of all labels" and len(found.classes) == 3


def test_numbers() -> None:
    torch.manual_seed(0)
    target = torch.randn(300, 1) * 5
    found = sickbay.evaluate(Table(), loader(target + torch.randn(300, 1), target)).found
    assert found.task == "numbers" and 0.9 < found.score.value < 1 and found.residuals is not None
    assert found.standing == "beyond"
    guessed = sickbay.evaluate(Table(), loader(torch.randn(300, 1) * 5, target)).found
    assert guessed.standing == "below" and guessed.score.value < 0


@pytest.mark.parametrize("last", [False, True])
def test_maps_of_classes(last: bool) -> None:
    torch.manual_seed(0)
    target = torch.randint(0, 4, (20, 6, 5))
    target[:, 0] = 255
    logits = nn.functional.one_hot(target.clamp_max(3), 4).float() + 0.4 * torch.randn(20, 6, 5, 4)
    logits = logits if last else logits.permute(0, 3, 1, 2)
    found = sickbay.evaluate(Table(), loader(logits, target)).found
    known = target != 255
    said = logits.argmax(-1 if last else 1)
    assert found.unit == "pixels" and found.samples == 20 and found.counted == int(known.sum())
    assert found.score.value == pytest.approx(float((said == target)[known].float().mean()))
    assert found.score.low < found.score.value < found.score.high
    assert any("left out" in n for n in found.notes)


def test_masks() -> None:
    torch.manual_seed(0)
    target = (torch.rand(12, 1, 8, 8) < 0.3).float()
    found = sickbay.evaluate(Table(), loader(3 * target - 1.5 + torch.randn(12, 1, 8, 8), target, size=5)).found
    assert found.unit == "pixels" and found.counted == 12 * 64 and found.classes[1].recall > 0.8


class Noisy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.Linear(8, 3))
        self.body[1].eval()  # frozen on purpose

    def forward(self, x: Any) -> Any:
        random.random()
        np.random.rand()
        return self.body(x) + 0 * torch.rand(1)


def test_nothing_is_different_afterwards() -> None:
    torch.manual_seed(0)
    model = Noisy()
    x, y = torch.randn(64, 4), torch.randint(0, 3, (64,))
    generator = torch.Generator().manual_seed(5)
    given = data.DataLoader(data.TensorDataset(x, y), batch_size=8, shuffle=True, generator=generator)
    before = {k: v.clone() for k, v in model.state_dict().items()}
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy(), generator.get_state()
    sickbay.evaluate(model, given, samples=True)
    assert [m.training for m in model.modules()] == [True, True, True, False, True, True]
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert torch.equal(states[0], torch.get_rng_state()) and states[1] == random.getstate()
    assert (states[2] == np.random.get_state()[1]).all() and torch.equal(states[3], generator.get_state())


def test_the_mode_is_put_back_also_when_the_model_fails() -> None:
    class Fails(nn.Module):
        def forward(self, x: Any) -> Any:
            raise ValueError("no")

    model = Fails()
    with pytest.raises(ValueError, match="no"):
        sickbay.evaluate(model, loader(*scores()))
    assert model.training


def test_samples_only_on_request() -> None:
    logits, target = scores()
    logits[7] = torch.tensor([50.0, 0, 0])
    target[7] = 2
    without = sickbay.evaluate(Table(), loader(logits, target))
    assert without.found.worst == () and without.to_dict()["worst"] == []
    found = sickbay.evaluate(Table(), loader(logits, target), samples=True).found
    assert (found.worst[0].index, found.worst[0].predicted, found.worst[0].target) == (7, "0", "2")
    shuffled = sickbay.evaluate(Table(), loader(logits, target, shuffle=True), samples=True).found
    assert any("shuffles" in n for n in shuffled.notes)


class Dicts(data.Dataset):  # type: ignore[misc]
    def __init__(self) -> None:
        self.logits, self.target = scores(n=400)
        self.site = ["north" if i % 2 else "south" for i in range(400)]
        wrong = torch.tensor([s == "north" for s in self.site]) & (torch.rand(400) < 0.5)
        self.logits[wrong] = self.logits[wrong].roll(1, 1)

    def __len__(self) -> int:
        return 400

    def __getitem__(self, i: int) -> dict[str, Any]:
        return {"x": self.logits[i], "labels": self.target[i], "site": self.site[i], "age": float(i)}


def test_dicts_are_given_by_name_and_sliced_by_column() -> None:
    given = data.DataLoader(Dicts(), batch_size=32)
    found = sickbay.evaluate(Table(), given, slices=["site", "age"]).found
    assert found.slices[0].worse and (found.slices[0].by, found.slices[0].value) == ("site", "north")
    assert sum(s.by == "age" for s in found.slices) == 4
    by_call = sickbay.evaluate(Table(), given, slices={"target": lambda batch: batch["labels"]}).found
    assert [s.by for s in by_call.slices] == ["target"] * 3
    with pytest.raises(UsageError, match="no column 'sex'"):
        sickbay.evaluate(Table(), given, slices="sex")


def test_what_follows_the_target_describes_the_samples() -> None:
    logits, target = scores()
    group = torch.arange(300) % 2
    found = sickbay.evaluate(Table(), loader(logits, target, group), slices="2").found
    assert [s.value for s in found.slices] in (["0", "1"], ["1", "0"])


class Output:
    def __init__(self, logits: Any) -> None:
        self.logits = logits


@pytest.mark.parametrize("wrap", [lambda x: x, lambda x: Output(x), lambda x: {"out": x}, lambda x: (x, None)])
def test_outputs_of_every_kind(wrap: Any) -> None:
    logits, target = scores()
    assert sickbay.evaluate(lambda x: wrap(x), loader(logits, target)).found.score.value > 0.7


class Two(nn.Module):
    def forward(self, x: Any, lengths: Any) -> Any:
        return x


class Perhaps(nn.Module):
    def forward(self, x: Any, mask: Any = None) -> Any:
        return x


def test_inputs_are_as_many_as_the_model_takes() -> None:
    logits, target = scores()
    assert sickbay.evaluate(Two(), loader(logits, torch.ones(300), target)).found.counted == 300
    with pytest.raises(UsageError, match="which part is the target"):
        sickbay.evaluate(Perhaps(), loader(logits, target, torch.ones(300)))


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ((torch.randn(8, 3), torch.randn(8, 4)), "do not fit"),
        ((torch.randn(8, 3), torch.randint(0, 3, (8, 2))), "do not fit"),
    ],
)
def test_what_does_not_fit_is_said(columns: tuple[Any, ...], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        sickbay.evaluate(Table(), loader(*columns))


def test_wrong_arguments_are_said() -> None:
    with pytest.raises(UsageError, match="nothing to evaluate"):
        sickbay.evaluate(Table(), [])
    with pytest.raises(UsageError, match="2 class names"):
        sickbay.evaluate(Table(), loader(*scores()), class_names=["a", "b"])
    with pytest.raises(UsageError, match="a batch is a tensor"):
        sickbay.evaluate(Table(), [torch.randn(3)])


def test_it_shows_itself() -> None:
    found = sickbay.evaluate(Table(), loader(*scores()), samples=True)
    assert str(found).splitlines()[1] == "BETTER THAN A CONSTANT"
    assert all(len(line) <= 80 for line in str(found).splitlines())
    assert repr(found).startswith("<sickbay evaluation: accuracy 0.78 (0.73–0.82) on 300 samples; a constant would score 0.37")
    assert "Better than a constant" in found._repr_html_()
