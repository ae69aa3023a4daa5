"""Labels: how many of each, which of them cannot be, and whether they belong to their samples."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sickbay.causes import find
from sickbay.causes.data.class_imbalance import COMMON, LABELS
from sickbay.causes.evidence import listed
from sickbay.causes.examples import at_chance, told
from sickbay.conclude import suspect
from sickbay.facts.examples import Suspects
from sickbay.facts.scan import Finding, LoaderSeen, Scan
from sickbay.record.reader import Record
from sickbay.scanned.findings import finding, from_suspicion, samples, share, without
from sickbay.signs import Signs

MARKS = (-100, -1, 255)
"""For "no label": cross entropy's own, and two that many scripts choose."""
RARE = 0.05
"""Of the samples: a label beyond all others that more of them have is a class."""
SHARP, EVERYWHERE, WORTH, FEWEST, MANY = 0.65, 0.62, 0.03, 60, 4
"""Wrong labels among four classes and more, below what `label-noise` needs in a run, where one false alarm is worse: samples resemble one class this clearly, odd labels are this much as frequent
among the clearest 60 % as among all, and 3 % at least (two standard errors off). With 5 % of the labels of scikit-learn's digits replaced (ten draws): 0.68 to 0.70, 0.66 to 0.83, 3.4 to
4.4 %. Nothing fires on 26 clean sets of four to ten classes (mixtures and soft rules that overlap, digits in 2 to 64 dimensions), of which digits in two dimensions come nearest: 0.62, 0.60, 15 %."""
MOSTLY = 0.55
"""Of the odd labels, those that are clearly odd: 0.66 to 0.75 with 5 % of the labels of digits replaced; 0.05 to 0.47 in six blobs that overlap, 0.38 in digits in two dimensions."""
FITS = 8.0
"""Spreads beyond chance from which validation's labels clearly follow from its inputs."""


def targets(scan: Scan, record: Record) -> Iterator[Finding]:
    for loader in (scan.train, scan.val):
        if loader is not None and loader.target_kind == "classes":
            yield from _impossible(loader)
            yield from _types(loader)
    yield from _imbalance(scan.train)
    yield from _examples(scan, record)


def _impossible(loader: LoaderSeen) -> Iterator[Finding]:
    counts = dict(loader.histogram)
    total = sum(counts.values())
    if set(counts) <= {-1, 1} or len(counts) < 2:
        return
    marks = {label: n for label, n in counts.items() if label in MARKS and (label < 0 or _beyond(label, counts))}
    strange = {label: n for label, n in counts.items() if label not in marks and (label < 0 or _beyond(label, counts)) and n < RARE * total}
    if strange:
        named = listed([f"{label} ({n:,} samples)" for label, n in sorted(strange.items())], 6)
        usual = [label for label in counts if label not in strange and label not in marks]
        yield finding(
            "invalid-label", "likely", f"labels lie outside of the classes {min(usual)} to {max(usual)}: {named}",
            f"make the labels 0 to {max(usual)}; mark samples without a label with -100 (ignore_index)", loader, tensor=loader.target,
        )  # fmt: skip
    if marks:
        named = listed([f"{label} ({n:,} samples)" for label, n in sorted(marks.items())], 3)
        yield finding(
            "invalid-label", "possible", f"some labels look like marks for \"no label\": {named}; cross entropy refuses them unless it is told to ignore them",
            "pass ignore_index to the loss, or leave these samples out", loader, title="some samples seem to have no label", tensor=loader.target,
            diff=f"criterion = nn.CrossEntropyLoss(ignore_index={min(marks)})",
        )  # fmt: skip


def _beyond(label: int, counts: dict[int, int]) -> bool:
    """Farther above all smaller labels than these span together: numbers of classes leave gaps, but not such."""
    below = [other for other in counts if 0 <= other < label]
    return len(below) >= 2 and label > 2 * (max(below) + 1)


def _types(loader: LoaderSeen) -> Iterator[Finding]:
    target = next((t for t in loader.tensors if t.name == loader.target), None)
    if target is None or len(loader.histogram) < 3:
        return
    if target.dtype in ("int32", "int16", "int8"):
        yield finding(
            "invalid-label", "possible", f"class labels are {target.dtype}; cross entropy takes int64 only", "convert them once, where the data are made", loader,
            title="labels have a type that losses refuse", tensor=target.name, diff="y = y.long()",
        )  # fmt: skip
    elif target.shape and target.dtype == "int64":
        yield finding(
            "invalid-label", "possible", f"class labels come as columns (batch, {', '.join(map(str, target.shape))}); cross entropy takes one number per sample",
            "give one class index per sample", loader, title="labels have one dimension too many", tensor=target.name, diff="y = y.squeeze(1)",
        )  # fmt: skip


def _imbalance(train: LoaderSeen) -> Iterator[Finding]:
    counts = dict(train.histogram)
    total = sum(counts.values())
    if total < LABELS or train.target_kind != "classes":
        return
    common = max(counts, key=lambda label: counts[label])
    if len(counts) == 1:
        yield finding(
            "class-imbalance", "possible", f"all {total:,} samples have the label {common}", "look at how labels are read, unless one class is meant", train,
            title="there is only one class", tensor=train.target,
        )  # fmt: skip
    elif counts[common] >= COMMON * total:
        others = listed([f"{label} ({share(n, total)})" for label, n in sorted(counts.items(), key=lambda x: x[1]) if label != common], 4)
        weights = ", ".join(f"{total / (len(counts) * n):.2g}" for _, n in sorted(counts.items())) if len(counts) <= 10 else "..."
        yield finding(
            "class-imbalance", "possible",
            f"class {common} has {share(counts[common], total)} of {total:,} samples, so that a constant answer scores as much; rarest: {others}",
            "weight the classes in the loss or draw them evenly, and look at recall per class", train, tensor=train.target,
            diff=f"criterion = nn.CrossEntropyLoss(weight=torch.tensor([{weights}]))",
        )  # fmt: skip


def _examples(scan: Scan, record: Record) -> Iterator[Finding]:
    probe, train = scan.probe, scan.train
    if probe is None or (relation := probe.relation) is None:
        return
    for name in ("misaligned-labels", "target-leakage"):
        found = suspect(find(name), record, Signs())
        if found is not None and found.certainty != "possible":
            columns = (probe.column.column,) if name == "target-leakage" and probe.column is not None else ()
            yield from_suspicion(found, train, tensor=train.target, columns=columns)
    odd = probe.suspects
    if odd is not None and _clear(odd) and (suspect(find("label-noise"), record, Signs()) is not None or _many_wrong(odd, probe.classes)):
        yield _noise(train, odd, record)
    classes = probe.targets == "classes"
    if probe.offset is None and at_chance(relation) and not probe.noise_inputs:
        good = next((e.relation for e in probe.evaluations if e.relation is not None and e.relation.beyond > FITS), None)
        text = f"labels do not follow from inputs by simple means: {told(relation, classes)}, as if they were dealt out at random"
        yield finding(
            "misaligned-labels", "likely" if good is not None and classes else "possible",
            f"{text}; validation's do: {told(good, classes)}" if good is not None else f"{text}; a task that is too hard for them looks the same",
            "look at ten samples with their labels; match inputs and labels by a key, not by position", train, tensor=train.target,
            diff="order = torch.randperm(len(x))\nx, y = x[order], y[order]  # one order for both",
        )  # fmt: skip


def _clear(odd: Suspects) -> bool:
    """Whether most labels that are at odds with their samples are clearly so: where classes overlap, most are not."""
    return odd.count / odd.rows >= MOSTLY * odd.odd / odd.known


def _many_wrong(odd: Suspects, classes: int) -> bool:
    if classes < MANY or odd.most < FEWEST or odd.margin < SHARP:
        return False
    part = odd.most_odd / odd.most
    error = math.sqrt(max(part * (1 - part), 0.01) / odd.most)
    return part >= EVERYWHERE * odd.odd / odd.known and part - 2 * error > WORTH


def _noise(train: LoaderSeen, odd: Suspects, record: Record) -> Finding:
    indices = odd.indices if train.indexed else ()
    pairs = "; ".join(f"labelled {given}, like {other} ({count} times)" for given, other, count in odd.pairs[:3])
    who = f": {samples(indices, train)}" if indices else f" (most often {pairs})" if pairs else ""
    fix = find("label-noise").fix(record, ())
    return finding(
        "label-noise", "likely", f"{odd.count:,} of {odd.rows:,} samples clearly resemble another class than the one they are labelled as{who}", fix.text, train,
        indices=indices, tensor=train.target, diff=without(indices, train) or fix.diff,
    )  # fmt: skip
