"""`sickbay compare`: two recorded runs side by side."""

from __future__ import annotations

from pathlib import Path

import click

from sickbay.cli.options import runs_option


@click.command()
@click.argument("one")
@click.argument("other")
@runs_option
def compare(one: str, other: str, runs_dir: Path | None) -> None:
    """Show two recorded runs side by side.

    What each ended with, and whether the second one is better beyond the noise.
    """
    from sickbay.cli.exams import page
    from sickbay.cli.output import conclude
    from sickbay.report.trials import bars
    from sickbay.runs import find_run, open_run, runs_root
    from sickbay.trials.compare import compare as judge
    from sickbay.trials.compare import course_of

    root = runs_root(runs_dir)
    places = [find_run(text, root) for text in (one, other)]
    records = [open_run(place) for place in places]
    courses = [course_of(record) for record in records]
    out = page()
    values = [[float(v) for v in c.loss.values] for c in courses]
    finite = [v for curve in values for v in curve if v == v and abs(v) != float("inf")]
    width = max(len(p.name) for p in places) + 2
    for place, record, curve in zip(places, records, values, strict=True):
        diagnosis = conclude(record, place)
        causes = ", ".join(c.cause for c in diagnosis.causes) or "nothing suspected"
        treated = f"; treated: {record.facts.run.treatment}" if record.facts.run.treatment else ""
        out.prose(f"{diagnosis.verdict}, {record.facts.run.steps:,} steps; {causes}{treated}", indent=width, label=place.name, mark="bold")
        if finite:
            out.line(bars(curve, (min(finite), max(finite), False)), indent=width)
    outcome = judge(courses[0], courses[1])
    words = {"CURED": "BETTER", "HELPED": "BETTER", "HARMED": "WORSE", "NO EFFECT": "NO DIFFERENCE"}
    word = words.get(outcome.effect, outcome.effect)
    out.prose(outcome.text.replace("untreated", places[0].name), indent=len(word) + 2, label=word, mark="bold")
