"""The page of `sickbay incident`."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from sickbay.facts import Incident, TensorKept
from sickbay.record.reader import Record
from sickbay.report import incident as told
from sickbay.report import words
from sickbay.report.excerpts import excerpt
from sickbay.report.terminal import Page, code

MARGIN = 10
TENSORS, CHAIN, SAMPLES = 8, 6, 12


def render(incident: Incident, description: Path, run: str, record: Record, console: Console) -> None:
    """The page of `sickbay incident`."""
    page = Page(console)
    page.line(("── incident " + "─" * (page.width - 12), "dim"))
    page.prose(f"{told.headline(incident)}{_circumstances(incident)}.", style="bold")
    if incident.message:
        page.prose(words.clean(incident.message.splitlines()[-1]), indent=MARGIN, label="Error")
    _first(page, incident, record)
    for bad in incident.data:
        page.prose(told.data(bad), indent=MARGIN, label="Data")
    page.line()
    _tensors(page, "Batch", incident.batch)
    if incident.batch and incident.inputs and incident.fed is None:
        page.prose("the newest that a loader gave; whether the model was given this one could not be seen", indent=MARGIN, style="dim")
    for given in incident.inputs:
        _tensors(page, "Inputs", given.tensors, words.clean(given.model))
    if incident.batch and incident.samples:
        page.prose(_samples(incident), indent=MARGIN, label="Samples")
    _parts(page, incident)
    page.line()
    _load(page, incident, run)
    page.line(("Tensors".ljust(MARGIN), "dim"), (words.here(description.with_name(incident.file)), "dim"))
    page.prose("They hold samples of your data and lie in this folder only: no report contains them.", indent=MARGIN, style="dim")
    page.line(("Next".ljust(MARGIN), "dim"), (f"sickbay replay {run}", "bold"))


def _circumstances(incident: Incident) -> str:
    script = Path(incident.script).name
    parts = [f" of {words.clean(script)}" if script else ""]
    if incident.epoch is not None:
        parts.append(f"epoch {incident.epoch}")
    if incident.rates:
        parts.append(f"learning rate {words.listing(words.number(r) for r in incident.rates[:4])}")
    return ", ".join(parts)


def _first(page: Page, incident: Incident, record: Record) -> None:
    first = incident.first
    if incident.kind == "crash":
        return
    origin = told.origin(first, incident.cwd) if first is not None else told.UNKNOWN
    if origin == told.UNKNOWN:
        origin += "; a replay follows every operation"
    page.prose(words.sentence(origin), indent=MARGIN, label="First")
    if first is None:
        return
    if first.place is not None and (shown := excerpt(first.place, record.sources, incident.cwd)) is not None:
        code(page, shown, MARGIN)
    if first.chain:
        names = [words.clean(op.name) for op in first.chain[:CHAIN]]
        page.prose(f"from there to the loss: {' → '.join(names)}", indent=MARGIN)


def _tensors(page: Page, label: str, tensors: tuple[TensorKept, ...], title: str = "") -> None:
    if not tensors:
        return
    names = [words.clean(t.name) for t in tensors[:TENSORS]]
    width = max(map(len, names))
    head = f"{title}  " if title else ""
    for i, (t, name) in enumerate(zip(tensors, names, strict=False)):
        lead = head if not i else " " * len(head)
        page.prose(f"{lead}{name.ljust(width)}  {told.tensor(t)}", indent=MARGIN, label="" if i else label, hang=MARGIN + 2)
    if len(tensors) > TENSORS:
        page.prose(f"and {len(tensors) - TENSORS} more", indent=MARGIN, style="dim")


def _samples(incident: Incident) -> str:
    shown = ", ".join(f"{i}" for i in incident.samples[:SAMPLES])
    return f"data set indices {shown}{', …' if len(incident.samples) > SAMPLES else ''}"


def _parts(page: Page, incident: Incident) -> None:
    for i, part in enumerate(incident.kept):
        page.prose(told.part_kept(part, incident), indent=MARGIN, label="" if i else "Kept", hang=MARGIN + 2)
    for i, missing in enumerate(incident.missing):
        page.prose(told.part_missing(missing), indent=MARGIN, label="" if i else "Missing", hang=MARGIN + 2, mark="yellow")


def _load(page: Page, incident: Incident, run: str) -> None:
    parts = {k.part for k in incident.kept}
    # The last model that can be loaded: what is called after it is a loss function.
    at = next((i for i in range(-1, -len(incident.inputs) - 1, -1) if not incident.inputs[i].stateless), -1)
    model = words.clean(incident.inputs[at].model) if incident.inputs else ""
    lines = [f'incident = sickbay.load_incident("{run}")']
    if "weights" in parts and model:
        strict = ", strict=False" if any(m.part == "weights" for m in incident.missing) else ""
        lines.append(f'model.load_state_dict(incident.weights["{model}"]{strict})')
    if "rng" in parts:
        lines.append('torch.set_rng_state(incident.rng["torch"])')
    if "inputs" in parts:
        lines += [f"call = incident.inputs[{at}]", 'output = model(*call["args"], **call["kwargs"])']
    elif "batch" in parts:
        lines.append("batch = incident.batch")
    for i, line in enumerate(lines):
        page.line(("" if i else "Load it").ljust(MARGIN), line)
