"""All findings of a scan, the surest and most fundamental first."""

from __future__ import annotations

from dataclasses import replace

from sickbay.facts import Facts
from sickbay.facts.scan import Finding, Scan
from sickbay.record.reader import Record
from sickbay.scanned.loading import loading
from sickbay.scanned.order import order
from sickbay.scanned.splits import splits
from sickbay.scanned.targets import targets
from sickbay.scanned.values import far_out, values

CERTAINTIES = ("proven", "likely", "possible")


def judge(scan: Scan) -> tuple[Finding, ...]:
    record = _record(scan)
    found: list[Finding] = []
    for loader in (scan.train, scan.val):
        if loader is not None:
            found += [*loading(loader), *values(loader), *far_out(scan, loader)]
    found += [*targets(scan, record), *order(scan, record), *splits(scan, record)]
    return tuple(sorted(found, key=lambda f: CERTAINTIES.index(f.certainty)))


def _record(scan: Scan) -> Record:
    """What the scan saw, in the words that the causes of the catalogue read."""
    loaders = [replace(scan.train.loader, index=0, role="train")]
    if scan.val is not None:
        loaders.append(replace(scan.val.loader, index=1, role="eval"))
    overlap = (scan.overlap,) if scan.overlap is not None else ()
    return Record(facts=Facts(loaders=tuple(loaders), labels=scan.train.labels, data_probe=scan.probe, evaluation_data=overlap))
