"""The page of `sickbay evaluate` in a terminal: 80 columns, the sentence that says most first."""

from __future__ import annotations

from rich.console import Console

from sickbay.facts.evaluated import Evaluated
from sickbay.report import evaluation_words as said
from sickbay.report import words
from sickbay.report.rows import as_text, short, table
from sickbay.report.terminal import TONE, Page

MARGIN = 13
CLASSES, SLICES, PAIRS, MATRIX, MISTAKES = 20, 12, 5, 10, 10


def render(e: Evaluated, console: Console) -> None:
    page = Page(console)
    page.line(("── evaluation " + "─" * (page.width - 14), "dim"))
    page.line((said.TITLES[e.standing], TONE[said.VERDICTS[e.standing]]))
    page.prose(words.sentence(said.statement(e)))
    page.line()
    for i, score in enumerate(e.more[1:] if e.task == "numbers" else e.more):  # the first stands in the sentence above
        page.prose(f"{said.interval(score)}; constant {said.value(score.constant)}", indent=MARGIN, label="" if i else "Also", hang=MARGIN + 2)
    if e.loss is not None:
        page.prose(f"{said.value(e.loss)}, as the given loss function has it", indent=MARGIN, label="Loss")
    if told := said.sureness(e):
        page.prose(words.sentence(told), indent=MARGIN, label="Sureness")
    for i, note in enumerate(e.notes):
        page.prose(words.sentence(note), indent=MARGIN, label="" if i else "Note", hang=MARGIN + 2)
    _slices(page, e)
    _classes(page, e)
    _outputs(page, e)
    _confusion(page, e)
    _reliability(page, e)
    _residuals(page, e)
    _worst(page, e)


def text(e: Evaluated) -> str:
    """The same page as plain text, for `print`."""
    return as_text(lambda console: render(e, console))


def _head(page: Page, title: str) -> None:
    page.line()
    page.line((title, "bold"))


def _slices(page: Page, e: Evaluated) -> None:
    if not e.slices:
        return
    worse = sum(s.worse for s in e.slices)
    told = f"{worse} worse than the rest beyond chance" if worse else "none worse than the rest beyond chance"
    _head(page, f"Slices by {e.slice_score}: {told}")
    rows = []
    for s in e.slices[:SLICES]:
        low, middle, high = said.ends(s.low, s.score, s.high)
        rows.append((short(f"{s.by} = {s.value}", 30), f"{s.rows:,}", middle, f"{low}–{high}", said.value(s.others), _chance(s.chance)))
    table(page, ("slice", "samples", "score", "95 %", "others", "chance"), rows, marked=[s.worse for s in e.slices])
    _rest(page, len(e.slices) - SLICES)


def _chance(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.2g}"


def _classes(page: Page, e: Evaluated) -> None:
    if not e.classes:
        return
    word = said.class_word(e)
    shown = (
        sorted(range(len(e.classes)), key=lambda i: e.classes[i].f1 if e.classes[i].support else 2.0)[:CLASSES]
        if len(e.classes) > CLASSES
        else range(len(e.classes))
    )
    _head(page, f"By {word}" + (f", the {CLASSES} worst" if len(e.classes) > CLASSES else ""))
    rows = [
        (short(c.name), f"{c.support:,}", f"{c.predicted:,}", f"{c.precision:.2f}", f"{c.recall:.2f}", f"{c.f1:.2f}")
        for c in (e.classes[i] for i in shown)
    ]
    table(page, (word, "support", "predicted", "precision", "recall", "F1"), rows)
    _rest(page, len(e.classes) - len(rows))


def _outputs(page: Page, e: Evaluated) -> None:
    if not e.outputs:
        return
    _head(page, "By output")
    rows = [(short(o.name), said.value(o.r2), said.value(o.mae), said.value(o.constant_mae)) for o in e.outputs[:CLASSES]]
    table(page, ("output", "R²", "mean abs. error", "of a constant"), rows)
    _rest(page, len(e.outputs) - CLASSES)


def _confusion(page: Page, e: Evaluated) -> None:
    if len(e.confusion) > 2 and e.confused:
        _head(page, "Most confused")
        for c in e.confused[:PAIRS]:
            page.prose(f"{said.taken(c)} ({c.count:,})", indent=2, hang=4)
    if 2 <= len(e.confusion) <= MATRIX:
        _head(page, "Given (rows) by predicted (columns)")
        names = [short(c.name, 6 if len(e.confusion) > 5 else 10) for c in e.classes]
        table(page, ("", *names), [(name, *(f"{v:,}" if v else "·" for v in row)) for name, row in zip(names, e.confusion, strict=True)])


def _reliability(page: Page, e: Evaluated) -> None:
    r = e.reliability
    if r is None or len(r.bins) < 2:
        return
    _head(page, f"How sure beside how right (probability of the {r.of})")
    rows = [(f"{b.confidence:.2f}", f"{b.count:,}", f"{b.right:.2f}", _bar(b.confidence, b.right)) for b in r.bins]
    table(page, ("sure", e.unit if e.task == "classes" else "labels", "right", ""), rows)


def _bar(sure: float, right: float, width: int = 30) -> str:
    """How right as a bar, with a mark where it should end."""
    cells = ["█" if i < round(right * width) else " " for i in range(width + 1)]
    cells[min(width, round(sure * width))] = "│"
    return "".join(cells)


def _residuals(page: Page, e: Evaluated) -> None:
    r = e.residuals
    if r is None:
        return
    _head(page, "Errors (target minus prediction) by tenths of the predictions")
    rows = [(said.value(p), said.value(m), said.value(s)) for p, m, s in r.bins]
    table(page, ("predicted", "mean error", "spread"), rows)


def _worst(page: Page, e: Evaluated) -> None:
    if not e.worst:
        return
    _head(page, "Largest losses")
    rows = [
        (str(m.index), said.value(m.loss), short(m.predicted), short(m.target), "" if m.confidence is None else words.percent(m.confidence))
        for m in e.worst[:MISTAKES]
    ]
    table(page, ("sample", "loss", "predicted", "target", "sure"), rows)


def _rest(page: Page, more: int) -> None:
    if more > 0:
        page.line((f"and {more} more, in the HTML and JSON reports", "dim"), indent=2)
