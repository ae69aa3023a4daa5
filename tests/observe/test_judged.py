"""Evaluations without a loss function: the script's own comparison is read, once, and nothing else is taken for one."""

from __future__ import annotations

import pytest
import torch

from observe.conftest import WatchScript

CLASSES = """
import numpy as np
from torch.utils.data import DataLoader, TensorDataset
x = torch.randn(240, 6); y = (x @ torch.randn(6, 3)).argmax(1)
xv, yv = x[160:], y[160:]
train = DataLoader(TensorDataset(x[:160], y[:160]), batch_size=20, shuffle=True)
val = DataLoader(TensorDataset(xv, yv), batch_size=32)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(model.parameters(), 0.02)
seen = []
def train_epoch():
    model.train()
    for u, v in train:
        optimizer.zero_grad(); loss = F.cross_entropy(model(u), v); loss.backward(); optimizer.step()
"""
LOOP = """
for epoch in range(4):
    train_epoch()
    model.eval()
    with torch.no_grad():
        seen.append(evaluate())
"""
BY_HAND = {
    "whole": "def evaluate():\n    return (model(xv).argmax(1) == yv).float().mean().item()\n",
    "max": "def evaluate():\n    _, p = torch.max(model(xv), 1)\n    return p.eq(yv.view_as(p)).sum().item() / len(yv)\n",
    "not equal": "def evaluate():\n    return 1 - (model(xv).softmax(-1).argmax(-1) != yv).float().mean().item()\n",
    "slices": "def evaluate():\n    return sum((model(xv[i:i+20]).argmax(1) == yv[i:i+20]).sum().item() for i in range(0, 80, 20)) / 80\n",
    "kept": "def evaluate():\n    out = torch.cat([model(xv[i:i+20]) for i in range(0, 80, 20)])\n    return (out.argmax(1) == yv).float().mean().item()\n",
    "loader": "def evaluate():\n    return sum((model(a).argmax(1) == b).sum().item() for a, b in val) / 80\n",
    "numpy": "def evaluate():\n    return sum(int((model(a).argmax(1).numpy() == b.numpy()).sum()) for a, b in val) / 80\n",
    "two models": "def evaluate():\n    return sum(((model(a) + model(a * 1.1)).argmax(1) == b).sum().item() for a, b in val) / 80\n",
}


SURE = {
    "temporary": "def evaluate():\n    p = model(xv).softmax(1)\n    conf, guess = p.max(1)\n    return (guess == yv).float().mean().item()\n",
    "slices": "def evaluate():\n    return sum((model(xv[i:i+30]).argmax(1) == yv[i:i+30]).sum().item() for i in range(0, 120, 30)) / 120\n",
}


@pytest.mark.parametrize("way", SURE)
def test_how_sure_the_model_is_where_answers_are_only_counted(way: str, script: WatchScript) -> None:
    run = script(
        CLASSES.replace("randn(240", "randn(280") + SURE[way] + LOOP + "net = model\nsure = net(xv).softmax(1).max(1).values.mean().item()\n"
    )
    assert run.facts.data_probe is not None
    (told,) = run.facts.data_probe.calibration
    assert told.by_hand and told.rows == 120 and told.classes == 3 and told.step == run.facts.run.steps
    assert told.accuracy == pytest.approx(run.names["seen"][-1], abs=1e-6) and told.confidence == pytest.approx(run.names["sure"], abs=1e-5)
    assert run.at(told.place, "model(xv")


def test_outputs_that_are_no_logits_tell_nothing_of_it(script: WatchScript) -> None:
    source = CLASSES.replace("randn(240", "randn(280").replace("F.cross_entropy(model(u), v)", "F.cross_entropy(4 * model(u), v)")
    probe = script(source + SURE["temporary"] + LOOP).facts.data_probe
    assert probe is None or not probe.calibration


@pytest.mark.parametrize("way", BY_HAND)
def test_accuracy_is_what_the_script_counts(way: str, script: WatchScript) -> None:
    run = script(CLASSES + BY_HAND[way] + LOOP)
    assert run.record.series("accuracy/eval").values.tolist() == pytest.approx(run.names["seen"], abs=1e-6)
    assert not len(run.record.series("loss/eval")) and not run.facts.limits
    (evaluation,) = run.facts.evaluations
    assert evaluation.by_hand and evaluation.passes == 4 and evaluation.samples == 80
    assert run.at(evaluation.place, "model(xv[i:i+20])" if way in ("slices", "kept") else "model(a" if evaluation.loader is not None else "model(xv)")


@pytest.mark.parametrize(
    "both",
    [
        "def evaluate():\n    o = model(xv); a = (o.argmax(1) == yv).float().mean().item(); F.cross_entropy(o, yv); return a\n",
        "def evaluate():\n    o = model(xv); F.cross_entropy(o, yv); return (o.argmax(1) == yv).float().mean().item()\n",
        "def evaluate():\n    o = torch.cat([model(a) for a, b in val]); F.cross_entropy(o, yv); return (o.argmax(1) == yv).float().mean().item()\n",
        "def evaluate():\n    o = model(xv); F.multi_margin_loss(o, yv); return (o.argmax(1) == yv).float().mean().item()\n",
    ],
)
def test_a_loss_and_an_accuracy_are_one_evaluation(both: str, script: WatchScript) -> None:
    run = script(CLASSES + both + LOOP)
    (evaluation,) = run.facts.evaluations
    assert not evaluation.by_hand
    assert len(run.record.series("loss/eval")) == 4
    assert run.record.series("accuracy/eval").values.tolist() == pytest.approx(run.names["seen"], abs=1e-6)


def test_without_no_grad(script: WatchScript) -> None:
    run = script(CLASSES + BY_HAND["whole"] + LOOP.replace("with torch.no_grad():", "if True:"))
    assert run.record.series("accuracy/eval").values.tolist() == pytest.approx(run.names["seen"], abs=1e-6)


def test_two_loaders_are_two_evaluations(script: WatchScript) -> None:
    run = script(
        CLASSES
        + "def evaluate(loader):\n    return sum((model(a).argmax(1) == b).sum().item() for a, b in loader) / len(loader.dataset)\n"
        + LOOP.replace("evaluate()", "(evaluate(train), evaluate(val))")
    )
    assert [e.loader for e in run.facts.evaluations] == [0, 1]
    assert run.record.series("accuracy/eval@1").values.tolist() == pytest.approx([v for _, v in run.names["seen"]], abs=1e-6)


BINARY = """
x = torch.randn(200, 5); y = (x.sum(1) > 0).float()
xv, yv = x[120:], y[120:]
model = nn.Linear(5, 1)
optimizer = torch.optim.Adam(model.parameters(), 0.05)
seen = []
for epoch in range(4):
    for i in range(0, 120, 20):
        optimizer.zero_grad(); loss = F.binary_cross_entropy_with_logits(model(x[i:i+20]).squeeze(1), y[i:i+20]); loss.backward(); optimizer.step()
    with torch.no_grad():
        seen.append(JUDGED)
"""


@pytest.mark.parametrize(
    "judged",
    [
        "((torch.sigmoid(model(xv)).squeeze(1) > 0.5).float() == yv).float().mean().item()",
        "(torch.sigmoid(model(xv)).squeeze().round() == yv).float().mean().item()",
        "((model(xv)[:, 0] > 0) == yv.bool()).float().mean().item()",
    ],
)
def test_yes_or_no(judged: str, script: WatchScript) -> None:
    run = script(BINARY.replace("JUDGED", judged))
    assert run.record.series("accuracy/eval").values.tolist() == pytest.approx(run.names["seen"], abs=1e-6)


NUMBERS = """
x = torch.randn(200, 5); y = x.sum(1, keepdim=True)
xv, yv = x[120:], y[120:]
model = nn.Linear(5, 1)
optimizer = torch.optim.Adam(model.parameters(), 0.05)
seen = []
for epoch in range(4):
    for i in range(0, 120, 20):
        optimizer.zero_grad(); loss = F.TRAINED(model(x[i:i+20]), y[i:i+20]); loss.backward(); optimizer.step()
    with torch.no_grad():
        seen.append((JUDGED).item())
"""


@pytest.mark.parametrize(("trained", "judged"), [("mse_loss", "((model(xv) - yv) ** 2).mean()"), ("l1_loss", "(yv - model(xv)).abs().mean()")])
def test_differences_are_a_loss_where_training_has_the_same(trained: str, judged: str, script: WatchScript) -> None:
    run = script(NUMBERS.replace("TRAINED", trained).replace("JUDGED", judged))
    assert run.record.series("loss/eval").values.tolist() == pytest.approx(run.names["seen"], rel=1e-4)
    assert not len(run.record.series("accuracy/eval"))


@pytest.mark.parametrize(
    ("trained", "judged"),
    [
        ("smooth_l1_loss", "((model(xv) - yv) ** 2).mean()"),  # another scale than training's
        ("mse_loss", "((100 * model(xv) - yv) ** 2).mean()"),  # in other units
        ("mse_loss", "(model(xv) - model(xv + 1)).abs().mean()"),  # two outputs
    ],
)
def test_other_differences_are_no_loss(trained: str, judged: str, script: WatchScript) -> None:
    run = script(NUMBERS.replace("TRAINED", trained).replace("JUDGED", judged))
    assert not run.facts.evaluations


def test_a_teacher_of_the_training_batch_is_no_evaluation(script: WatchScript) -> None:
    run = script(
        CLASSES
        + """
teacher = nn.Linear(6, 3)
for epoch in range(2):
    for a, b in train:
        with torch.no_grad():
            soft = teacher(a).softmax(1)
        optimizer.zero_grad(); out = model(a); loss = F.cross_entropy(out, b) + F.mse_loss(out.softmax(1), soft); loss.backward(); optimizer.step()
"""
    )
    assert not run.facts.evaluations


def test_agreement_of_two_models_is_no_accuracy(script: WatchScript) -> None:
    other = "other = nn.Linear(6, 3)\ndef evaluate():\n    return (model(xv).argmax(1) == other(xv).argmax(1)).float().mean().item()\n"
    assert not script(CLASSES + other + LOOP).facts.evaluations


def test_parts_of_a_graph_are_told_apart(script: WatchScript) -> None:
    run = script(
        """
x = torch.randn(90, 6); y = (x @ torch.randn(6, 3)).argmax(1)
parts = [torch.arange(90) % 3 == i for i in range(3)]
model = nn.Linear(6, 3)
optimizer = torch.optim.Adam(model.parameters(), 0.05)
seen = []
for epoch in range(6):
    model.train(); optimizer.zero_grad(); out = model(x); loss = F.cross_entropy(out[parts[0]], y[parts[0]]); loss.backward(); optimizer.step()
    model.eval()
    with torch.no_grad():
        p = model(x).argmax(1)
        seen.append([(p[m] == y[m]).float().mean().item() for m in parts])
"""
    )
    assert [e.part for e in run.facts.evaluations] == [1, 2, 3]
    for i, name in enumerate(("accuracy/eval", "accuracy/eval@1", "accuracy/eval@2")):
        assert run.record.series(name).values.tolist() == pytest.approx([s[i] for s in run.names["seen"]], abs=1e-6)


def test_no_mode_stays_open(script: WatchScript) -> None:
    run = script(CLASSES + BY_HAND["whole"] + LOOP + "depths = []\nmodel(xv)\ndepths.append(torch._C._len_torch_function_stack())\n")
    assert run.record.series("accuracy/eval").values.size == 4
    assert torch._C._len_torch_function_stack() == 0


def test_a_mode_of_the_users_is_left_in_order(script: WatchScript) -> None:
    run = script(
        CLASSES
        + """
def evaluate():
    out = model(xv)
    with torch.device("cpu"):
        return (out.argmax(1) == yv).float().mean().item()
"""
        + LOOP
    )
    assert len(run.names["seen"]) == 4 and torch._C._len_torch_function_stack() == 0
