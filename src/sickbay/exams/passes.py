"""A model over the batches of a loader, for what it answers: nothing of the model, its mode, its weights or any random generator is different afterwards."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from sickbay.errors import UsageError
from sickbay.exams.randomness import Randomness

TARGETS = ("labels", "label", "targets", "target", "y")
"""Names under which a batch that is a dict holds its targets, in the order in which they are looked for."""
OUTPUTS = ("logits", "out", "predictions", "prediction")


@dataclass(slots=True)
class Answered:
    """One batch and what the model answered."""

    output: torch.Tensor
    target: torch.Tensor
    batch: Any
    columns: dict[str, Any]
    """What else the batch holds, by name (or by place in the tuple)."""


@contextmanager
def left_alone(model: Any, loader: Any) -> Iterator[None]:
    """In evaluation mode and without gradients; every module's own mode and all generators are put back."""
    modes = [(m, m.training) for m in model.modules()] if isinstance(model, torch.nn.Module) else []
    kept = Randomness.taken()
    generators = {
        id(g): g for holder in (loader, getattr(loader, "sampler", None)) if isinstance(g := getattr(holder, "generator", None), torch.Generator)
    }
    states = [(g, g.get_state()) for g in generators.values()]
    try:
        if isinstance(model, torch.nn.Module):
            model.eval()
        with torch.no_grad():  # not inference_mode: what a model caches there could not be trained with later
            yield
    finally:
        for module, training in modes:
            module.training = training
        kept.restore()
        for generator, state in states:
            generator.set_state(state)


def answers(model: Callable[..., Any], loader: Iterable[Any], *, reserved: Sequence[str] = ()) -> Iterator[Answered]:
    """Each batch with the model's answer. `reserved` columns of a batch are not for the model."""
    device = device_of(model)
    for batch in loader:
        inputs, named, target, columns = split(batch, model, reserved)
        output = model(*(moved(v, device) for v in inputs), **{k: moved(v, device) for k, v in named.items()})
        answer, aim = _tensor_of(output), torch.as_tensor(target).detach()
        if answer.dim() == 0 or aim.dim() == 0 or len(answer) != len(aim):
            raise UsageError(
                f"the model gives {tuple(answer.shape)} for targets of {tuple(aim.shape)}: one row per sample is expected of both. "
                "Give a model that returns its predictions, and a loader of (inputs, target)"
            )
        yield Answered(answer.detach(), aim, batch, columns)


def shuffles(loader: Any) -> bool:
    return type(getattr(loader, "sampler", None)).__name__ in ("RandomSampler", "WeightedRandomSampler", "SubsetRandomSampler")


def device_of(model: Any) -> torch.device:
    tensors = (t for group in (model.parameters(), model.buffers()) for t in group) if isinstance(model, torch.nn.Module) else iter(())
    return next((t.device for t in tensors), torch.device("cpu"))


def moved(value: Any, device: torch.device) -> Any:
    """Tensors in lists, tuples and dicts, to where the model is."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, Mapping):
        return {k: moved(v, device) for k, v in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(moved(v, device) for v in value)
    return value


def split(batch: Any, model: Any, reserved: Sequence[str] = ()) -> tuple[tuple[Any, ...], dict[str, Any], Any, dict[str, Any]]:
    """A batch as (inputs by place, inputs by name, target, other columns)."""
    if isinstance(batch, Mapping):
        return _split_dict(dict(batch), model, reserved)
    if isinstance(batch, (list, tuple)) and len(batch) >= 2:
        return _split_tuple(list(batch), model)
    raise UsageError(f"a batch is {_said(batch)}: expected (inputs, target) or a dict with one of {', '.join(TARGETS)}")


def _split_tuple(parts: list[Any], model: Any) -> tuple[tuple[Any, ...], dict[str, Any], Any, dict[str, Any]]:
    columns: dict[str, Any] = {}
    if len(parts) > 2 and isinstance(parts[-1], Mapping):
        columns = dict(parts.pop())
    fewest, most = _places(model)
    given = len(parts) - 1
    if given <= fewest or fewest == 0:
        inputs = given
    elif most == fewest:
        inputs = fewest  # what comes after the target describes the samples
    else:
        raise UsageError(
            f"a batch has {len(parts)} parts and the model takes {fewest} to {most} inputs: which part is the target cannot be told. "
            "Give a loader of (inputs, target), or of dicts"
        )
    columns |= {str(i): parts[i] for i in range(inputs + 1, len(parts))}
    return tuple(parts[:inputs]), {}, parts[inputs], columns


def _split_dict(batch: dict[Any, Any], model: Any, reserved: Sequence[str]) -> tuple[tuple[Any, ...], dict[str, Any], Any, dict[str, Any]]:
    aim = next((name for name in TARGETS if name in batch), None)
    if aim is None:
        raise UsageError(f"a batch has the keys {', '.join(map(str, batch))}: one of {', '.join(TARGETS)} is expected to hold the targets")
    others = {k: v for k, v in batch.items() if k != aim}
    names = _names(model)
    named = {k: v for k, v in others.items() if k in names and k not in reserved}
    if named:
        return (), named, batch[aim], {k: v for k, v in others.items() if k not in named}
    tensors = [k for k, v in others.items() if isinstance(v, torch.Tensor) and k not in reserved]
    if len(tensors) != 1:
        raise UsageError(
            f"a batch has the keys {', '.join(map(str, batch))}, and the model's arguments are {', '.join(names) or 'not named'}: "
            "which are its inputs cannot be told. Name them as the model's arguments are"
        )
    return (others.pop(tensors[0]),), {}, batch[aim], others


def _parameters(model: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model).parameters.values())
    except (TypeError, ValueError):
        return []


def _places(model: Any) -> tuple[int, float]:
    """How many inputs by place the model needs, and takes."""
    found = [p for p in _parameters(model) if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    fewest = sum(p.default is p.empty for p in found)
    return fewest, float("inf") if any(p.kind is p.VAR_POSITIONAL for p in _parameters(model)) else len(found)


def _names(model: Any) -> list[str]:
    return [p.name for p in _parameters(model) if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _tensor_of(output: Any) -> torch.Tensor:
    """The predictions in what a model returns."""
    if isinstance(output, torch.Tensor):
        return output
    for name in OUTPUTS:
        found = output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)
        if isinstance(found, torch.Tensor):
            return found
    if isinstance(output, (list, tuple)) and output and isinstance(output[0], torch.Tensor):
        return output[0]
    raise UsageError(f"the model returns {_said(output)}: expected a tensor, or something that holds one as {', '.join(OUTPUTS)}")


def _said(thing: Any) -> str:
    if isinstance(thing, (list, tuple)):
        return f"a {type(thing).__name__} of {len(thing)} ({', '.join(type(v).__name__ for v in thing[:4])})"
    return f"a tensor of {tuple(thing.shape)}" if isinstance(thing, torch.Tensor) else f"a {type(thing).__name__}"
