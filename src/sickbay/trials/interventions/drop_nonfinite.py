"""Samples that hold NaN or infinity are left out."""

from __future__ import annotations

from typing import Any

from sickbay.trials.control import Call, Control, mapped, tensors_in
from sickbay.trials.registry import intervention


@intervention("leave samples with NaN or infinity out of every batch", label="samples with NaN left out")
def drop_nonfinite(control: Control) -> None:
    import torch

    def cleaned(iterator: Any, batch: Any) -> Any:
        rows = _finite_rows(tensors_in(batch))
        if rows is None or bool(rows.all()) or not bool(rows.any()):
            return batch
        return mapped(batch, lambda t: t[rows] if t.dim() and t.shape[0] == len(rows) else t)

    def at_the_door(original: Call, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Scripts without a loader: what enters the model is mended, since its rows belong to targets that are not seen here."""
        mended = tuple(torch.nan_to_num(a, 0.0, 0.0, 0.0) if _broken(a) else a for a in args)
        return original(module, *mended, **kwargs)

    def at_the_loss(name: str, given: Any, target: Any, options: dict[str, Any]) -> tuple[Any, Any]:
        if not _broken(target) or not isinstance(given, torch.Tensor) or given.shape[:1] != target.shape[:1]:
            return given, target
        rows = _finite_rows([target])
        return (given[rows], target[rows]) if rows is not None and bool(rows.any()) else (given, target)

    control.batches(cleaned)
    control.model_calls(at_the_door)
    control.loss_calls(at_the_loss)


def _broken(value: Any) -> bool:
    import torch

    return isinstance(value, torch.Tensor) and value.is_floating_point() and not value.requires_grad and not bool(torch.isfinite(value).all())


def _finite_rows(tensors: list[Any]) -> Any:
    import torch

    floats = [t for t in tensors if t.dim() and t.is_floating_point()]
    if not floats:
        return None
    rows = torch.ones(floats[0].shape[0], dtype=torch.bool)
    for t in floats:
        if t.shape[0] == len(rows):
            rows &= torch.isfinite(t).flatten(1).all(1).cpu() if t.dim() > 1 else torch.isfinite(t).cpu()
    return rows
