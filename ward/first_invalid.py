"""Finds the first value of a training script that is not finite, without sickbay: what the labels `operation` and `step` are checked against.

    python ward/first_invalid.py ward/820-tile-shapes/train.py

A dispatch mode looks at what every operation gives, forward and backward, and remembers which one made each value that is not finite. It is slow,
obvious, and shares nothing with the package. The script is ended at the first loss, gradient or weight that is not finite, with one line of JSON: the step
(optimizer steps before it), the operation as ATen calls it, the node of autograd in a backward pass, and the lines of the script, innermost first.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

EMPTY = frozenset("aten.empty aten.empty_like aten.new_empty aten.new_empty_strided aten.empty_strided aten.empty_permuted".split())
"""They give memory as it is."""


def broken(tensor: Any) -> bool:
    if not isinstance(tensor, torch.Tensor) or not tensor.numel() or tensor.layout != torch.strided or tensor.is_meta:
        return False
    return (tensor.is_floating_point() or tensor.is_complex()) and not bool(torch.isfinite(tensor).all())


def memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


class Search(TorchDispatchMode):
    """Which operation made each value that is not finite, since the last update."""

    def __init__(self, script: Path) -> None:
        super().__init__()
        self.script = script
        self.steps = 0
        self.made_by: dict[int, dict[str, Any]] = {}
        self.first_backward: dict[str, Any] | None = None
        self.looking = False

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        before = [] if self.looking else self._quietly(given)
        result = function(*args, **(kwargs or {}))
        name = str(function).rpartition(".")[0]
        if self.looking or name in EMPTY:
            return result
        outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)] + (given if function._schema.is_mutable else [])
        for tensor in self._quietly(outputs):
            known = next((self.made_by[memory(t)] for t in before if memory(t) in self.made_by), None)
            self.made_by[memory(tensor)] = known or self._origin(name)
        return result

    def _quietly(self, tensors: list[torch.Tensor]) -> list[torch.Tensor]:
        self.looking = True
        try:
            return [t for t in tensors if broken(t)]
        finally:
            self.looking = False

    def _origin(self, name: str) -> dict[str, Any]:
        node = torch._C._current_autograd_node()
        origin = {"operation": name.removeprefix("aten."), "node": node.name() if node is not None else None, "lines": list(self._lines(node))}
        if node is not None and self.first_backward is None:
            self.first_backward = origin
        return origin

    def _lines(self, node: Any) -> Iterator[int]:
        if node is not None:  # anomaly mode keeps where the forward pass was
            text = "".join(node.metadata.get("traceback_", []))
            yield from (int(n) for n in reversed(re.findall(rf'File "{re.escape(str(self.script))}", line (\d+)', text)))
            return
        frame = sys._getframe()
        while frame is not None:
            if frame.f_code.co_filename == str(self.script):
                yield frame.f_lineno
            frame = frame.f_back  # type: ignore[assignment]

    # -- the moments of a step ------------------------------------------------------------------------------------------

    def backward(self, tensors: Any) -> None:
        for tensor in self._quietly([t for t in tree_leaves(tensors) if isinstance(t, torch.Tensor)]):
            self.end("loss", self.made_by.get(memory(tensor)))

    def before_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        for tensor in self._quietly(gradients):
            self.end("gradient", self.made_by.get(memory(tensor)) or self.first_backward)

    def after_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        for tensor in self._quietly([p for group in optimizer.param_groups for p in group["params"]]):
            self.end("weight", self.made_by.get(memory(tensor)))
        self.steps += 1
        self.made_by.clear()
        self.first_backward = None

    def end(self, kind: str, origin: dict[str, Any] | None) -> None:
        sys.stdout.write(json.dumps({"kind": kind, "step": self.steps, **(origin or {})}) + "\n")
        sys.stdout.flush()
        os._exit(0)  # nothing after it is of interest


def main(script: Path, arguments: list[str]) -> None:
    search = Search(script)
    original = torch.autograd.backward

    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        search.backward(tensors)
        return original(tensors, *args, **kwargs)

    torch.autograd.backward = backward
    register_optimizer_step_pre_hook(search.before_step)
    register_optimizer_step_post_hook(search.after_step)
    torch.autograd.set_detect_anomaly(True, check_nan=False)
    sys.argv = [str(script), *arguments]
    sys.path.insert(0, str(script.parent))
    os.chdir(script.parent)
    with search:
        runpy.run_path(str(script), run_name="__main__")
    sys.stdout.write(json.dumps({"kind": None, "step": search.steps}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
