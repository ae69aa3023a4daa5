"""`sickbay evaluate`: error analysis of a model on a loader."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command()
@click.argument("model")
@click.argument("loader")
@click.option(
    "--weights",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    metavar="FILE",
    help="A checkpoint to load into the model (weights only).",
)
@click.option(
    "--slice", "slices", multiple=True, metavar="COLUMN", help="A column of the batch, or file.py:function of a batch; may be given several times."
)
@click.option("--class-names", metavar="A,B,...", help="Names of the classes, in the order of their numbers.")
@click.option("--loss", metavar="NAME", help="file.py:criterion, called with outputs and targets, for its mean.")
@click.option("--samples", is_flag=True, help="List the samples with the largest loss: index, prediction and target.")
@click.option("--json", "json_file", metavar="FILE", help="Also write the evaluation as a JSON document; - for standard output.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write one HTML page.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 unless the model is better than a constant answer.")
def evaluate(
    model: str,
    loader: str,
    weights: Path | None,
    slices: tuple[str, ...],
    class_names: str | None,
    loss: str | None,
    samples: bool,
    json_file: str | None,
    output: Path | None,
    exit_code: bool,
) -> None:
    """How good a model is, and where it fails.

    Also what a constant would score.

    MODEL and LOADER are written file.py:name or package.module:name; a function that needs no argument is called for them. The file is imported: what it
    does when imported, it does here.
    """
    from sickbay.cli.loading import load_weights, named, thing
    from sickbay.cli.output import console, write, write_text
    from sickbay.exams.evaluate import evaluate as examine
    from sickbay.report import evaluation_document, evaluation_html, evaluation_page
    from sickbay.report.document import dumps

    judged, given = thing(model), thing(loader)
    if weights is not None:
        load_weights(judged, weights)
    columns = {text: named(text) if ":" in text else text for text in slices}
    names = [n.strip() for n in class_names.split(",")] if class_names else None
    found = examine(judged, given, loss_fn=thing(loss) if loss else None, slices=columns, class_names=names, samples=samples).found
    if json_file:
        write_text(dumps(evaluation_document.build(found)), json_file)
    if output is not None:
        write(output, evaluation_html.render(found, f"{model} on {loader}"))
    if json_file != "-":
        evaluation_page.render(found, console())
    sys.exit(1 if exit_code and found.standing != "beyond" else 0)
