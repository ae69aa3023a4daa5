"""`sickbay read`: a log that another tool wrote becomes a record and a diagnosis; needs no torch."""

from __future__ import annotations

import glob
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sickbay.cli.options import exit_code_option, json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sickbay.errors import LogError
    from sickbay.nouns import Diagnosis, RunSummary
    from sickbay.record.reader import Record
    from sickbay.report.log_document import Judged

FEWEST = 4
"""A last run with fewer values has only just begun: the one before it says more."""
MOST_EARLIER = 20


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--map", "pairs", multiple=True, metavar="NAME=COLUMN", help="Take this column for NAME: loss, val, accuracy, lr, grad_norm, step or epoch."
)
@json_option
@click.option("-o", "--output", "html_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Also write the HTML report.")
@exit_code_option
def read(paths: tuple[str, ...], pairs: tuple[str, ...], json_file: str | None, html_file: Path | None, exit_code: bool) -> None:
    """Diagnose a run from the log that another tool wrote.

    \b
    sickbay read output/trainer_state.json
    sickbay read lightning_logs/version_0/metrics.csv
    sickbay read runs/                        # a folder: TensorBoard, MLflow, CSV...
    sickbay read train.log --map loss=my_loss

    PATH is a file, a folder or a pattern. TensorBoard events, HF trainer_state.json, CSV tables (Lightning, Keras, Ultralytics, timm,
    fastai, W&B), JSON lines (DETR, MAE, mmengine, detectron2, LLaMA-Factory), Keras histories, W&B and MLflow runs and text that a
    training loop printed are told apart by their content. A file that holds several runs is split, and the last one is judged first.
    """
    from sickbay.cli import output
    from sickbay.cli.reading import shown

    left_out: list[LogError] = []
    with shown():
        judged = examine(expanded(paths), pairs, left_out)
    (diagnosis, record), earlier = judged[0], judged[1:]
    if json_file:
        write_json(judged[0], earlier, json_file)
    if html_file:
        output.write_html(diagnosis, record, html_file)
    if json_file != "-":
        output.show(diagnosis, record)
        for other, _ in earlier:
            when = "earlier" if other.run.script == diagnosis.run.script else "also"
            click.echo(f"{when}: {other.run.name}: {other.verdict}: {other.reason}")
    for why in left_out:
        click.echo(f"sickbay: left out: {why}", err=True)
    if exit_code and diagnosis.verdict == "sick":
        sys.exit(1)


def expanded(paths: Sequence[str]) -> list[Path]:
    """Files and folders, with patterns that the shell left alone filled in."""
    from sickbay.errors import LogError

    found: list[Path] = []
    for text in paths:
        if not Path(text).exists() and any(ch in text for ch in "*?["):
            found += [Path(p) for p in sorted(glob.glob(text, recursive=True))]  # noqa: PTH207 (Path.glob takes no absolute patterns)
        else:
            found.append(Path(text))
    if not found:
        raise LogError(f"no file matches {' or '.join(paths)}")
    return found


def examine(paths: Sequence[Path], pairs: tuple[str, ...], left_out: list[LogError] | None = None) -> list[tuple[Diagnosis, Record]]:
    """Every run in these logs with its diagnosis: first the one to judge, then the earlier ones, the latest first."""
    from sickbay.conclude import diagnose
    from sickbay.record.foreign import parse_map, read_logs

    records = read_logs(paths, parse_map(pairs), left_out)
    long = [k for k, r in enumerate(records) if _values(r) >= FEWEST]
    main = long[-1] if long else len(records) - 1
    order = [main, *[k for k in reversed(range(len(records))) if k != main][:MOST_EARLIER]]
    return [(diagnose(records[k], summary(records[k])), records[k]) for k in order]


def _values(record: Record) -> int:
    return max((len(s) for name, s in record.all_series.items() if name.startswith(("loss/", "accuracy/"))), default=0)


def summary(record: Record) -> RunSummary:
    """The run in numbers; its name says which log it is, and which run of it."""
    from sickbay.nouns import RunSummary

    run, log = record.facts.run, record.facts.log
    path = Path(log.file if log else run.script)
    which = f" (run {log.run + 1})" if log and log.runs > 1 else ""
    name = f"{path.parent.name}/{path.name}" if path.parent.name else path.name
    return RunSummary(name + which, None, run.script, run.steps, run.epochs, run.seconds, None, None)


def write_json(judged: Judged, earlier: Sequence[Judged], file: str) -> None:
    from sickbay.cli import output
    from sickbay.report.document import dumps
    from sickbay.report.log_document import build_log

    text = dumps(build_log(judged, earlier))
    if file == "-":
        click.echo(text, nl=False)
    else:
        output.write(Path(file), text)
