"""Does what was read and loaded arrive in the model that trains next?"""

from __future__ import annotations

from pathlib import Path

import pytest

from observe.conftest import WatchScript
from observe.watched import Run, exact, watch_script

BEGIN = """
import copy
class Net(nn.Module):
    def __init__(self, classes=2):
        super().__init__()
        self.body, self.head = nn.Linear(6, 8), nn.Linear(8, classes)
    def forward(self, x):
        return self.head(torch.relu(self.body(x)))
def fit(model, steps=3):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, 6)).square().mean().backward()
        optimizer.step()
FILE = __file__ + ".pt"
torch.save({"model": Net().state_dict(), "epoch": 3}, FILE)
"""


def watched(tmp_path: Path, text: str) -> Run:
    return watch_script(BEGIN + text, tmp_path, exact())


def test_a_plain_load(tmp_path: Path) -> None:
    run = watched(tmp_path, "model = Net()\nstate = torch.load(FILE)\nmodel.load_state_dict(state['model'])\nfit(model)\n")
    (read,), (load,) = run.facts.checkpoints, run.facts.state_loads
    assert (read.tensors, read.fitting, read.weights, read.present, read.drawn) == (2, 2, 2, 2, 2)
    assert run.at(read.place, "torch.load") and read.file.endswith(".pt")
    assert (load.given, load.matched, load.own, load.weights, load.kept, load.redrawn) == (4, 4, 4, 2, 2, 0)
    assert load.changed and load.trained and load.strict and run.at(load.place, "load_state_dict(state")


def test_names_that_do_not_match(tmp_path: Path) -> None:
    run = watched(
        tmp_path,
        "model = Net()\nstate = {'module.' + k: v for k, v in torch.load(FILE)['model'].items()}\nmodel.load_state_dict(state, strict=False)\nfit(model)\n",
    )
    (read,), (load,) = run.facts.checkpoints, run.facts.state_loads
    assert (load.matched, load.matched_values, load.changed, load.strict) == (0, 0, False, False)
    assert load.missing[0] == "body.weight" and load.unexpected[0] == "module.body.weight" and load.trained
    assert (read.present, read.drawn) == (0, 2)


def test_a_new_head(tmp_path: Path) -> None:
    run = watched(
        tmp_path,
        "model = Net(5)\nstate = {k: v for k, v in torch.load(FILE)['model'].items() if 'body' in k}\nmodel.load_state_dict(state, strict=False)\nfit(model)\n",
    )
    (load,) = run.facts.state_loads
    assert (load.given, load.matched, load.own, load.kept) == (2, 2, 4, 2)


def test_loaded_and_drawn_again(tmp_path: Path) -> None:
    run = watched(
        tmp_path,
        "model = Net()\nmodel.load_state_dict(torch.load(FILE)['model'])\nfor m in (model.body, model.head):\n    nn.init.xavier_normal_(m.weight)\nfit(model)\n",
    )
    (load,) = run.facts.state_loads
    assert (load.weights, load.kept, load.redrawn) == (2, 0, 2) and run.at(load.redrawn_at, "xavier_normal_")


def test_loaded_into_a_copy_late_in_a_run(script: WatchScript, tmp_path: Path) -> None:
    """After hundreds of short steps most are slept through: a checkpoint wakes us."""
    run = watch_script(
        BEGIN + "fit(Net(), 400)\nmodel = Net()\ncopy.deepcopy(model).load_state_dict(torch.load(FILE)['model'])\nfit(model, 20)\n",
        tmp_path,
        exact(detail_steps=4),
    )
    (read,), (load,) = run.facts.checkpoints, run.facts.state_loads
    assert (read.present, read.drawn, read.fitting) == (0, 2, 2)
    assert not load.trained and load.matched == 4


@pytest.mark.parametrize(
    "text",
    [
        "with torch.no_grad():\n        teacher(torch.randn(4, 6))",
        "teacher.eval()\nfor p in teacher.parameters():\n        p.requires_grad = False\nteacher(torch.randn(4, 6))",
    ],
)
def test_a_teacher(tmp_path: Path, text: str) -> None:
    run = watched(tmp_path, f"model, teacher = Net(), Net()\nteacher.load_state_dict(torch.load(FILE)['model'])\n{text}\nfit(model)\n")
    (read,) = run.facts.checkpoints
    assert read.used_elsewhere or read.present


def test_an_optimizers_state_and_data_are_no_checkpoints(tmp_path: Path) -> None:
    run = watched(
        tmp_path,
        "model = Net()\noptimizer = torch.optim.Adam(model.parameters())\nmodel(torch.randn(4, 6)).sum().backward()\noptimizer.step()\n"
        "torch.save(optimizer.state_dict(), FILE)\ntorch.load(FILE)\ntorch.save(torch.randn(100, 6), FILE)\ntorch.load(FILE)\nfit(model)\n",
    )
    assert run.facts.checkpoints == ()
