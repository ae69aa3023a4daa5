"""In which order samples come, how often, and whether random numbers are random."""

from __future__ import annotations

from collections.abc import Iterator

from sickbay.causes import find
from sickbay.causes.evidence import times
from sickbay.conclude import suspect
from sickbay.facts.scan import Augmentation, Finding, LoaderSeen, Scan
from sickbay.record.reader import Record
from sickbay.scanned.findings import finding, from_suspicion, share
from sickbay.signs import Signs

STRETCHES = 1.5
"""Stretches of one label per class: data sorted by class has one, a series whose state comes and goes has many."""
NOTABLE, EQUAL_ROWS = 0.01, 10
"""Of equal samples, before they are worth a remark."""
OVER = 0.98
REPLACED = "draw without replacement, or keep it if classes are meant to be drawn evenly"
OWN_GENERATOR = (
    "def own_generator(_):\n    torch.utils.data.get_worker_info().dataset.rng = np.random.default_rng(torch.initial_seed())\n\n"
    "loader = DataLoader(data, num_workers=4, worker_init_fn=own_generator)"
)


def order(scan: Scan, record: Record) -> Iterator[Finding]:
    train = scan.train
    sorted_by = suspect(find("unshuffled-data"), record, Signs())
    if sorted_by is not None:
        yield from_suspicion(sorted_by, train, certainty="possible" if _comes_and_goes(train) else "proven")
    elif train.rows > train.batch_size and not train.stream and (train.loader.sequential or train.same_order):
        how = (
            "the loader reads the data set in its own order"
            if train.loader.sequential
            else f"two epochs draw the same order ({train.loader.sampler})"
        )
        later = "" if train.loader.sequential else "; fine if the training loop calls set_epoch, or seeds the sampler anew"
        yield finding(
            "unshuffled-data", "possible", f"{how} in every epoch; labels are mixed in it, as far as they are known{later}",
            "shuffle, unless the order is meant (a series in the order of time)", train, title="training data are not shuffled",
            diff="DataLoader(train_set, batch_size=..., shuffle=True)",
        )  # fmt: skip
    for loader in (train, scan.val):
        if loader is not None:
            yield from _repeats(loader)
    if scan.augmentation is not None:
        yield from _augmented(train, scan.augmentation)
    yield from _last_of_one(train)
    if train.cuda and not train.pinned and train.loader.dataset:
        yield finding(
            "unpinned-memory", "possible", "a GPU is here, and the loader does not pin its memory: copies to the GPU wait", "pass pin_memory=True", train,
            title="batches are copied slowly to the GPU", diff="DataLoader(..., pin_memory=True)",
        )  # fmt: skip


def _comes_and_goes(train: LoaderSeen) -> bool:
    labels = train.labels
    if labels is None or not labels.classes:
        return True  # numbers that rise all along: a series does, too
    return labels.batches * labels.batch_size / max(labels.run_length, 1.0) > STRETCHES * labels.classes


def _repeats(loader: LoaderSeen) -> Iterator[Finding]:
    workers = loader.loader.workers
    if loader.stream and workers > 1 and loader.equal >= OVER * loader.rows * (workers - 1) / workers > EQUAL_ROWS:
        yield finding(
            "repeated-batches", "proven",
            f"every sample of the stream comes {workers} times in one epoch, once from each of the {workers} workers ({loader.equal:,} of {loader.rows:,} are repeats)",
            "let each worker give its own part of the stream", loader, title="every worker gives the whole stream",
            diff="info = torch.utils.data.get_worker_info()\nfor sample in itertools.islice(stream, info.id if info else 0, None, info.num_workers if info else 1):\n    yield sample",
        )  # fmt: skip
        return
    if loader.again and not loader.replacement and not loader.own_batches:
        yield finding(
            "repeated-samples", "possible", f"{loader.again:,} of {loader.rows:,} samples are drawn a second time within one epoch ({loader.loader.sampler})",
            REPLACED, loader, title="samples come more than once in an epoch",
        )  # fmt: skip
    if loader.equal >= max(EQUAL_ROWS, NOTABLE * loader.rows) and not loader.again:
        yield finding(
            "equal-samples", "possible", f"{loader.equal:,} of {loader.rows:,} samples ({share(loader.equal, loader.rows)}) equal an earlier one, number for number",
            "drop duplicates before splitting, unless they are meant (oversampling)", loader, title="the data set holds equal samples",
        )  # fmt: skip


def _augmented(train: LoaderSeen, seen: Augmentation) -> Iterator[Finding]:
    if not seen.random or not (seen.same_across_workers or seen.same_each_epoch):
        return
    parts = []
    if seen.same_across_workers:
        parts.append(f"its {times(seen.workers, 'worker')} change a sample in the very same random way")
    if seen.same_each_epoch:
        parts.append("every epoch changes it as the epoch before")
    yield finding(
        "repeated-batches", "proven",
        f"random changes repeat: {', and '.join(parts)} (one sample was made several times, as the loader's workers make it): each gets a copy of the data set's generator",
        "give every worker a generator of its own, or draw random numbers with torch, which seeds each worker anew", train,
        title="workers draw the same random numbers", diff=OWN_GENERATOR,
    )  # fmt: skip


def _last_of_one(train: LoaderSeen) -> Iterator[Finding]:
    if train.last_batch == 1 and train.batch_size > 1 and not train.loader.drop_last and not train.own_batches:
        yield finding(
            "batchnorm-tiny-batch", "possible",
            f"the last batch of an epoch holds a single sample (all others {train.batch_size}): batch normalisation refuses it, or takes its statistics from it",
            "drop it, or choose a batch size that leaves more", train, title="the last batch holds one sample", diff="DataLoader(..., drop_last=True)",
        )  # fmt: skip
