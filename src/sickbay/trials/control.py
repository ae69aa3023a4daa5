"""Where interventions take hold of the training process.

Their wrappers go around those of the session, so that the session sees, and the record tells of, the treated program. What an
intervention does by itself (`unseen`) is not the user's doing and is not told.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import torch

    from sickbay.observe.session import Session

Arguments = tuple[tuple[Any, ...], dict[str, Any]]
Call = Callable[..., Any]
UNKNOWN_TOTAL = 1000
"""Steps that a run of unknown length is taken to have where a share of them is asked for."""


class Control:
    """Of one process: what interventions may change."""

    def __init__(self, session: Session, total: int | None = None) -> None:
        self.session = session
        self.total = total or UNKNOWN_TOTAL
        """Steps that the untreated run made."""
        self.wrap = session.patches.wrap
        self._rates: list[Callable[[Any, float, int], float]] = []
        self._stepped: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    @contextmanager
    def unseen(self) -> Iterator[None]:
        """For what the user's script did not do."""
        import torch

        busy, self.session.busy = self.session.busy, True
        try:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                yield
        finally:
            self.session.busy = busy

    # -- updates ------------------------------------------------------------------------------------------------

    def before_step(self, act: Callable[[torch.optim.Optimizer], None]) -> None:
        """Before every update, and before the session looks at it."""
        from torch.optim import optimizer as module

        def hook(optimizer: Any, args: Any, kwargs: Any) -> None:
            act(optimizer)

        handle = module.register_optimizer_step_pre_hook(hook)
        hooks: Any = module._global_optimizer_pre_hooks
        hooks.move_to_end(handle.id, last=False)
        self.session.at_close(handle.remove)

    def after_step(self, act: Callable[[torch.optim.Optimizer], None]) -> None:
        from torch.optim import optimizer as module

        def hook(optimizer: Any, args: Any, kwargs: Any) -> None:
            act(optimizer)

        self.session.at_close(module.register_optimizer_step_post_hook(hook).remove)

    def rate(self, change: Callable[[Any, float, int], float]) -> None:
        """Use `change(group, rate, step)` in place of the learning rate, during the update alone: schedulers and scripts that set the rate
        themselves go on as they did, and the rate keeps its shape."""
        self._rates.append(change)
        if len(self._rates) > 1:
            return
        kept: dict[int, list[Any]] = {}

        def before(optimizer: Any) -> None:
            step = self._stepped.get(optimizer, 0)
            self._stepped[optimizer] = step + 1
            kept[id(optimizer)] = [group.get("lr") for group in optimizer.param_groups]
            for group in optimizer.param_groups:
                for each in self._rates if group.get("lr") is not None else ():
                    group["lr"] = each(group, group["lr"], step)

        def after(optimizer: Any) -> None:
            for group, lr in zip(optimizer.param_groups, kept.pop(id(optimizer), ()), strict=False):
                if lr is not None:
                    group["lr"] = lr

        self.before_step(before)
        self.after_step(after)

    def gradients_by_hand(self, factor: Callable[[int], float]) -> None:
        """For scripts without an optimizer, which update weights by hand: gradients are multiplied by `factor(step)` after each backward pass, which is the
        same as another learning rate."""
        import torch

        passes = 0

        def around(original: Call) -> Call:
            def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
                nonlocal passes
                result = original(tensors, *args, **kwargs)
                if not self.session.busy and not self.session.registry.optimizers and isinstance(tensors, torch.Tensor):
                    with self.unseen():
                        for leaf in leaves_of(tensors):
                            if leaf.grad is not None:
                                leaf.grad.mul_(factor(passes))
                    passes += 1
                return result

            return backward

        self.wrap(torch.autograd, "backward", around)

    # -- models, losses, batches --------------------------------------------------------------------------------

    def model_calls(self, around: Callable[[Call, torch.nn.Module, tuple[Any, ...], dict[str, Any]], Any]) -> None:
        """Around every call of a module that the script makes itself: `around(original, module, args, kwargs)`."""
        import torch

        criteria, is_compiling = torch.nn.modules.loss._Loss, torch.compiler.is_compiling
        inside = False

        def wrapper(original: Call) -> Call:
            def __call__(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
                nonlocal inside
                if inside or is_compiling() or self.session.busy or isinstance(module, criteria):
                    return original(module, *args, **kwargs)
                inside = True
                try:
                    return around(original, module, args, kwargs)
                finally:
                    inside = False

            return __call__

        self.wrap(torch.nn.Module, "__call__", wrapper)

    def before_first_step(self, act: Callable[[torch.nn.Module], None]) -> None:
        """On every model that the script calls in training before its first update, once."""
        import torch

        done: WeakKeyDictionary[torch.nn.Module, bool] = WeakKeyDictionary()

        def around(original: Call, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            if module not in done and torch.is_grad_enabled() and not self.session.optimizer_steps:
                done[module] = True
                act(module)
            return original(module, *args, **kwargs)

        self.model_calls(around)

    def loss_calls(self, change: Callable[..., tuple[Any, Any]], names: Sequence[str] = ()) -> None:
        """Before every call of one of torch's loss functions: `change(name, input, target, options)` gives input and target."""
        from torch.nn import functional as F

        from sickbay.observe.hooks import LOSSES

        inside = False

        def around(name: str) -> Callable[[Call], Call]:
            def wrapper(original: Call) -> Call:
                order = list(inspect.signature(original).parameters)

                def loss_function(*args: Any, **kwargs: Any) -> Any:
                    nonlocal inside
                    given, options = list(args[:2]), dict(zip(order[2:], args[2:], strict=False)) | kwargs
                    names = [k for k in ("input", "target") if k in options]
                    given += [options.pop(k) for k in names]
                    # While operations are followed, torch calls the (patched) function a second time from inside.
                    if inside or self.session.busy or len(given) != 2:
                        return original(*args, **kwargs)
                    inside = True
                    try:
                        first, second = change(name, *given, options)
                        return original(first, second, **options)
                    finally:
                        inside = False

                return loss_function

            return wrapper

        for name in names or LOSSES:
            self.wrap(F, name, around(name))

    def batches(self, change: Callable[[Any, Any], Any]) -> None:
        """On every batch, inside its loader: `change(iterator, batch)`."""
        module = importlib.import_module("torch.utils.data.dataloader")

        def around(original: Call) -> Call:
            def _next_data(iterator: Any) -> Any:
                return change(iterator, original(iterator))

            return _next_data

        for kind in (module._SingleProcessDataLoaderIter, module._MultiProcessingDataLoaderIter):
            self.wrap(kind, "_next_data", around)

    def optimizers(self) -> list[torch.optim.Optimizer]:
        """Those of the script that are alive."""
        return [o for entry in self.session.registry.optimizers if (o := entry.ref()) is not None]


def leaves_of(loss: Any) -> list[Any]:
    """The tensors that a backward pass of this loss reaches."""
    seen, todo, leaves = {loss.grad_fn}, [loss.grad_fn], []
    while todo:
        node = todo.pop()
        if (leaf := getattr(node, "variable", None)) is not None:
            leaves.append(leaf)
        for following, _ in getattr(node, "next_functions", ()):
            if following is not None and following not in seen:
                seen.add(following)
                todo.append(following)
    return leaves


def parameters_of(optimizer: Any) -> list[Any]:
    return [p for group in optimizer.param_groups for p in group["params"]]


def mapped(batch: Any, change: Callable[[Any], Any]) -> Any:
    """A batch of the same build (tuples, lists, mappings) with every tensor changed."""
    import torch

    if isinstance(batch, torch.Tensor):
        return change(batch)
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(mapped(x, change) for x in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(mapped(x, change) for x in batch)
    if isinstance(batch, dict):
        return {k: mapped(v, change) for k, v in batch.items()}
    return batch


def tensors_in(batch: Any) -> list[Any]:
    found: list[Any] = []
    mapped(batch, found.append)
    return found
