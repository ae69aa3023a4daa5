"""Runs a training script and writes a fingerprint of everything that training computed.

    python fingerprint.py OUT.json train.py [its arguments...]

The scoreboard runs this twice, plainly and under `sickbay run`, and compares: if watching changed one bit of one loss,
gradient or weight in any step, drew one random number of the script's, or changed one printed line, the two differ.
The same hooks are installed in both arms, so they cannot be the difference themselves.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.modules import module as module_hooks
from torch.optim import optimizer as optimizer_hooks


class Fingerprint:
    """Running digests. `registered` keeps every parameter and buffer, in the order in which modules took them."""

    def __init__(self) -> None:
        self.losses = hashlib.blake2b()
        self.updates = hashlib.blake2b()
        self.backwards = 0
        self.steps = 0
        self.inside = False
        self.registered: list[torch.Tensor] = []

    def install(self) -> None:
        original = torch.Tensor.backward

        def backward(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> None:
            # Under a torch function mode torch calls Tensor.backward once more from inside: that is the same backward.
            outermost, self.inside = not self.inside, True
            try:
                if outermost:
                    self.backwards += 1
                    add(self.losses, tensor)
                original(tensor, *args, **kwargs)
            finally:
                self.inside = not outermost

        torch.Tensor.backward = backward  # type: ignore[assignment,method-assign]
        optimizer_hooks.register_optimizer_step_post_hook(self._stepped)
        module_hooks.register_module_parameter_registration_hook(self._registered)
        module_hooks.register_module_buffer_registration_hook(self._registered)

    def _stepped(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        self.steps += 1
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                add(self.updates, parameter)
                if parameter.grad is not None:
                    add(self.updates, parameter.grad)

    def _registered(self, module: torch.nn.Module, name: str, tensor: torch.Tensor | None) -> None:
        if isinstance(tensor, torch.Tensor):
            self.registered.append(tensor)

    def result(self) -> dict[str, Any]:
        weights = hashlib.blake2b()
        for tensor in self.registered:
            add(weights, tensor)
        random_state = hashlib.blake2b()
        random_state.update(torch.get_rng_state().numpy().tobytes())
        random_state.update(repr(np.random.get_state(legacy=False)).encode())
        random_state.update(repr(random.getstate()).encode())
        return {
            "backwards": self.backwards,
            "steps": self.steps,
            "losses": self.losses.hexdigest(),
            "updates": self.updates.hexdigest(),
            "final weights": weights.hexdigest(),
            "random state": random_state.hexdigest(),
        }


def add(digest: Any, tensor: torch.Tensor) -> None:
    """Add the exact bytes of a tensor, whatever its type and layout."""
    tensor = tensor.detach()
    if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
        return
    if tensor.layout is not torch.strided:
        tensor = tensor.to_dense()
    digest.update(tensor.cpu().contiguous().reshape(-1).view(torch.uint8).numpy())


def main() -> None:
    out, script = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    # Scripts that do not seed themselves would differ from run to run on their own.
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    fingerprint = Fingerprint()
    fingerprint.install()
    atexit.register(lambda: out.write_text(json.dumps(fingerprint.result()), encoding="utf-8"))
    sys.argv = [str(script), *sys.argv[3:]]
    sys.path[0] = str(script.parent)
    # In the real __main__, so that the script's classes are found there by pickle and by loader workers.
    namespace = sys.modules["__main__"].__dict__
    namespace["__file__"] = str(script)
    exec(compile(script.read_text(encoding="utf-8"), str(script), "exec"), namespace)


if __name__ == "__main__":
    main()
