"""What people use now, driven as their own documentation says. Peers that aren't installed are skipped and named."""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import tempfile
import time
import warnings
from typing import Any

import torch
from torch import Tensor, nn

from bench.measure import Contestant
from bench.workloads import Workload


class Peer(Contestant):
    """A contestant that needs a package (or nothing but torch)."""

    package = ""

    def __init__(self, workload: Workload) -> None:
        self.model = workload.model
        self.optimizer = workload.optimizer


class ItemLogging(Peer):
    """The loop everybody writes: one `.item()` per parameter and step."""

    name = "per-parameter .item() of gradient norms"

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.logged: dict[str, float] = {}

    def after_step(self, loss: Tensor) -> None:
        self.logged["loss"] = loss.item()
        for name, parameter in self.model.named_parameters():
            if parameter.grad is not None:
                self.logged[name] = parameter.grad.norm().item()


class HookItems(Peer):
    """Forward hooks on every leaf module that take mean and standard deviation of the output."""

    name = "forward hooks with .item()"

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.logged: dict[str, tuple[float, float]] = {}
        self.handles: list[Any] = []

    def on(self) -> None:
        for name, module in self.model.named_modules():
            if not any(True for _ in module.children()):
                self.handles.append(module.register_forward_hook(self._hook(name)))

    def _hook(self, name: str) -> Any:
        def hook(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
            self.logged[name] = (output.mean().item(), output.std().item())

        return hook

    def off(self) -> None:
        while self.handles:
            self.handles.pop().remove()


class DetectAnomaly(Peer):
    """Autograd's own search for NaN."""

    name = "torch.autograd.set_detect_anomaly"

    def on(self) -> None:
        torch.autograd.set_detect_anomaly(True)

    def off(self) -> None:
        torch.autograd.set_detect_anomaly(False)


class WandbWatch(Peer):
    """Weights & Biases, offline: histograms of all gradients and parameters at every step."""

    name = 'wandb.watch(log="all", log_freq=1)'
    package = "wandb"
    drain_seconds = 0.5
    """Its service process still writes for a moment after a block; the plain block that follows must not pay for that."""

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.run: Any = None
        self.folder = ""

    def on(self) -> None:
        import wandb  # type: ignore[import-not-found,unused-ignore]

        if self.run is None:
            self.folder = tempfile.mkdtemp(prefix="sickbay-bench-wandb-")
            os.environ["WANDB_SILENT"] = "true"
            settings = wandb.Settings(console="off", silent=True)
            self.run = wandb.init(project="bench", mode="offline", dir=self.folder, settings=settings)
        self.run.watch(self.model, log="all", log_freq=1)

    def after_step(self, loss: Tensor) -> None:
        self.run.log({"loss": loss.item()})

    def off(self) -> None:
        if self.run is not None:
            self.run.unwatch(self.model)
            time.sleep(self.drain_seconds)

    def close(self) -> None:
        if self.run is not None:
            self.run.finish()
            shutil.rmtree(self.folder, ignore_errors=True)


class TorchMortem(Peer):
    """torchmortem's Autopsy with its default ("balanced") sampling. Its analysis at the end is not counted."""

    name = "torchmortem (balanced)"
    package = "torchmortem"

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.autopsy: Any = None

    def on(self) -> None:
        from torchmortem import Autopsy  # type: ignore[import-not-found,unused-ignore]

        logging.getLogger("torchmortem").setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", message="Full backward hook is firing")
        self.autopsy = Autopsy(self.model, optimizer=self.optimizer)
        self.autopsy.attach()

    def after_step(self, loss: Tensor) -> None:
        self.autopsy.step(loss=loss.item())

    def off(self) -> None:
        if self.autopsy is not None:
            self.autopsy.detach()


class TorchAudit(Peer):
    """torch-audit's zero-touch mode, auditing every step (its default of every 1,000th would see one step a block)."""

    name = "torch-audit autopatch(every_n_steps=1)"
    package = "torch_audit"

    def __init__(self, workload: Workload) -> None:
        super().__init__(workload)
        self.auditor: Any = None

    def on(self) -> None:
        from torch_audit import autopatch  # type: ignore[import-not-found,unused-ignore]

        self.auditor = autopatch(self.model, optimizer=self.optimizer, every_n_steps=1)

    def off(self) -> None:
        if self.auditor is not None:
            self.auditor.unpatch()


PEERS: tuple[type[Peer], ...] = (ItemLogging, HookItems, DetectAnomaly, WandbWatch, TorchMortem, TorchAudit)


def installed() -> list[type[Peer]]:
    return [peer for peer in PEERS if not peer.package or importlib.util.find_spec(peer.package)]


def missing() -> list[str]:
    """Packages that would be measured if they were there."""
    return [peer.package for peer in PEERS if peer.package and not importlib.util.find_spec(peer.package)]
