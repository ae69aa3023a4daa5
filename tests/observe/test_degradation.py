"""What can't be followed is said, and never in the way: compiled code, scripted code, the user's own modes, threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from observe.conftest import WatchScript
from observe.watched import Run, exact, watching
from sickbay.record.reader import read_record

Function = Callable[..., Run]


def loop(model: Callable[..., torch.Tensor], parameters: Any, steps: int = 5) -> list[float]:
    torch.manual_seed(1)
    optimizer = torch.optim.SGD(parameters, lr=0.05)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def net() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


@pytest.mark.filterwarnings("ignore:`torch.jit", "ignore:The .grad attribute")  # dynamo's own
@pytest.mark.parametrize("when", ["during", "before", "module method", "whole step"])
def test_compiled_models(when: str, tmp_path: Path) -> None:
    def compiled() -> tuple[nn.Module, Callable[..., Any]]:
        model = net()
        if when == "module method":
            model.compile(backend="eager")
            return model, model
        return model, torch.compile(model, backend="eager")

    def train(model: nn.Module, call: Callable[..., Any]) -> list[float]:
        if when != "whole step":
            return loop(call, model.parameters())

        @torch.compile(backend="eager")
        def loss_of(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return F.cross_entropy(model(x), y)

        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        losses = []
        for _ in range(4):
            optimizer.zero_grad()
            loss = loss_of(torch.ones(8, 4), torch.zeros(8, dtype=torch.long))
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    plain = train(*compiled())
    torch._dynamo.reset()
    early = compiled() if when == "before" else None
    path = tmp_path / "run.sickbay"
    with watching(path, exact()) as session:
        watched = train(*(early or compiled()))
        assert not [why for why in session.limits.values() if "failed" in why], session.limits
    torch._dynamo.reset()
    assert watched == plain
    record = read_record(path)
    np.testing.assert_allclose(record.series("loss/train").values, plain, rtol=1e-6)
    assert len(record.series("grad_norm")) == len(plain)
    assert any("compile" in limit.what for limit in record.facts.limits)
    assert {p.name for p in record.facts.parameters if p.optimizer == 0} == {"0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias"}


@pytest.mark.filterwarnings("ignore:`torch.jit", "ignore:The .grad attribute")
@pytest.mark.parametrize("way", ["compile", "module method", "graph break"])
@pytest.mark.parametrize("own", [True, False])
def test_the_same_graphs_are_compiled(way: str, own: bool, tmp_path: Path) -> None:
    """Not more (our frames), not fewer (no graph is broken by us), and none holds an operation of ours."""

    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 8), nn.Linear(8, 3)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = self.a(x)
            if way == "graph break":
                torch._dynamo.graph_break()
                F.mse_loss(x, x)
            return self.b(x.relu())

    def graphs() -> list[list[str]]:
        seen: list[list[str]] = []

        def backend(graph: Any, _: Any) -> Any:
            seen.append([str(node.target) for node in graph.graph.nodes])
            return graph.forward

        model = Own() if own else net()
        if way == "module method":
            model.compile(backend=backend)
            loop(model, model.parameters(), 3)
        else:
            loop(torch.compile(model, backend=backend), model.parameters(), 3)
        return seen

    plain = graphs()
    torch._dynamo.reset()
    with watching(tmp_path / "run.sickbay", exact()):
        assert graphs() == plain
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_scripted_model(function: Function) -> None:
    plain = loop(*(lambda m: (m, m.parameters()))(torch.jit.script(net())))
    run = function(lambda: loop(*(lambda m: (m, m.parameters()))(torch.jit.script(net()))))
    assert run.result == plain
    np.testing.assert_allclose(run.record.series("loss/train").values, plain, rtol=1e-6)
    assert not [limit for limit in run.facts.limits if "failed" in limit.why]


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Scripted:
    def __init__(self) -> None:
        self.offset = 1.0

    def call(self, x: torch.Tensor) -> torch.Tensor:
        return doubled(x) + self.offset


@pytest.mark.filterwarnings("ignore:`torch.jit")
@pytest.mark.parametrize("args", [(), (None,), (None, 0)], ids=["plain", "one argument", "frames counted"])
def test_a_scripted_class_finds_the_names_around_it(args: tuple[Any, ...], tmp_path: Path) -> None:
    """torch.distributed.optim is made of such classes: whoever imports it (ignite does) could not start."""
    with watching(tmp_path / "run.sickbay", exact()):
        made = torch.jit.script(Scripted, *args)
    assert made().call(torch.ones(1)).item() == 3.0


@pytest.mark.filterwarnings("ignore:`torch.jit")
def test_what_is_captured_holds_nothing_of_ours(tmp_path: Path) -> None:
    model, x = net().eval(), torch.randn(2, 4)
    with watching(tmp_path / "run.sickbay", exact()):
        loop(model, model.parameters(), 2)
        traced = torch.jit.trace(model, x)
        exported = torch.export.export(model, (x,))
        symbolic = torch.fx.symbolic_trace(model)
        assert torch.equal(symbolic(x), model(x))
    code = f"{traced.inlined_graph}{exported.graph_module.code}{symbolic.code}"
    assert "sickbay" not in code
    assert "detach" not in code


class Counting(torch.overrides.TorchFunctionMode):
    seen = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        Counting.seen += 1
        return func(*args, **(kwargs or {}))


def test_a_mode_of_the_users_own_held_open(function: Function) -> None:
    def train() -> list[float]:
        Counting.seen = 0
        model = net()
        with Counting():
            losses = loop(model, model.parameters())
            assert torch._C._len_torch_function_stack() == 1
        return [*losses, Counting.seen]

    plain = train()
    run = function(train)
    assert run.result == plain, "their mode sees our operations"
    assert any("function mode" in limit.why for limit in run.facts.limits)
    assert len(run.record.series("loss/train")) == 5
    assert run.loss.graph_reads == 0


def test_a_mode_opened_in_every_forward_pass(function: Function) -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = net()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with Counting():
                return self.inner(x)

    def train() -> list[float]:
        Counting.seen = 0
        model = Net()
        return [*loop(model, model.parameters()), Counting.seen]

    plain = train()
    assert function(train).result == plain


def test_a_dispatch_mode_of_the_users_own(function: Function) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    def train() -> tuple[list[float], int]:
        model = net()
        with FlopCounterMode(display=False) as counter:
            losses = loop(model, model.parameters())
        return losses, counter.get_total_flops()

    assert function(train).result == train()


def test_threads_that_use_torch_on_the_side(function: Function) -> None:
    """A thread that evaluates or prefetches while the main thread trains: it is left alone."""

    def train() -> list[float]:
        model, other = net(), net().eval()
        stop = threading.Event()
        errors: list[BaseException] = []

        def side() -> None:
            try:
                while not stop.is_set():
                    with torch.no_grad():
                        F.cross_entropy(other(torch.ones(4, 4)), torch.zeros(4, dtype=torch.long))
            except BaseException as e:
                errors.append(e)

        loop(model, model.parameters(), 1)
        thread = threading.Thread(target=side)
        thread.start()
        try:
            for _ in range(3):
                optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
                F.cross_entropy(model(torch.ones(8, 4)), torch.zeros(8, dtype=torch.long)).backward()
                optimizer.step()
        finally:
            stop.set()
            thread.join()
        assert not errors
        return [p.sum().item() for p in model.parameters()]

    plain = train()
    run = function(train)
    assert run.result == plain
    assert run.facts.run.steps == 4
    assert len(run.record.series("loss/eval")) == 0
    assert not [limit for limit in run.facts.limits if "failed" in limit.why]


def test_training_in_a_thread_is_seen(function: Function) -> None:
    def train() -> list[float]:
        result: list[float] = []
        model = net()
        thread = threading.Thread(target=lambda: result.extend(loop(model, model.parameters())))
        thread.start()
        thread.join()
        return result

    run = function(train)
    np.testing.assert_allclose(run.record.series("loss/train").values, run.result, rtol=1e-6)


def test_transforms_of_torch_func_are_a_limit(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        x, y = torch.randn(8, 4), torch.randint(0, 3, (8,))
        def loss_of(p):
            return F.cross_entropy(torch.func.functional_call(model, p, (x,)), y)
        for step in range(3):
            inner = {k: v - 0.1 * g for (k, v), g in zip(model.named_parameters(), torch.func.grad(loss_of)(dict(model.named_parameters())).values())}
            optimizer.zero_grad()
            loss_of(inner).backward()
            optimizer.step()
        """
    )
    assert any("torch.func" in limit.what for limit in run.facts.limits)
    assert not [limit for limit in run.facts.limits if "failed" in limit.why]
    assert len(run.record.series("loss/train")) == 3


def test_losses_that_are_not_single_numbers(script: WatchScript) -> None:
    run = script(
        """
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            out = model(torch.randn(8, 4))
            loss = F.cross_entropy(out, torch.randint(0, 3, (8,)), reduction="none")
            loss.backward(torch.ones(8) / 8)
            optimizer.step()
        mean = loss.mean().item()
        """
    )
    assert run.record.series("loss/train").values[-1] == pytest.approx(run.names["mean"], rel=1e-6)


def test_strange_objects_in_the_users_scope(script: WatchScript) -> None:
    """Proxies that raise, tensors without elements, modules without parameters, losses without targets."""
    run = script(
        """
        class Proxy:
            def __getattr__(self, name): raise RuntimeError("working outside of context")
            def __eq__(self, other): raise RuntimeError("no")
            @property
            def __class__(self): raise RuntimeError("working outside of context")
            __hash__ = None
        request, empty, nothing = Proxy(), torch.zeros(0, 3), nn.Identity()
        model = nn.Linear(4, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        for step in range(3):
            optimizer.zero_grad()
            nothing(empty)
            F.cross_entropy(model(nothing(torch.randn(8, 4))), torch.randint(0, 3, (8,))).backward()
            optimizer.step()
        """
    )
    assert not [limit for limit in run.facts.limits if "failed" in limit.why], run.facts.limits
    assert run.facts.run.steps == 3
