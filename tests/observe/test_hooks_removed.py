"""Nothing of ours is left: not in torch after the session, not in what the user copies or saves during it."""

from __future__ import annotations

import copy
import importlib
import io
import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sickbay
from observe.watched import exact, watching
from sickbay.errors import UsageError
from sickbay.observe.hooks import LOSSES
from sickbay.observe.places import OWN
from sickbay.observe.session import Session
from sickbay.record.reader import read_record
from sickbay.settings import Settings


def state_of_torch() -> dict[str, Any]:
    """Everything that a hook could be in: each attribute of the places that we reach into, by identity."""
    dataloader = importlib.import_module("torch.utils.data.dataloader")
    optimizer = importlib.import_module("torch.optim.optimizer")
    schedulers = importlib.import_module("torch.optim.lr_scheduler")
    owners = [
        nn.Module, nn.Sequential, nn.Linear, nn.modules.module, nn.utils, nn.utils.clip_grad, F, torch, torch.autograd, torch.jit, torch.export,
        torch.Tensor, torch.optim, optimizer, optimizer.Optimizer, torch.optim.Adam, torch.optim.LBFGS, torch.amp.GradScaler, schedulers,
        *(v for v in vars(schedulers).values() if isinstance(v, type)),
        dataloader, dataloader.DataLoader, dataloader._BaseDataLoaderIter, dataloader._SingleProcessDataLoaderIter,
        dataloader._MultiProcessingDataLoaderIter, os, warnings,
    ]  # fmt: skip
    state = {f"{owner!r}.{name}": value for owner in owners for name, value in vars(owner).items() if callable(value) or isinstance(value, property)}
    for name in vars(nn.modules.module):
        if name.startswith("_global") and isinstance(hooks := getattr(nn.modules.module, name), dict):
            state[f"global {name}"] = tuple(hooks)
    state["optimizer hooks"] = (tuple(optimizer._global_optimizer_pre_hooks), tuple(optimizer._global_optimizer_post_hooks))
    state["function modes"] = torch._C._len_torch_function_stack()
    state["dispatch modes"] = torch._C._len_torch_dispatch_stack()
    state["excepthook"] = sys.excepthook
    state["anomaly"] = torch.is_anomaly_enabled()
    return state


def same(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [k for k in before.keys() | after.keys() if before.get(k) is not after.get(k) and before.get(k) != after.get(k)]


def train(steps: int = 3) -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(0.1), nn.Linear(6, 2))
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=10)
    loader = DataLoader(TensorDataset(torch.randn(4 * steps, 4), torch.randint(0, 2, (4 * steps,))), batch_size=4)
    for x, y in loader:
        optimizer.zero_grad()
        nn.CrossEntropyLoss()(model(x), y).backward()
        optimizer.step()
        schedule.step()
    return model


def test_a_session_leaves_torch_as_it_was(tmp_path: Path) -> None:
    train()  # torch itself wraps each optimizer class at its first use
    before = state_of_torch()
    with watching(tmp_path / "a.sickbay", exact()):
        changed = same(before, state_of_torch())
        train()
    assert same(before, state_of_torch()) == []
    for name in ("__call__", "__init__", "train", "zero_grad", "load_state_dict", *LOSSES):
        assert any(key.endswith("." + name) for key in changed), f"{name} was not hooked at all"
    with watching(tmp_path / "b.sickbay", exact()):
        train()
    assert same(before, state_of_torch()) == []


@pytest.mark.parametrize("where", ["forward", "loss", "backward", "step", "loader", "between", "before anything"])
def test_watch_leaves_torch_as_it_was_after_an_exception(where: str, tmp_path: Path) -> None:
    before = state_of_torch()

    class Bomb(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if where == "forward":
                raise RuntimeError("boom")
            return x

    class Data(torch.utils.data.Dataset):  # type: ignore[type-arg]
        def __len__(self) -> int:
            return 8

        def __getitem__(self, i: int) -> tuple[torch.Tensor, int]:
            if where == "loader" and i == 6:
                raise RuntimeError("boom")
            return torch.randn(3), i % 2

    def detonate(*_: Any) -> Any:
        raise RuntimeError("boom")

    with pytest.raises((RuntimeError, ValueError, AttributeError)) as raised, sickbay.watch(folder=tmp_path) as patient:
        if where == "before anything":
            detonate()
        model = nn.Sequential(nn.Linear(3, 2), Bomb())
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in DataLoader(Data(), batch_size=2):
            loss = F.cross_entropy(model(x), y if where != "loss" else y.float().reshape(1, 2, 1))
            if where == "backward":
                loss.register_hook(detonate)
            loss.backward()
            if where == "step":
                optimizer.param_groups[0]["params"] = [3]
            optimizer.step()
            if where == "between":
                detonate()
    assert same(before, state_of_torch()) == []
    del raised
    if where != "before anything":
        crash = patient.record.facts.crash
        assert crash is not None
        assert crash.place is not None
        assert crash.place.file == __file__


def test_watch_inside_watch_is_refused_and_harmless(tmp_path: Path) -> None:
    before = state_of_torch()
    with sickbay.watch(folder=tmp_path) as patient:
        with pytest.raises(UsageError, match="already being watched"), sickbay.watch(folder=tmp_path):
            pass
        train()
    assert patient.record.facts.run.steps == 3
    assert same(before, state_of_torch()) == []


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    with watching(tmp_path / "a.sickbay", exact()) as session:
        train()
        session.close()
        assert not hasattr(nn.Module.__call__, "__wrapped__")
    assert read_record(tmp_path / "a.sickbay").facts.run.finished


def test_a_session_that_sees_nothing_leaves_no_file(tmp_path: Path) -> None:
    with watching(tmp_path / "a.sickbay", exact()):
        torch.randn(3).sum()
        nn.Linear(2, 2)
    assert list(tmp_path.iterdir()) == []


def test_a_users_mode_opened_above_ours_survives_the_session(tmp_path: Path) -> None:
    """Ours lies below it and can't be taken out: it falls silent, and goes when it is on top again."""

    class Mine(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*args, **(kwargs or {}))

    with watching(tmp_path / "a.sickbay", exact()) as session:
        train(2)
        assert torch._C._len_torch_function_stack() == 1  # ours: the next step is to be followed
        mode = Mine()
        mode.__enter__()
        session.close()
        assert session.trace is not None
        seen = session.trace.seen
        torch.ones(3) * 2
        assert session.trace.seen == seen
        assert torch._C._get_function_stack_at(torch._C._len_torch_function_stack() - 1) is mode
        mode.__exit__(None, None, None)
    while torch._C._len_torch_function_stack():
        torch._C._pop_torch_function_stack()


# -- what the user copies and saves -------------------------------------------------------------------------------


class Named(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)


def watched_things(tmp_path: Path) -> dict[str, Any]:
    """A model, optimizer, scheduler, loader and loss, used under a session that still goes on."""
    model = Named()
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    loader = DataLoader(TensorDataset(torch.randn(8, 4), torch.randint(0, 2, (8,))), batch_size=4)
    for x, y in loader:
        optimizer.zero_grad()
        loss = model.criterion(model(x), y)
        loss.backward()
        optimizer.step()
        schedule.step()
    model(torch.randn(2, 4))
    return {"model": model, "optimizer": optimizer, "schedule": schedule, "loader": loader, "parameter": model.body[0].weight}


def test_copies_and_pickles_hold_nothing_of_ours(tmp_path: Path) -> None:
    with watching(tmp_path / "run.sickbay", exact()) as session:
        assert session.tracing or not session.off
        things = watched_things(tmp_path)
        for name, thing in things.items():
            twin = copy.deepcopy(thing)
            assert type(twin) is type(thing)
            for text in (pickle.dumps(thing), pickle.dumps(twin)):
                assert b"sickbay" not in text, name
                pickle.loads(text)
        saved = io.BytesIO()
        torch.save(things["model"], saved)
        assert b"sickbay" not in saved.getvalue()
        assert not [k for k in vars(things["model"]) if "sickbay" in k or k.startswith("_sb")]
        for module in things["model"].modules():
            hooks = [v for k, v in vars(module).items() if "hook" in k and isinstance(v, dict)]
            assert not any(hooks)


def test_a_model_saved_during_a_session_loads_without_sickbay(tmp_path: Path) -> None:
    (tmp_path / "mymodel.py").write_text(
        "from torch import nn\n\n\nclass Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.body = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))\n\n    def forward(self, x):\n        return self.body(x)\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        from mymodel import Net  # type: ignore[import-not-found]

        with watching(tmp_path / "run.sickbay", exact()):
            model = Net()
            optimizer = torch.optim.Adam(model.parameters())
            for _ in range(2):
                F.cross_entropy(model(torch.randn(4, 4)), torch.tensor([0, 1, 0, 1])).backward()
                optimizer.step()
            torch.save({"whole": model, "state": model.state_dict(), "optimizer": optimizer, "of": optimizer.state_dict()}, tmp_path / "model.pt")
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("mymodel", None)
    load = (
        "import sys, torch\n"
        "sys.modules['sickbay'] = None  # importing it is an error from here, wherever it is installed\n"
        "saved = torch.load('model.pt', weights_only=False)\n"
        "print(saved['whole'](torch.ones(1, 4)).tolist())\n"
        "saved['optimizer'].step()\n"
    )
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "SICKBAY"))} | {"OMP_NUM_THREADS": "1"}
    child = subprocess.run([sys.executable, "-c", load], cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=120, check=False)
    assert child.returncode == 0, child.stderr
    assert eval(child.stdout) == model(torch.ones(1, 4)).tolist()


@pytest.mark.parametrize("settings", [exact(), exact(detail_steps=3, budget=0)], ids=["while followed", "after the last followed step"])
def test_the_users_objects_die_when_the_user_lets_go(settings: Settings, tmp_path: Path) -> None:
    """We keep nobody's model, optimizer or batch alive."""
    import gc
    import weakref

    with watching(tmp_path / "run.sickbay", settings):
        things = watched_things(tmp_path)
        batch = torch.randn(5, 4)
        things["model"](batch)
        refs = {name: weakref.ref(thing) for name, thing in things.items()}
        things["optimizer"].zero_grad()
        F.cross_entropy(things["model"](batch), torch.zeros(5, dtype=torch.long)).backward()
        things["optimizer"].step()
        refs["batch"] = weakref.ref(batch)
        del things, batch
        gc.collect()
        alive = [name for name, ref in refs.items() if ref() is not None]
    assert alive == []


def test_the_frames_of_ours_are_recognised() -> None:
    assert Session.fire.__code__.co_filename.startswith(OWN)
