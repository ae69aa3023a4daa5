"""The page of `sickbay scan`: the verdict, what is wrong, what is worth a remark, and what was looked at."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from sickbay.facts.scan import Finding, LoaderSeen, Scan, TensorSeen
from sickbay.report import words
from sickbay.report.terminal import CERTAINTY, Page

MARGIN = 9
DETAILS = 8


def render(scan: Scan, findings: tuple[Finding, ...], console: Console, *, samples: bool = False) -> None:
    page = Page(console)
    wrong = [f for f in findings if f.wrong]
    remarks = [f for f in findings if not f.wrong]
    page.line(("── scan " + "─" * (page.width - 8), "dim"))
    title, tone, text = verdict(scan, findings)
    page.prose(text, indent=len(title) + 2, label=title, mark=tone)
    for number, found in enumerate(wrong, start=1):
        page.line()
        _finding(page, found, f"{number}. " if len(wrong) > 1 else "", samples)
    if remarks:
        page.line()
        page.line(("Remarks: nothing is wrong if it is meant", "bold"))
        for found in remarks:
            _remark(page, found, samples)
    page.line()
    for loader in loaders(scan):
        page.prose(summary(loader), indent=MARGIN, label=loader.name.capitalize(), mark="bold")
        for tensor in loader.tensors:
            page.prose(tensor_line(tensor), indent=MARGIN, hang=MARGIN + 2, style="dim")
        if text := labels_line(loader):
            page.prose(text, indent=MARGIN, hang=MARGIN + 2, style="dim")
    for i, missing in enumerate(scan.not_checked):
        page.prose(f"{missing.what}: {missing.why}", indent=13, label="" if i else "Not checked", style="dim", hang=15)
    codes = [f.code for f in wrong if f.code]
    if codes:
        page.line(("Next".ljust(13), "dim"), (f"sickbay explain {codes[0]}", "bold"))


def verdict(scan: Scan, findings: tuple[Finding, ...]) -> tuple[str, str, str]:
    """The word, its tone, and the sentence."""
    wrong = sum(f.wrong for f in findings)
    seen = words.listing(f"{words.count(x.rows, 'sample')} of the {x.name} loader" for x in loaders(scan))
    if wrong:
        return "SICK", "bold red", f"{'one thing is' if wrong == 1 else f'{wrong} things are'} wrong in {seen}."
    if any(x.ended_by == "interrupted" for x in loaders(scan)):
        return "STOPPED", "bold yellow", f"nothing wrong found so far, in {seen}."
    return "HEALTHY", "bold green", f"nothing wrong found in {seen}."


def loaders(scan: Scan) -> list[LoaderSeen]:
    return [x for x in (scan.train, scan.val) if x is not None]


def _finding(page: Page, found: Finding, number: str, samples: bool) -> None:
    page.prose(f"{number}{words.headline(found.title)}", style="bold", hang=len(number))
    page.line((found.certainty, CERTAINTY[found.certainty]), (f" · {found.cause} {found.code}".rstrip() + f" · {found.loader} loader", "dim"))
    page.prose(words.sentence(found.text), indent=MARGIN, label="Seen")
    if found.place is not None:
        page.prose(where(found), indent=MARGIN, label="Where")
    for i, line in enumerate(found.details[:DETAILS] if samples else ()):
        page.prose(words.clean(line), indent=MARGIN, label="" if i else "Said", hang=MARGIN + 2)
    page.prose(words.sentence(found.fix), indent=MARGIN, label="Fix")
    for line in found.diff.splitlines():
        page.line((words.clean(line), "green"), indent=MARGIN)


def _remark(page: Page, found: Finding, samples: bool) -> None:
    about = f"{found.cause} {found.code}".rstrip()
    page.prose(f"{words.sentence(found.text)} {words.sentence(found.fix)}", indent=2, label="•", hang=2)
    page.line((f"{about} · {found.loader} loader", "dim"), indent=2)
    for line in found.details[:DETAILS] if samples else ():
        page.prose(words.clean(line), indent=2, hang=4)


def where(found: Finding) -> str:
    return words.place(found.place, str(Path.cwd()))


def summary(loader: LoaderSeen) -> str:
    """ "1,400 samples in 44 batches of 32 (the last 24), shuffled (RandomSampler), no workers"."""
    each = f" of {loader.batch_size}" if loader.batch_sizes <= 2 else " of different sizes"
    last = f" (the last {loader.last_batch})" if loader.batch_sizes == 2 and loader.last_batch != loader.batch_size else ""
    parts = [f"{words.count(loader.rows, 'sample')} in {words.count(loader.batches, 'batch').replace('batchs', 'batches')}{each}{last}"]
    parts.append(order(loader))
    if loader.loader.dataset:
        parts.append(
            f"{words.count(loader.loader.workers, 'worker') if loader.loader.workers else 'no workers'}{', pinned memory' if loader.pinned else ''}"
        )
    if loader.resumed_at:
        parts.append(f"gone on with after batch {loader.resumed_at:,}")
    if loader.ended_by:
        parts.append("interrupted" if loader.ended_by == "interrupted" else f"ended by {loader.ended_by}")
    speed = f"{words.duration(loader.waited)} to load, {words.duration(loader.own)} to look at"
    return ", ".join(p for p in parts if p) + f"; {speed}"


def order(loader: LoaderSeen) -> str:
    if loader.own_batches:
        return "batches by a sampler of their own"
    if loader.stream:
        return "a stream"
    if loader.replacement:
        return f"drawn with replacement ({loader.loader.sampler})"
    if loader.loader.sequential or not loader.loader.dataset:
        return "in their own order"
    return f"shuffled ({loader.loader.sampler})" if not loader.same_order else f"the same order in each epoch ({loader.loader.sampler})"


def tensor_line(t: TensorSeen) -> str:
    """ "0: input, float32, 64, table, 0 to 1"."""
    if t.kind in ("text", "object"):
        return f"{words.clean(t.name)}: {t.dtype}"
    shape = words.shape(t.shape) if t.shape else "one number"
    shape = shape if t.shapes <= 1 else f"{shape} ({t.shapes}{'+' if t.shapes >= 64 else ''} shapes)"
    spread = f", mean {words.number(t.scale.mean)}, spread {words.number(t.scale.std)}" if t.scale is not None and t.role == "input" else ""
    finite = "all finite" if "float" in t.dtype and not t.nan + t.infinite else ""
    parts = [
        f"{t.role} {t.kind}".replace("target numbers", "target"),
        t.dtype,
        shape,
        f"{words.number(t.minimum)} to {words.number(t.maximum)}{spread}",
        finite,
    ]
    return f"{words.clean(t.name)}: " + ", ".join(p for p in parts if p)


def labels_line(loader: LoaderSeen) -> str:
    if loader.target_kind != "classes" or not loader.histogram:
        return ""
    total = sum(n for _, n in loader.histogram)
    common = max(loader.histogram, key=lambda x: x[1])
    rare = min(loader.histogram, key=lambda x: x[1])
    return f"labels: {words.count(len(loader.histogram), 'class')}, from {words.percent(rare[1] / total)} (class {rare[0]}) to {words.percent(common[1] / total)} (class {common[0]})"
