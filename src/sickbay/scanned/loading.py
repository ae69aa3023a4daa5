"""Samples that cannot be loaded, batches that cannot be made, loaders that give nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import at, listed, times
from sickbay.facts.scan import Failure, Finding, LoaderSeen
from sickbay.scanned.findings import MOST, batches, finding, samples, without

PATHS = 3


def loading(loader: LoaderSeen) -> Iterator[Finding]:
    raised = [f for f in loader.failures if not f.collate]
    uneven = [f for f in loader.failures if f.collate]
    if raised:
        yield _raised(loader, raised)
    if uneven:
        yield _uneven(loader, uneven)
    if not loader.rows and not loader.failures and not loader.ended_by:
        why = (
            "its data set is smaller than one batch, and drop_last=True drops that"
            if loader.loader.drop_last
            else "its data set is empty, or it was used up before"
        )
        yield finding(
            "empty-loader", "proven", f"the loader gives no batch at all: {why}", "give it samples, or a smaller batch size", loader,
            title="the loader is empty",
        )  # fmt: skip
    if loader.changed:
        yield finding(
            "changing-batches", "possible", f"{batches(loader.changed)} have other parts than the first", "give every batch the same parts",
            loader, title="batches are not all built alike",
        )  # fmt: skip


def _raised(loader: LoaderSeen, failures: Sequence[Failure]) -> Finding:
    indices = tuple(f.index for f in failures if f.index is not None)[:MOST]
    kinds = Counter((f.kind, at(f.place)) for f in failures)
    several = len(kinds) > 1
    how = listed([f"{kind}{f' at {where}' if where else ''}{f' ({n:,})' if several else ''}" for (kind, where), n in kinds.most_common()], 3)
    who = samples(indices, loader) if indices else f"batch {listed([str(f.batch) for f in failures], 6)}"
    paths = [f.path for f in failures if f.path]
    files = f"; files: {listed(paths, PATHS)}" if paths else ""
    count = len(failures) + max(loader.failed - len(loader.failures), 0)
    many = f"{times(count, 'sample')} of {loader.rows + loader.failed:,}" if indices else batches(loader.failed_batches)
    ended = f"; the pass ended there, after {batches(loader.batches)}" if loader.ended_by == failures[-1].kind else ""
    return finding(
        "corrupt-samples", "proven", f"{many} cannot be loaded: {how}: {who}{files}{ended}",
        "repair or drop these samples before training: it would stop at the first of them", loader, title="samples cannot be loaded",
        indices=indices, place=next((f.place for f in failures if f.place is not None), None), diff=without(indices, loader),
        details=tuple(f"{f.index if f.index is not None else f'batch {f.batch}'}: {f.kind}: {f.message}" for f in failures[:20] if f.message),
    )  # fmt: skip


def _uneven(loader: LoaderSeen, failures: Sequence[Failure]) -> Finding:
    indices = tuple(f.index for f in failures if f.index is not None)[:MOST]
    who = f": {samples(indices, loader)} {'has' if len(indices) == 1 else 'have'} another shape than the rest" if indices else ""
    numbers = sorted({f.batch for f in failures})
    return finding(
        "uneven-samples", "proven",
        f"the samples of {batches(len(numbers))} ({listed([str(b) for b in numbers], 6)}) cannot be put together ({failures[0].kind}){who}",
        "bring all samples to one shape in the data set (resize, crop, pad), or give the loader a collate_fn that does", loader,
        title="samples do not make a batch", indices=indices,
        details=tuple(f"batch {f.batch}: {f.kind}: {f.message}" for f in failures[:20] if f.message),
    )  # fmt: skip
