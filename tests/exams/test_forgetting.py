"""Forgetting: noticed when it happens, from the step on at which it does, and hardly ever when it does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import sickbay
from sickbay import facts
from sickbay.cli import cli
from sickbay.errors import UsageError
from sickbay.exams.forgetting import _discordant
from sickbay.nouns import Series
from sickbay.record.reader import Record
from sickbay.record.writer import RecordWriter
from sickbay.supervise.forgetting import compare_runs

torch = pytest.importorskip("torch")
stats = pytest.importorskip("scipy.stats")


class Recall(torch.nn.Module):  # type: ignore[misc]
    """Answers rightly but for a share of the samples, drawn anew (`luck`) or for good (`lost`)."""

    def __init__(self, target: Any) -> None:
        super().__init__()
        self.target = target
        self.wrong = torch.zeros(len(target), dtype=torch.bool)

    def forward(self, x: Any) -> Any:
        i = x[:, 0].long()
        said = torch.where(self.wrong[i], (self.target[i] + 1) % 3, self.target[i])
        return torch.nn.functional.one_hot(said, 3).float() * 5


def task(n: int = 300, shuffle: bool = False) -> tuple[Recall, Any]:
    torch.manual_seed(0)
    target = torch.randint(0, 3, (n,))
    data = torch.utils.data.TensorDataset(torch.arange(n)[:, None].float(), target)
    return Recall(target), torch.utils.data.DataLoader(data, batch_size=64, shuffle=shuffle)


def test_what_is_forgotten_is_told_with_its_step_and_its_class() -> None:
    model, loader = task()
    with sickbay.forgetting(model, {"old": loader}, class_names=["cat", "dog", "fox"]) as memory:
        assert not memory and memory.check(100) == ()
        model.wrong = (model.target == 1) & (torch.rand(300) < 0.6)
        assert memory.check(200) == ("old",)
        assert memory.check(300) == ("old",)
    (found,) = memory.found.tasks
    assert memory and found.worse and found.since == 200 and found.before == 1.0 and found.lost > 40 and not found.gained
    assert [c.name for c in found.classes] == ["dog"] and found.chance is not None and found.chance < 1e-6
    assert "old is forgotten since step 200: accuracy 1 before" in repr(memory)
    assert max(map(len, str(memory).splitlines())) <= 80
    assert memory.to_dict()["schema"] == "sickbay/forgetting/1"


def test_what_comes_back_was_not_forgotten() -> None:
    model, loader = task()
    memory = sickbay.forgetting(model, {"old": loader})
    memory.check(0)
    model.wrong[:60] = True
    assert memory.check(1)
    model.wrong[:] = False
    assert not memory.check(2) and not memory


@pytest.mark.parametrize("shuffle", [False, True])
def test_noise_is_not_forgetting(shuffle: bool) -> None:
    model, loader = task(shuffle=shuffle)
    accused = 0
    for seed in range(20):
        torch.manual_seed(seed)
        memory = sickbay.forgetting(model, {"old": loader})
        for step in range(10):
            model.wrong = torch.rand(300) < 0.1
            memory.check(step)
        accused += bool(memory)
    assert accused <= 2


def test_numbers_are_followed_too() -> None:
    x = torch.randn(200, 1)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, 3 * x), batch_size=50)
    model = torch.nn.Linear(1, 1)
    with torch.no_grad():
        model.weight.fill_(3.0)
        model.bias.fill_(0.1)
    memory = sickbay.forgetting(model, {"line": loader})
    memory.check(0)
    with torch.no_grad():
        model.weight.fill_(2.0)
    assert memory.check(10) == ("line",) and memory.found.tasks[0].measure == "mean absolute error"
    assert model.training


def test_chance_is_scipys() -> None:
    for lost, gained in ((0, 0), (5, 1), (30, 12), (3, 3), (0, 9)):
        theirs = stats.binomtest(lost, lost + gained, 0.5).pvalue if lost + gained else 1.0
        assert _discordant(lost, gained) == pytest.approx(theirs)


def test_wrong_arguments_are_said() -> None:
    with pytest.raises(UsageError, match="loaders by name"):
        sickbay.forgetting(torch.nn.Linear(1, 1), [1])  # type: ignore[arg-type]


def record(values: list[float], name: str = "accuracy/eval", samples: int = 500, loader: str = "old_loader") -> Record:
    steps = np.arange(len(values), dtype=np.int64) * 100
    return Record(
        facts=facts.Facts(
            evaluations=(facts.Evaluation(index=0, passes=len(values), samples=samples * len(values), loader=0),),
            loaders=(facts.Loader(index=0, variable=loader),),
        ),
        all_series={name: Series(name, steps, np.array(values))},
    )


def test_two_records() -> None:
    before = record([0.5, 0.8, 0.88, 0.9, 0.91, 0.9, 0.905, 0.9, 0.9])
    found = compare_runs(before, record([0.9, 0.89, 0.7, 0.6, 0.5]), ("a", "b")).tasks[0]
    assert found.worse and found.since == 200 and (found.before, found.now) == (0.9, 0.6) and found.name == "old_loader"
    assert not compare_runs(before, record([0.9, 0.89, 0.91, 0.88, 0.9]), ("a", "b")).tasks[0].worse
    few = compare_runs(record([0.5, 0.9], "loss/eval"), record([0.5, 2.0], "loss/eval"), ("a", "b")).tasks[0]
    assert not few.worse and "too few" in few.note
    losses = compare_runs(record([2, 1, 0.5, 0.4, 0.41, 0.4], "loss/eval"), record([0.4, 0.41, 0.9, 1.2, 1.3, 1.31], "loss/eval"), ("a", "b")).tasks[
        0
    ]
    assert losses.worse and losses.measure == "loss"
    with pytest.raises(UsageError, match="nothing to compare"):
        compare_runs(before, Record(), ("a", "b"))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, values in (("a", [0.5, 0.9, 0.9, 0.9]), ("b", [0.9, 0.6, 0.5, 0.5])):
        writer = RecordWriter(tmp_path / f"{name}.sickbay")
        writer.fact("run", facts.Run(steps=300, backwards=300))
        writer.fact("evaluations", [facts.Evaluation(index=0, passes=4, samples=4000)])
        for i, v in enumerate(values):
            writer.frame("pulse", 100 * i, ("accuracy/eval",), [v])
        writer.close()
    done = CliRunner().invoke(cli, ["forgetting", "a.sickbay", "b.sickbay", "--exit-code"])
    assert done.exit_code == 1, done.output
    assert "FORGOTTEN" in done.output and "since step 100" in done.output
    document = json.loads(CliRunner().invoke(cli, ["forgetting", "a.sickbay", "b.sickbay", "--json", "-"]).output)
    assert document["tasks"][0]["worse"] and document["schema"] == "sickbay/forgetting/1"
