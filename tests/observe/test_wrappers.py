"""Every wrapper takes what the original takes, in every way of calling it, and gives back what it gives."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from observe.watched import exact, watching
from sickbay.observe.hooks import LOSSES


def model_with_gradients() -> nn.Linear:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    (10 * model(torch.ones(4, 3))).pow(2).sum().backward()
    return model


def clip(call: Callable[[nn.Linear], Any]) -> Callable[[], list[Any]]:
    def run() -> list[Any]:
        model = model_with_gradients()
        given = call(model)
        return [None if given is None else given.item(), *(p.grad.tolist() for p in model.parameters() if p.grad is not None)]

    return run


def backward(call: Callable[[torch.Tensor], Any]) -> Callable[[], list[Any]]:
    def run() -> list[Any]:
        w = torch.ones(3, requires_grad=True)
        result = call(w)
        return [w.grad.tolist() if w.grad is not None else None, [r.tolist() for r in result] if isinstance(result, tuple) else result]

    return run


def plateau() -> float:
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
    for _ in range(3):
        schedule.step(metrics=1.0)
    schedule.step(2.0)
    return float(optimizer.param_groups[0]["lr"])


def sequential_schedule() -> list[float]:
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    parts = [torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=2), torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)]
    schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, parts, milestones=[2])
    rates = []
    for _ in range(4):
        optimizer.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    return rates


def loading() -> list[Any]:
    model = nn.Linear(2, 2)
    state = {k: torch.ones_like(v) for k, v in model.state_dict().items()}
    result = model.load_state_dict(state_dict={**state, "extra": torch.ones(1)}, strict=False)
    return [list(result.unexpected_keys), model.weight.tolist()]


def closure() -> float:
    w = torch.tensor([3.0], requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)

    def once() -> torch.Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = (w**2).sum()
        loss.backward()
        return loss

    return [optimizer.step(closure=once).item(), optimizer.step(once).item(), w.item()]  # type: ignore[return-value]


def modes() -> list[bool]:
    model = nn.Sequential(nn.Dropout(), nn.Linear(1, 1))
    return [model.train(mode=False).training, model.train(True)[0].training, model.eval() is model, model.train() is model]


def loader() -> list[Any]:
    data = TensorDataset(torch.arange(5))
    batches = DataLoader(dataset=data, batch_size=2, drop_last=True)
    return [[b.tolist() for (b,) in batches], len(batches), next(iter(batches))[0].tolist(), len(list(zip(batches, batches, strict=True)))]


X, Y = torch.linspace(0.1, 0.9, 6).reshape(2, 3), torch.linspace(0.2, 0.7, 6).reshape(2, 3)
CALLS: dict[str, Callable[[], Any]] = {
    "clip_grad_norm_ by position": clip(lambda m: nn.utils.clip_grad_norm_(m.parameters(), 1.0)),
    "clip_grad_norm_ by name": clip(lambda m: nn.utils.clip_grad_norm_(m.parameters(), max_norm=1.0, norm_type=1.0)),
    "clip_grad_norm_ all by name": clip(lambda m: nn.utils.clip_grad_norm_(parameters=m.parameters(), max_norm=1.0, error_if_nonfinite=True)),
    "clip_grad_norm_ from its own module": clip(lambda m: nn.utils.clip_grad.clip_grad_norm_(m.weight, max_norm=0.5, foreach=False)),
    "clip_grad_value_": clip(lambda m: nn.utils.clip_grad_value_(m.parameters(), clip_value=0.1)),
    "clip_grad_value_ by position": clip(lambda m: nn.utils.clip_grad_value_(list(m.parameters()), 0.1)),
    "backward": backward(lambda w: (w * 2).sum().backward()),
    "backward with everything": backward(lambda w: (w * 2).backward(gradient=torch.ones(3), retain_graph=True, create_graph=False, inputs=[w])),
    "autograd.backward of a list": backward(lambda w: torch.autograd.backward([(w * 2).sum(), (w**2).sum()])),
    "autograd.backward by name": backward(lambda w: torch.autograd.backward(tensors=(w * 2,), grad_tensors=(torch.ones(3),))),
    "autograd.backward of a generator": backward(lambda w: torch.autograd.backward((w * i).sum() for i in range(3))),
    "autograd.grad": backward(lambda w: torch.autograd.grad((w**3).sum(), w)),
    "autograd.grad by name": backward(lambda w: torch.autograd.grad(outputs=[(w**3).sum()], inputs=[w], allow_unused=True)),
    "a schedule of metrics": plateau,
    "a schedule of schedules": sequential_schedule,
    "load_state_dict": loading,
    "closures": closure,
    "modes": modes,
    "loader": loader,
    **{
        f"{name} by name": lambda name=name: getattr(F, name)(input=X, target=Y).item()
        for name in ("mse_loss", "l1_loss", "huber_loss", "binary_cross_entropy")
    },
    "cross_entropy by position": lambda: F.cross_entropy(X, torch.tensor([0, 2]), torch.ones(3), None, -100, None, "sum", 0.1).item(),
    "gaussian_nll_loss": lambda: F.gaussian_nll_loss(X, Y, torch.ones(2, 3), full=True).item(),
    "GradScaler.scale": lambda: [t.item() for t in torch.amp.GradScaler("cpu", init_scale=4.0).scale(outputs=[torch.ones(()), torch.zeros(())])],  # type: ignore[list-item]
    "Module.__call__ with keywords": lambda: nn.Bilinear(2, 2, 1).apply(lambda m: None)(input1=torch.zeros(1, 2), input2=torch.zeros(1, 2)).shape,
}


@pytest.mark.parametrize("name", CALLS)
def test_called_in_every_way(name: str, tmp_path: Path) -> None:
    plain = CALLS[name]()
    with watching(tmp_path / "run.sickbay", exact()) as session:
        assert CALLS[name]() == plain
        assert not [why for why in session.limits.values() if "failed" in why]


def hooked() -> Iterator[tuple[str, Any]]:
    owners: list[tuple[Any, tuple[str, ...]]] = [
        (F, LOSSES),
        (nn.Module, ("__init__", "train", "load_state_dict", "zero_grad", "compile")),
        (torch.autograd, ("backward", "grad")),
        (torch.optim.Optimizer, ("__init__", "zero_grad")),
        (torch.optim.lr_scheduler.StepLR, ("step",)),
        (torch.amp.GradScaler, ("scale",)),
        (nn.utils, ("clip_grad_norm_", "clip_grad_value_")),
        (DataLoader, ("__init__",)),
        (torch, ("compile",)),
        (torch.jit, ("script", "trace")),
    ]
    for owner, names in owners:
        for name in names:
            yield f"{getattr(owner, '__name__', owner)}.{name}", getattr(owner, name)


def test_signatures_names_and_documentation_are_the_originals(tmp_path: Path) -> None:
    before = {name: (inspect.signature(f), f.__name__, f.__doc__, f.__module__, f.__qualname__) for name, f in hooked()}
    with watching(tmp_path / "run.sickbay", exact()):
        after = {name: (inspect.signature(f), f.__name__, f.__doc__, f.__module__, f.__qualname__) for name, f in hooked()}
    assert after == before


def test_exceptions_of_the_original_come_through(tmp_path: Path) -> None:
    with watching(tmp_path / "run.sickbay", exact()) as session:
        model = nn.Linear(2, 1)
        with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
            model(torch.ones(1, 3))
        with pytest.raises(TypeError):
            nn.utils.clip_grad_norm_(model.parameters())  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            F.cross_entropy(torch.ones(1, 2))  # type: ignore[call-arg]
        with pytest.raises(RuntimeError, match="does not require grad"):
            torch.ones(1).backward()
        with pytest.raises(ValueError, match="empty parameter list"):
            torch.optim.SGD([], lr=0.1)
        # Everything still works: nothing of ours is stuck half-way.
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        F.mse_loss(model(torch.ones(1, 2)), torch.ones(1, 1)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        assert session.step == 1
        assert session.pulse == {}
        assert not session.limits
        assert not session.registry.stack
