"""Train and eval mode at each forward pass, and what kind of pass it was."""

from __future__ import annotations

import pytest

from observe.conftest import WatchScript

START = """
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x, y = torch.randn(16, 4), torch.randint(0, 3, (16,))
def train(steps):
    for step in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)  # training
        loss.backward()
        optimizer.step()
def evaluate():
    with torch.no_grad():
        return F.cross_entropy(model(x[:8]), y[:8]).item()  # evaluation
"""


def test_healthy(script: WatchScript) -> None:
    run = script(START + "for epoch in range(3):\n    model.train()\n    train(4)\n    model.eval()\n    evaluate()\n")
    modes = run.facts.modes
    assert modes.sensitive == ("1: BatchNorm1d", "3: Dropout(p=0.5)")
    assert (modes.training_forwards, modes.training_in_eval) == (12, 0)
    assert (modes.evaluation_passes, modes.evaluation_in_train) == (3, 0)
    assert run.at(modes.train_called_at, "model.train()")


def test_eval_left_over(script: WatchScript) -> None:
    run = script(START + "for epoch in range(3):\n    train(4)\n    model.eval()\n    evaluate()\n")
    modes = run.facts.modes
    assert (modes.training_forwards, modes.training_in_eval) == (12, 8)
    assert (modes.training_in_eval_first, modes.training_in_eval_last) == (4, 11)
    assert run.at(modes.eval_called_at, "model.eval()")
    assert run.at(modes.training_forward_at, "# training")
    assert set(modes.layers_off) == {"1", "3"}


def test_validation_in_train_mode(script: WatchScript) -> None:
    run = script(START + "for epoch in range(4):\n    model.train()\n    train(3)\n    evaluate()\n")
    modes = run.facts.modes
    assert (modes.evaluation_passes, modes.evaluation_in_train) == (4, 4)
    assert run.at(modes.evaluation_forward_at, "# evaluation")
    assert set(modes.layers_off) == {"1", "3"}
    assert not modes.evaluation_repeats_input
    assert modes.inside_step == 0


def test_one_sensitive_layer_left_in_train_mode(script: WatchScript) -> None:
    run = script(START + "for epoch in range(3):\n    model.train(); train(3)\n    model.eval(); model[3].train()\n    evaluate()\n")
    assert run.facts.modes.evaluation_in_train == 3
    assert run.facts.modes.layers_off == ("3",)


def test_frozen_batch_norm_is_not_a_left_over_eval(script: WatchScript) -> None:
    run = script(START + "model.train(); model[1].eval()\ntrain(6)\n")
    assert run.facts.modes.training_in_eval == 0


def test_monte_carlo_dropout(script: WatchScript) -> None:
    run = script(START + "train(3)\nwith torch.no_grad():\n    draws = [model(x) for _ in range(20)]\ntrain(1)\n")
    assert run.facts.modes.evaluation_repeats_input


@pytest.mark.parametrize("steps", [4, 20])
def test_generator_under_no_grad_belongs_to_the_step(steps: int, script: WatchScript) -> None:
    run = script(
        f"""
        G = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
        D = nn.Sequential(nn.Linear(2, 8), nn.Dropout(0.3), nn.Linear(8, 1))
        opt_g, opt_d = torch.optim.Adam(G.parameters()), torch.optim.Adam(D.parameters())
        for step in range({steps}):
            opt_d.zero_grad()
            with torch.no_grad():
                fake = G(torch.randn(8, 3))
            (F.softplus(-D(torch.randn(8, 2))).mean() + F.softplus(D(fake)).mean()).backward()
            opt_d.step()
            opt_g.zero_grad()
            F.softplus(-D(G(torch.randn(8, 3)))).mean().backward()
            opt_g.step()
        """
    )
    modes = run.facts.modes
    assert (modes.evaluation_in_train, modes.inside_step) == (0, steps)


def test_a_target_network_is_not_evaluated(script: WatchScript) -> None:
    run = script(
        """
        import copy
        q = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Linear(8, 2))
        target = copy.deepcopy(q)
        optimizer = torch.optim.SGD(q.parameters(), lr=0.05)
        for step in range(12):
            with torch.no_grad():
                aim = target(torch.randn(16, 4)).max(1).values
            loss = F.smooth_l1_loss(q(torch.randn(16, 4))[:, 0], aim)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    )
    assert run.facts.modes.evaluation_in_train == 0


def test_update_bn_runs_in_train_mode_on_purpose(script: WatchScript) -> None:
    run = script(
        START
        + """
from torch.utils.data import DataLoader, TensorDataset
average = torch.optim.swa_utils.AveragedModel(model)
for epoch in range(3):
    train(3)
    average.update_parameters(model)
    torch.optim.swa_utils.update_bn(DataLoader(TensorDataset(x), batch_size=8), model)
"""
    )
    assert run.facts.modes.evaluation_in_train == 0


def test_a_model_without_sensitive_layers_has_no_modes(script: WatchScript) -> None:
    run = script(
        START.replace("nn.BatchNorm1d(8), ", "").replace("nn.Dropout(0.5)", "nn.Dropout(0.0)") + "train(3)\nevaluate()\nmodel.eval()\ntrain(3)\n"
    )
    modes = run.facts.modes
    assert (modes.sensitive, modes.training_in_eval, modes.evaluation_in_train) == ((), 0, 0)


def test_evaluation_without_no_grad(script: WatchScript) -> None:
    """Gradients on, no backward: still an evaluation pass, not training."""
    run = script(
        START
        + """
for epoch in range(3):
    model.train(); train(3)
    model.eval()
    for i in range(3):
        F.cross_entropy(model(x[:8]), y[:8])  # forgot no_grad
"""
    )
    assert run.facts.modes.training_in_eval == 0


LOADERS = """
from torch.utils.data import DataLoader, TensorDataset
model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
data = TensorDataset(torch.randn(64, 4), torch.randint(0, 3, (64,)))
train, held = DataLoader(data, batch_size=16), DataLoader(data, batch_size=32)
pairs = [(torch.randn(8, 4), torch.randint(0, 3, (8,)))] * 2
for epoch in range(3):
    for x, y in train:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        for x, y in EVALUATED:
            F.cross_entropy(model(x), y)
"""


@pytest.mark.parametrize(("evaluated", "training_data"), [("train", True), ("held", False), ("pairs", False)])
def test_whose_data_is_evaluated_in_train_mode(evaluated: str, training_data: bool, script: WatchScript) -> None:
    modes = script(LOADERS.replace("EVALUATED", evaluated)).facts.modes
    assert modes.evaluation_in_train == modes.evaluation_passes == 3
    assert modes.evaluation_on_training_data is training_data


AVERAGE = """
import copy
average = copy.deepcopy(model)
def follow():
    with torch.no_grad():
        for a, p in zip(average.parameters(), model.parameters()):
            a.lerp_(p, 0.1)
def evaluate_average():
    with torch.no_grad():
        return average(x[:8])  # of the copy
"""


@pytest.mark.parametrize(
    "evaluation",
    [
        "F.cross_entropy(evaluate_average(), y[:8])",  # scored
        "model.eval(); (evaluate_average().argmax(1) == y[:8]).sum()",  # eval() on the other one
        "model.eval(); evaluate(); evaluate(); F.cross_entropy(evaluate_average(), y[:8])",  # beside the trained model's own
    ],
)
def test_a_copy_is_evaluated_in_train_mode(evaluation: str, script: WatchScript) -> None:
    run = script(START + AVERAGE + f"for epoch in range(3):\n    model.train(); train(4); follow()\n    {evaluation}\n")
    modes = run.facts.modes
    assert (modes.evaluation_passes, modes.evaluation_in_train, modes.evaluation_of_copy) == (3, 3, True)
    assert run.at(modes.evaluation_forward_at, "# of the copy")


@pytest.mark.parametrize(
    "evaluation",
    [
        "average.eval(); F.cross_entropy(evaluate_average(), y[:8])",
        "labels = evaluate_average().argmax(1)",  # a teacher labels data for its student
    ],
)
def test_a_copy_that_is_in_eval_mode_or_teaches(evaluation: str, script: WatchScript) -> None:
    run = script(START + AVERAGE + f"for epoch in range(3):\n    model.train(); train(4); follow()\n    {evaluation}\n")
    assert (run.facts.modes.evaluation_in_train, run.facts.modes.evaluation_of_copy) == (0, False)


def test_a_mean_teacher_in_train_mode(script: WatchScript) -> None:
    run = script(
        START
        + AVERAGE
        + """
for step in range(12):
    with torch.no_grad():
        aim = average(x).softmax(1)
        F.cross_entropy(aim, y)  # how good the teacher is: printed
    out = model(x)
    loss = F.cross_entropy(out, y) + F.mse_loss(out.softmax(1), aim)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    follow()
"""
    )
    assert (run.facts.modes.evaluation_in_train, run.facts.modes.inside_step) == (0, 12)
