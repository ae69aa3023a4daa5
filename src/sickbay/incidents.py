"""Incidents: found in a run's folder, described without torch, and loaded with it.

incident = sickbay.load_incident("last")
model.load_state_dict(incident.weights["Net"])
torch.set_rng_state(incident.rng["torch"])
call = incident.inputs[-1]
model(*call["args"], **call["kwargs"])
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sickbay.errors import NotARecord, RecordNotFound, UsageError
from sickbay.facts import Incident, PartMissing
from sickbay.record.incident import DESCRIPTION, TENSORS, description_beside
from sickbay.record.incident_reader import descriptions_in, read_description, tensors_of, unfinished_in
from sickbay.record.schema import SUFFIX


@dataclass(frozen=True, slots=True, repr=False)
class LoadedIncident:
    """What was kept of the first step of a run with a value that was not finite."""

    description: Incident
    batch: Any
    """What the loader gave, in the shape it gave it; None if there was no loader."""
    inputs: list[dict[str, Any]]
    """The calls of models in that step, oldest first: {"model": name, "args": tuple, "kwargs": dict}."""
    weights: dict[str, dict[str, Any]]
    """A state dict for each model, by its name."""
    optimizer: list[dict[str, Any]]
    """A state dict for each optimizer."""
    rng: dict[str, Any]
    """For torch.set_rng_state, numpy.random.set_state, random.setstate and torch.cuda.set_rng_state_all: "torch", "numpy", "python", "cuda"."""

    @property
    def missing(self) -> tuple[PartMissing, ...]:
        """What was not kept, and why."""
        return self.description.missing

    def __repr__(self) -> str:
        d = self.description
        parts = [f"{sum(map(len, self.weights.values())):,} weights of {', '.join(self.weights) or 'no model'}"]
        parts += [f"{len(self.inputs)} model call{'' if len(self.inputs) == 1 else 's'}", "no batch" if self.batch is None else "a batch"]
        lack = f", {len(d.missing)} part{'' if len(d.missing) == 1 else 's'} missing" if d.missing else ""
        return f"<sickbay incident: {d.kind} at step {d.step:,}; {', '.join(parts)}{lack}>"


def find_incident(place: Path) -> Path:
    """The description of the incident of a run: of a folder, a record file, or one of the incident's own files."""
    if place.name.endswith(TENSORS):
        place = place.with_name(place.name.removesuffix(TENSORS) + DESCRIPTION)
    if place.name.endswith(DESCRIPTION):
        if not place.exists():
            raise NotARecord(f"{place} is missing: the process was killed while it wrote the incident, or the file was not copied; it cannot be used")
        return place
    if place.is_file() and place.suffix != SUFFIX:
        raise NotARecord(f"{place} is neither a run nor an incident: those are folders that `sickbay run` made, and *{DESCRIPTION} files in them")
    found = [description_beside(place)] if place.is_file() else descriptions_in(place)
    found = [path for path in found if path.exists()]
    if found:
        return min(found, key=_when)
    folder = place.parent if place.is_file() else place
    if unfinished := unfinished_in(folder):
        raise RecordNotFound(
            f"the incident of {folder.name} was not written to its end (if the run is over, it was killed meanwhile): {unfinished[0].name} cannot be used; "
            f"`sickbay replay {folder.name}` runs the script again up to it"
        )
    raise RecordNotFound(f"{folder.name} has no incident: no loss, gradient or weight was seen to be NaN or infinite (or --blackbox was 0)")


def _when(description: Path) -> tuple[int, float]:
    """Of several processes, the one it happened to first."""
    try:
        incident = read_description(description)
    except Exception:
        return 2**62, 0.0
    return incident.step, incident.time


def load_incident(path_or_run: Path | str) -> LoadedIncident:
    """Load an incident: of a run's name (`"last"` too), its folder, or one of the incident's files. Nothing in the file is executed."""
    from sickbay.runs import find_run, runs_root

    given = Path(path_or_run)
    place = given if given.exists() or given.name.endswith((TENSORS, DESCRIPTION)) else find_run(str(path_or_run), runs_root())
    description = find_incident(place)
    incident = read_description(description)
    path = tensors_of(description, incident)
    content = _tensors(path, incident) if path is not None else {}
    rng = dict(_mapping(content, "rng"))
    if isinstance(state := rng.get("numpy"), tuple) and len(state) > 1 and hasattr(state[1], "numpy"):
        rng["numpy"] = (state[0], state[1].numpy().astype("uint32"), *state[2:])
    return LoadedIncident(
        description=incident,
        batch=content.get("batch"),
        inputs=list(content.get("inputs") or ()),
        weights=dict(_mapping(content, "weights")),
        optimizer=list(content.get("optimizer") or ()),
        rng=rng,
    )


def _mapping(content: Mapping[str, Any], part: str) -> Mapping[str, Any]:
    found = content.get(part) or {}
    return found if isinstance(found, Mapping) else {}


def _tensors(path: Path, incident: Incident) -> dict[str, Any]:
    try:
        import torch
    except ImportError:
        raise UsageError("loading an incident needs torch, which is not installed here; `sickbay incident` shows it without") from None
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as e:  # torch raises whatever its readers raise
        raise NotARecord(f"{path} cannot be loaded safely: {str(e).strip().splitlines()[0] if str(e).strip() else type(e).__name__}") from None
    if not isinstance(content, dict) or content.get("id") != incident.id:
        raise NotARecord(f"{path} belongs to another incident than its description: copy both files of a run together")
    return content
