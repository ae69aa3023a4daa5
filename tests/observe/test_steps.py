"""What a step, an epoch and an evaluation are, in every kind of loop."""

from __future__ import annotations

import numpy as np
import pytest

from observe.conftest import WatchScript
from sickbay.observe import graph

LOADER = """
from torch.utils.data import DataLoader, TensorDataset
x, y = torch.randn(24, 4), torch.randint(0, 3, (24,))
train = DataLoader(TensorDataset(x, y), batch_size=8, shuffle=True, OPTIONS)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
"""
EPOCHS = """
for epoch in range(4):
    for a, b in train:
        optimizer.zero_grad()
        F.cross_entropy(model(a), b).backward()
        optimizer.step()
"""


@pytest.mark.parametrize("options", ["num_workers=0", "num_workers=2", "num_workers=1, persistent_workers=True"])
def test_epochs_of_a_loader(options: str, script: WatchScript) -> None:
    run = script((LOADER + EPOCHS).replace("OPTIONS", options))
    facts = run.facts.run
    assert (facts.steps, facts.backwards, facts.forwards, facts.epochs, facts.finished) == (12, 12, 12, 4, True)
    assert facts.steps_per_epoch == 3
    assert not facts.manual_updates
    np.testing.assert_array_equal(run.record.series("epoch").values, np.repeat(range(4), 3))
    assert run.facts.loaders[0].epochs == 4
    assert run.facts.loaders[0].workers == int(options.split(",")[0][-1])


def test_modules_that_make_samples_are_no_models(script: WatchScript) -> None:
    """torchvision's transforms are modules: each sample was taken for a forward pass, which made loading twice as slow."""
    run = script(
        """
        from torch.utils.data import DataLoader, Dataset
        class Scaled(nn.Module):
            def forward(self, x):
                return (x - 0.5) / 0.25
        class Data(Dataset):
            scale = nn.Sequential(Scaled(), nn.Identity())
            def __len__(self):
                return 24
            def __getitem__(self, i):
                return self.scale(torch.full((4,), i / 24)), i % 3
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for epoch in range(2):
            for a, b in DataLoader(Data(), batch_size=8):
                optimizer.zero_grad()
                F.cross_entropy(model(a), b).backward()
                optimizer.step()
        """
    )
    assert run.facts.run.forwards == run.facts.run.steps == 6
    assert [m.name for m in run.facts.models] == ["Linear"]


def test_validation_between_epochs_starts_no_epoch(script: WatchScript) -> None:
    run = script(
        (LOADER + EPOCHS).replace("OPTIONS", "")
        + """
    with torch.no_grad():
        for a, b in DataLoader(TensorDataset(x, y), batch_size=12):
            F.cross_entropy(model(a), b)
"""
    )
    assert run.facts.run.epochs == 4
    assert len(run.record.series("loss/eval")) == 4


def test_manual_batches_have_steps_but_no_epochs(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(7):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    )
    assert (run.facts.run.steps, run.facts.run.epochs) == (7, 0)
    np.testing.assert_array_equal(run.record.series("loss/train").steps, range(7))


def test_weights_updated_by_hand(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        losses, right = [], []
        for step in range(20):
            x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
            out = model(x)
            loss = F.cross_entropy(out, y)
            losses.append(loss.item())
            right.append((out.argmax(1) == y).float().mean().item())
            loss.backward()
            with torch.no_grad():
                for p in model.parameters():
                    p -= 0.05 * p.grad
            model.zero_grad()
        """
    )
    assert (run.facts.run.steps, run.facts.run.manual_updates) == (20, True)
    np.testing.assert_allclose(run.record.series("loss/train").values, run.names["losses"], rtol=1e-6)
    np.testing.assert_allclose(run.record.series("accuracy/train").values, run.names["right"], rtol=1e-6)
    assert run.loss.graph_reads >= 6  # not only the first
    assert {p.moved for p in run.facts.parameters} == {True}
    mean = run.record.family("activation_mean")
    np.testing.assert_array_equal(mean.steps, range(20))


def test_following_operations_ends_where_it_is_too_dear(script: WatchScript, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "FREE_SECONDS", 0.0)
    monkeypatch.setattr(graph, "BEARABLE", 0.0)
    run = script(
        """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(40):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    )
    assert run.loss.graph_reads == graph.EARLY_READS  # which are enough to know the structure
    assert run.facts.run.steps == 40 and {p.moved for p in run.facts.parameters} == {True}


def test_no_modules_and_no_optimizer(script: WatchScript) -> None:
    run = script(
        """
        w = torch.randn(4, 3, requires_grad=True)
        for step in range(20):
            x = torch.randn(8, 4)
            loss = ((x @ w).detach() - (x @ w)).pow(2).mean() + (x @ w).relu().mean()
            loss.backward()
            with torch.no_grad():
                w -= 0.1 * w.grad
                w.grad = None
        """
    )
    assert run.facts.run.steps == 20
    np.testing.assert_array_equal(run.record.series("loss/train").steps, range(20))
    assert run.loss.graph_reads >= 6
    assert "relu" in [op.name for op in run.loss.activations]


def test_an_optimizer_that_never_steps(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(40):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
        """
    )
    assert run.facts.optimizers[0].steps == 0
    assert run.facts.run.backwards == 40
    assert 20 < run.facts.run.steps <= 40
    assert not run.facts.run.manual_updates
    assert {p.moved for p in run.facts.parameters} == {False}


def test_accumulation_is_one_step_with_the_mean_loss(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        losses = []
        for i in range(12):
            loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
            losses.append(loss.item())
            loss.backward()
            if i % 4 == 3:
                optimizer.step()
                optimizer.zero_grad()
        """
    )
    assert run.facts.run.steps == 3
    np.testing.assert_allclose(run.record.series("loss/train").values, np.reshape(run.names["losses"], (3, 4)).mean(1), rtol=1e-5)
    np.testing.assert_array_equal(run.record.series("backwards").values, [4, 4, 4])
    assert run.facts.optimizers[0].backwards_per_step == 4


def test_closures(script: WatchScript) -> None:
    run = script(
        """
        x = torch.randn(20, 3)
        model = nn.Linear(3, 1)
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
            loss.backward()
            return loss
        for step in range(4):
            optimizer.step(closure)
        """
    )
    assert run.facts.run.steps == 4
    assert run.facts.optimizers[0].closure
    np.testing.assert_array_equal(run.record.series("grad_norm").steps, range(4))


def test_a_step_of_twenty_evaluations_is_one_step_with_the_loss_before_it(script: WatchScript) -> None:
    """Torch's own default: more evaluations than there are backward passes after which a script without an optimizer would be told apart."""
    run = script(
        """
        x = torch.linspace(-1, 1, 40)[:, None]
        model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.LBFGS(model.parameters(), tolerance_grad=0, tolerance_change=0)
        firsts = []
        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), torch.sin(3 * x))
            values.append(loss.item())
            loss.backward()
            return loss
        for step in range(4):
            values = []
            optimizer.step(closure)
            assert len(values) > 16
            firsts.append(values[0])
        """
    )
    assert run.facts.run.steps == 4
    assert run.facts.run.backwards > 64
    np.testing.assert_allclose(run.record.series("loss/train").values, run.names["firsts"], rtol=1e-6)


def test_all_of_training_in_one_step_of_a_closure_has_a_curve(script: WatchScript) -> None:
    run = script(
        """
        x = torch.linspace(-1, 1, 40)[:, None]
        model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = torch.optim.LBFGS(model.parameters(), max_iter=200, max_eval=200, tolerance_grad=0, tolerance_change=0)
        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), torch.sin(3 * x))
            loss.backward()
            return loss
        optimizer.step(closure)
        """
    )
    assert run.facts.run.steps > 100
    assert len(run.record.series("loss/train")) == run.facts.run.steps
    assert run.loss.heads[0].function == "mse_loss"


def test_several_losses_have_series_of_their_own(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        first, second = [], []
        for step in range(5):
            optimizer.zero_grad()
            a = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
            a.backward()
            b = model(torch.randn(8, 4)).pow(2).mean()
            b.backward()
            optimizer.step()
            first.append(a.item()); second.append(b.item())
        """
    )
    np.testing.assert_allclose(run.record.series("loss/train").values, run.names["first"], rtol=1e-6)
    np.testing.assert_allclose(run.record.series("loss/train@1").values, run.names["second"], rtol=1e-6)
    assert [run.at(loss.backward_at, text) for loss, text in zip(run.facts.losses, ("a.backward()", "b.backward()"), strict=True)] == [True, True]
    assert [loss.variable for loss in run.facts.losses] == ["a", "b"]
    assert [loss.optimizers for loss in run.facts.losses] == [(0,), (0,)]


def test_the_loss_is_told_as_the_user_scaled_it_before_the_scaler(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        losses = []
        for step in range(4):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        """
    )
    np.testing.assert_allclose(run.record.series("loss/train").values, run.names["losses"], rtol=1e-6)
    assert run.loss.heads[0].function == "cross_entropy"


def test_evaluations_are_told_apart_by_loader_and_by_caller(script: WatchScript) -> None:
    run = script(
        """
        from torch.utils.data import DataLoader, TensorDataset
        def data(n): return DataLoader(TensorDataset(torch.randn(n, 4), torch.randint(0, 3, (n,))), batch_size=10)
        train, valid, test = data(20), data(30), data(15)
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        def evaluate(loader):
            total = 0
            with torch.no_grad():
                for a, b in loader:
                    total += F.cross_entropy(model(a), b, reduction="sum").item()
            return total / len(loader.dataset)
        seen = {"valid": [], "test": []}
        for epoch in range(3):
            for a, b in train:
                optimizer.zero_grad()
                F.cross_entropy(model(a), b).backward()
                optimizer.step()
            seen["valid"].append(evaluate(valid))
            if epoch == 2:
                seen["test"].append(evaluate(test))
        """
    )
    assert [(e.loader, e.passes, e.samples) for e in run.facts.evaluations] == [(1, 3, 30), (2, 1, 15)]
    np.testing.assert_allclose(run.record.series("loss/eval").values, run.names["seen"]["valid"], rtol=1e-5)
    np.testing.assert_allclose(run.record.series("loss/eval@1").values, run.names["seen"]["test"], rtol=1e-5)
    assert all(run.at(e.place, 'reduction="sum"') for e in run.facts.evaluations)
    assert run.record.series("loss/eval").steps[-1] <= run.facts.run.steps


def test_manual_evaluations_are_told_apart_by_their_caller(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        sets = {k: (torch.randn(n, 4), torch.randint(0, 3, (n,))) for k, n in [("valid", 8), ("test", 6)]}
        @torch.no_grad()
        def evaluate(x, y):
            return F.cross_entropy(model(x), y).item()
        valid, test = [], []
        for step in range(4):
            optimizer.zero_grad()
            F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
            valid.append(evaluate(*sets["valid"]))
            test.append(evaluate(*sets["test"]))
        """
    )
    np.testing.assert_allclose(run.record.series("loss/eval").values, run.names["valid"], rtol=1e-5)
    np.testing.assert_allclose(run.record.series("loss/eval@1").values, run.names["test"], rtol=1e-5)


def test_evaluation_with_gradients_on(script: WatchScript) -> None:
    """Nobody wrote no_grad: what is not followed by backward is evaluation all the same."""
    run = script(
        """
        model = nn.Sequential(nn.Linear(4, 3), nn.Dropout(0.1))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        x, y = torch.randn(30, 4), torch.randint(0, 3, (30,))
        valid = []
        for epoch in range(4):
            model.train()
            for i in range(2):
                optimizer.zero_grad()
                F.cross_entropy(model(x), y).backward()
                optimizer.step()
            model.eval()
            total = 0.0
            for i in range(0, 30, 10):
                total += F.cross_entropy(model(x[i:i + 10]), y[i:i + 10]).item() / 3
            valid.append(total)
        """
    )
    seen = run.record.series("loss/eval")
    np.testing.assert_allclose(seen.values[:3], run.names["valid"][:3], rtol=1e-5)


def test_the_timeline_is_told_in_order(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
        for step in range(4):
            optimizer.zero_grad()
            out = model(torch.randn(8, 4))
            F.cross_entropy(out, torch.randint(0, 3, (8,))).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
        """
    )
    timeline = run.facts.timeline
    assert timeline.patterns[0].calls == ("scheduler", "zero_grad", "forward", "loss", "backward", "clip", "step")
    assert (timeline.patterns[0].count, timeline.patterns[0].first, timeline.patterns[0].last) == (3, 1, 3)
    assert timeline.patterns[1].calls == ("zero_grad", "forward", "loss", "backward", "clip", "step")
    assert timeline.counts == {"zero_grad": 4, "forward": 4, "loss": 4, "backward": 4, "clip": 4, "step": 4, "scheduler": 4}
    places = {"zero_grad": "optimizer.zero_grad()", "backward": ").backward()", "step": "optimizer.step()", "clip": "clip_grad_norm_"}
    for kind, text in (places | {"scheduler": "schedule.step()", "forward": "out = model"}).items():
        assert run.at(timeline.places[kind], text), kind
    np.testing.assert_allclose(run.record.series("lr").values, [0.05, 0.05, 0.005, 0.005], rtol=1e-5)


def test_the_terms_of_a_loss_are_no_evaluations(script: WatchScript) -> None:
    """Each is computed on a line of its own, with the model in either mode; all of them are in the graph that is differentiated."""
    run = script(
        """
        student, teacher = nn.Linear(4, 3), nn.Linear(4, 3).eval()
        optimizer = torch.optim.SGD(student.parameters(), lr=0.05)
        for step in range(6):
            x, y = torch.randn(30, 4), torch.randint(0, 3, (30,))
            out = student(x)
            hard = F.cross_entropy(out, y)
            with torch.no_grad():
                wanted = teacher(x).softmax(1)
            soft = F.kl_div(out.log_softmax(1), wanted, reduction="batchmean")
            optimizer.zero_grad()
            (0.3 * hard + 0.7 * soft).backward()
            optimizer.step()
        """
    )
    assert not run.record.series_like("loss/eval")
    assert not run.facts.evaluations


def test_a_loss_that_waits_for_the_second_backward_is_trained_on(script: WatchScript) -> None:
    run = script(
        """
        a, b = nn.Linear(4, 1), nn.Linear(4, 1)
        first, second = torch.optim.SGD(a.parameters(), lr=0.05), torch.optim.SGD(b.parameters(), lr=0.05)
        for step in range(6):
            x, y = torch.randn(30, 4), torch.randn(30, 1)
            of_b = F.mse_loss(b(x), y)
            of_a = F.l1_loss(a(x), y)
            first.zero_grad()
            of_a.backward()
            first.step()
            second.zero_grad()
            of_b.backward()
            second.step()
        """
    )
    assert not run.record.series_like("loss/eval")


def test_epochs_are_those_that_were_trained(script: WatchScript) -> None:
    """The training loader is gone through for evaluation, too."""
    run = script(
        """
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.randn(64, 4), torch.randn(64, 1)), batch_size=8, shuffle=True)
        for epoch in range(5):
            for x, y in loader:
                optimizer.zero_grad()
                F.mse_loss(model(x), y).backward()
                optimizer.step()
            with torch.no_grad():
                sum(F.mse_loss(model(x), y) for x, y in loader)
        """
    )
    assert run.facts.run.epochs == 5
    assert run.facts.run.steps_per_epoch == 8
    assert run.record.series("epoch").values.tolist() == [i // 8 for i in range(40)]


def test_a_metric_beside_the_loss_is_no_evaluation(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(6):
            x, y = torch.randn(30, 4), torch.randn(30, 1)
            out = model(x)
            loss = F.mse_loss(out, y)
            metric = F.l1_loss(out, y).item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        """
    )
    assert not run.record.series_like("loss/eval")


def test_what_was_an_evaluation_may_be_trained_on_later(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        def error():
            return F.mse_loss(model(torch.randn(30, 4)), torch.randn(30, 1))
        for step in range(12):
            F.l1_loss(model(torch.randn(30, 4)), torch.randn(30, 1)).backward()
            optimizer.step()
            optimizer.zero_grad()
            error()
        for step in range(12):
            error().backward()
            optimizer.step()
            optimizer.zero_grad()
        """
    )
    steps = run.record.series("loss/eval").steps
    assert len(steps) >= 10 and steps[-1] <= 12
