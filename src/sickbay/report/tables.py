"""Small tables of facts: optimizers, loaders, losses, environment, the run."""

from __future__ import annotations

from dataclasses import dataclass

from sickbay.facts import Head, Loader, Loss, Optimizer
from sickbay.record.reader import Record
from sickbay.report import words


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def optimizers(record: Record) -> Table:
    columns = ("optimizer", "learning rate", "weight decay", "momentum", "holds", "steps", "built at")
    return Table(columns, tuple(_optimizer(o, record.facts.run.cwd) for o in record.facts.optimizers[:20]))


def _optimizer(o: Optimizer, folder: str) -> tuple[str, ...]:
    def by_group(values: list[float | None]) -> str:
        known = list(dict.fromkeys(words.number(v) for v in values if v is not None))
        return ", ".join(known[:4]) + (", …" if len(known) > 4 else "")

    name = words.clean(o.kind) + (f" ({words.clean(o.variable)})" if o.variable else "")
    groups = words.count(len(o.groups), "group")
    return (
        name,
        by_group([g.lr for g in o.groups]),
        by_group([g.weight_decay for g in o.groups]),
        by_group([g.momentum for g in o.groups]),
        f"{words.count(len(o.parameters) or sum(g.parameters for g in o.groups), 'tensor')} in {groups}",
        f"{o.steps:,}",
        words.place(o.built_at, folder),
    )


def loaders(record: Record) -> Table:
    columns = ("loader", "data set", "samples", "batch", "order", "workers", "epochs", "built at")
    return Table(columns, tuple(_loader(x, record.facts.run.cwd) for x in record.facts.loaders[:20]))


def _loader(x: Loader, folder: str) -> tuple[str, ...]:
    order = "in sequence" if x.sequential else words.clean(x.sampler) or "unknown"
    batch = f"{x.batch_size or 'unknown'}" + (f" × {x.batches:,}" if x.batches else "")
    samples = f"{x.samples:,}" if x.samples is not None else "unknown"
    name = f"{words.clean(x.role)}" + (f" ({words.clean(x.variable)})" if x.variable else "")
    return (name, words.clean(x.dataset), samples, batch, order, str(x.workers), str(x.epochs), words.place(x.built_at, folder))


def losses(record: Record) -> Table:
    columns = ("loss", "made by", "prediction", "target", "backward passes", "backward at")
    return Table(columns, tuple(row for x in record.facts.losses[:20] for row in _loss(x, record.facts.run.cwd)))


def _loss(x: Loss, folder: str) -> list[tuple[str, ...]]:
    heads = x.heads[:4] or (Head(function=""),)
    name = words.clean(x.variable or f"loss {x.index + 1}")
    return [
        (
            name,
            words.clean(h.module or h.function) or "own code",
            _tensor(h.input_shape, h.input_dtype),
            _tensor(h.target_shape, h.target_dtype),
            f"{x.backwards:,}",
            words.place(x.backward_at, folder),
        )
        for h in heads
    ]


def _tensor(shape: tuple[int, ...], dtype: str) -> str:
    return f"{words.shape(shape)} {words.clean(dtype)}".strip() if shape or dtype else ""


def environment(record: Record) -> tuple[tuple[str, str], ...]:
    e = record.facts.environment
    ranks = f"{e.rank + 1} of {e.world_size}" if e.world_size > 1 else ""
    threads = str(e.threads) if e.threads else ""
    pairs = (
        ("device", e.device), ("torch", e.torch), ("python", e.python), ("numpy", e.numpy),
        ("sickbay", e.sickbay), ("system", e.platform), ("threads", threads), ("rank", ranks),
    )  # fmt: skip
    return tuple((k, words.clean(v)) for k, v in pairs if v)


def run_facts(record: Record) -> tuple[tuple[str, str], ...]:
    run = record.facts.run
    per_epoch = words.number(run.steps_per_epoch) if run.steps_per_epoch else ""
    pairs = (
        ("folder", run.cwd), ("arguments", " ".join(run.argv[1:])),
        ("forward passes", f"{run.forwards:,}"), ("backward passes", f"{run.backwards:,}"),
        ("steps per epoch", per_epoch), ("training time", words.duration(run.training_seconds) if run.training_seconds else ""),
        ("record", str(record.path) if record.path else ""),
    )  # fmt: skip
    return tuple((k, words.clean(v)) for k, v in pairs if v and v != "0")
