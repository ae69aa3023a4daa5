"""How a finding is made: its name and code from the catalogue, its samples in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sickbay.causes import find
from sickbay.causes.evidence import listed
from sickbay.causes.registry import catalogue
from sickbay.facts.scan import Finding, LoaderSeen, TensorSeen
from sickbay.nouns import Suspicion

SHOWN = 8
MOST = 1000


def finding(cause: str, certainty: str, text: str, fix: str, loader: LoaderSeen, **more: Any) -> Finding:
    """A finding about one loader; the title is the catalogue's own where it is a cause of it."""
    known = catalogue().get(cause)
    more["indices"] = tuple(sorted(more.get("indices", ())))
    title = more.pop("title", known.title if known is not None else cause.replace("-", " "))
    code = known.code if known is not None else ""
    return Finding(
        cause=cause, code=code, certainty=certainty, title=title, text=text, fix=fix, loader=loader.name, positions=not loader.indexed, **more
    )


def from_suspicion(suspicion: Suspicion, loader: LoaderSeen, **more: Any) -> Finding:
    """What one cause of the catalogue makes of the scan."""
    text = "; ".join(e.text for e in suspicion.evidence if e.kind in ("proof", "strong"))
    text = text or suspicion.evidence[0].text
    told = {"text": text, "fix": suspicion.fix.text, "diff": suspicion.fix.diff, "certainty": suspicion.certainty, "place": suspicion.place} | more
    return finding(find(suspicion.cause).name, loader=loader, **told)


def samples(indices: Sequence[int], loader: LoaderSeen) -> str:
    """ "samples 3, 17 and 2 more"; where no index is known, their positions."""
    if not indices:
        return ""
    many = len(indices) != 1
    word = f"sample{'s' if many else ''}" if loader.indexed else f"position{'s' if many else ''} in the stream"
    return f"{word} {listed([str(i) for i in sorted(indices)], SHOWN)}"


def without(indices: Sequence[int], loader: LoaderSeen) -> str:
    """Code that leaves samples out."""
    if not indices or not loader.indexed:
        return ""
    data = f"{loader.name}_set"
    shown = ", ".join(map(str, sorted(indices)[:SHOWN]))
    rest = ", ...}  # all: --json" if len(indices) > SHOWN else "}"
    return f"bad = {{{shown}{rest}\ngood = [i for i in range(len({data})) if i not in bad]\n{data} = torch.utils.data.Subset({data}, good)"


def called(tensor: TensorSeen) -> str:
    """A part of the batch in words: "part 0 of the batch", "`image`"."""
    if tensor.name == "batch":
        return "the batch"
    return f"part {tensor.name} of the batch" if tensor.name[0].isdecimal() else f"`{tensor.name}`"


def batches(count: int) -> str:
    return f"{count:,} batch{'' if count == 1 else 'es'}"


def share(part: float, whole: float) -> str:
    points = 100 * part / max(whole, 1)
    return f"{points:.0f} %" if points >= 10 else f"{points:.1f} %" if points >= 0.1 else "under 0.1 %"
