"""Runs the ward's patients with trials and counts what the trials are good for.

    python ward/trials_board.py                     one patient of every cause with a cure (then a second...), and healthy scripts
    python ward/trials_board.py --patients 80 --healthy 20 --seed 1 --jobs 1
    python ward/trials_board.py --only 419 --only 173

Each patient is run twice over. First as a user would: `sickbay run`, then `sickbay try`, which together are `sickbay run --trials` (as two commands the
time without trials is known too). Then with a wrong suspicion planted: another plausible cause with a cure of its own is made to stand first, as firm as
the best real one and with evidence that no treatment removes, and everything is tried anew from the same record. Nothing of the product knows of this.

Bars: the right cause first after trials in 97 % of the patients, 90 % of the right diagnoses CURED or HELPED, 95 % of the planted suspicions no longer
first, healthy scripts healthy, and the whole in at most three times what the run alone takes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from scoreboard import HEALTHY, WARD, Patient, environment, find_patients, run, share, sickbay

if TYPE_CHECKING:
    from sickbay.nouns import Diagnosis, Evidence
    from sickbay.record.reader import Record
    from sickbay.signs import Signs

GOOD = ("CURED", "HELPED")
PLAUSIBLE = (
    "lr-too-high",
    "lr-too-low",
    "missing-warmup",
    "batch-too-small",
    "exploding-gradient",
    "init-too-large",
    "init-too-small",
    "unscaled-input",
    "class-imbalance",
    "unshuffled-data",
)
"""What anybody would suspect of any run that does not learn, and whose treatments change any script."""
BARS = {"right first after trials": 0.97, "right ones cured or helped": 0.90, "planted demoted": 0.95, "healthy stay healthy": 1.0}
LONGEST = 3.0


@dataclass
class Tried:
    """One patient with trials."""

    id: str
    expected: list[str]
    before: str = ""
    """What stood first without trials: a cause, or the verdict if there is none; ..."""
    after: str = ""
    effect: str = "none"
    """Of the best trial of a cause that the label expects."""
    trials: list[dict[str, str]] = field(default_factory=list)
    run_seconds: float = 0.0
    try_seconds: float = 0.0
    planted: str = ""
    """The wrong suspicion; empty if it could not be made to stand first."""
    planted_effect: str = "none"
    planted_after: str = ""
    """What stood first after everything was tried."""
    planted_trials: list[dict[str, str]] = field(default_factory=list)
    error: str = ""

    @property
    def times(self) -> float:
        """How many times as long as the run alone."""
        return (self.run_seconds + self.try_seconds) / max(self.run_seconds, 1e-6)


# ---- choosing --------------------------------------------------------------------------------------------------------


def cures() -> dict[str, str]:
    """The treatment of every cause that declares one."""
    from sickbay.causes import catalogue

    return {c.name: c.cure for c in catalogue().values() if c.cure is not None}


def choose(patients: Sequence[Patient], many: int, healthy: int, seed: int, curable: set[str]) -> list[Patient]:
    """At random: one of every cause with a cure, then a second of each, until there are so many; and so many healthy ones."""
    order = random.Random(seed).sample(list(patients), len(patients))
    turn: Counter[str] = Counter()
    sick: list[tuple[int, Patient]] = []
    for patient in order:
        if not patient.healthy and (cause := patient.expected[0]) in curable:
            sick.append((turn[cause], patient))
            turn[cause] += 1
    sick.sort(key=lambda entry: entry[0])
    return [p for _, p in sick[:many]] + [p for p in order if p.healthy][:healthy]


# ---- running ---------------------------------------------------------------------------------------------------------


def examine(patient: Patient, plant_too: bool) -> Tried:
    os.environ.update(environment())
    tried = Tried(patient.id, list(patient.expected))
    with tempfile.TemporaryDirectory(prefix="ward-") as scratch:
        folder = Path(shutil.copytree(patient.folder, Path(scratch) / patient.id))
        tried.run_seconds, complaint = timed(["run", "--quiet", "train.py"], folder)
        runs = list((folder / ".sickbay" / "runs").glob("*"))
        if len(runs) != 1:
            tried.error = f"nothing was recorded: {complaint}"
            return tried
        tried.try_seconds, _ = timed(["try"], folder)
        try:
            read_back(tried, runs[0])
            if plant_too and not patient.healthy:
                plant(tried, patient, runs[0])
        except Exception as e:  # one patient's trouble is told, and the others go on
            tried.error = f"{type(e).__name__}: {e}"
    return tried


def timed(arguments: Sequence[str], folder: Path) -> tuple[float, str]:
    started = time.monotonic()
    _, _, complaint = run([*sickbay(), *arguments], folder)
    return time.monotonic() - started, complaint


def read_back(tried: Tried, folder: Path) -> None:
    """What stood first before and after, from the record that both commands left."""
    from sickbay.conclude import diagnose
    from sickbay.runs import open_run
    from sickbay.trials.storage import load_trials

    record, trials = open_run(folder), load_trials(folder)
    tried.before = first(diagnose(record))
    tried.after = first(diagnose(record, trials=trials))
    tried.trials = told(folder)
    tried.effect = best_effect(tried.trials, tried.expected)


def first(diagnosis: Diagnosis) -> str:
    return diagnosis.causes[0].cause if diagnosis.causes and diagnosis.verdict == "sick" else diagnosis.verdict


def told(folder: Path) -> list[dict[str, str]]:
    from sickbay.trials.storage import load_trials

    return [{"cause": t.cause, "treatment": t.treatment, "effect": t.effect, "text": t.text} for t in load_trials(folder)]


def best_effect(trials: Sequence[dict[str, str]], causes: Sequence[str]) -> str:
    from sickbay.conclude import EFFECTS

    return min((t["effect"] for t in trials if t["cause"] in causes), key=[*EFFECTS].index, default="none")  # type: ignore[arg-type]


# ---- planting --------------------------------------------------------------------------------------------------------


def plant(tried: Tried, patient: Patient, folder: Path) -> None:
    """Try everything anew from the same record, with a wrong suspicion before all others."""
    from sickbay.cli.trying import carry_out
    from sickbay.conclude import diagnose
    from sickbay.runs import open_run
    from sickbay.trials.storage import load_trials

    record = open_run(folder)
    best = diagnose(record)
    wrong = wrong_suspicion(patient, record)
    if wrong is None or first(best) not in patient.expected:
        return
    with suspected(wrong, proven=best.causes[0].certainty == "proven"):
        if first(diagnose(record)) != wrong:
            return  # the run died of the right cause, which nothing else can stand before
        tried.planted = wrong
        with contextlib.redirect_stderr(io.StringIO()):
            carry_out(folder, given=(), budget=None, steps=None, jobs=None, on=None)
        tried.planted_after = first(diagnose(record, trials=load_trials(folder)))
    tried.planted_trials = told(folder)
    tried.planted_effect = best_effect(tried.planted_trials, [wrong])


def wrong_suspicion(patient: Patient, record: Record) -> str | None:
    """Drawn by the patient's name among those that could be tried here and have nothing to do with the right cause."""
    from sickbay.causes import catalogue
    from sickbay.supervise.planning import cure_for

    known = catalogue()
    right = [known[c] for c in patient.expected if c in known]
    related = {*patient.expected, *patient.acceptable, *(name for c in right for name in c.explains)}
    tried = {cure_for(c.name, record) for c in right}
    ordered = any(x.sequential and x.role == "train" for x in record.facts.loaders)
    classes = any(head.function in ("cross_entropy", "nll_loss") for loss in record.facts.losses for head in loss.heads)
    fitting = [
        name
        for name in PLAUSIBLE
        if name not in related
        and not known[name].explains & set(patient.expected)
        and (cure := cure_for(name, record)) is not None
        and cure not in tried
        and (name != "class-imbalance" or classes)
        and (name != "unshuffled-data" or ordered)
    ]
    return random.Random(patient.id).choice(fitting) if fitting else None


@contextlib.contextmanager
def suspected(name: str, proven: bool) -> Iterator[None]:
    """While this lasts the cause is suspected of every run, before all others."""
    from sickbay.causes import catalogue
    from sickbay.causes.evidence import proof, strong

    known: dict[str, object] = catalogue()  # type: ignore[assignment]  # a plain dictionary behind the mapping
    real = catalogue()[name]

    def examine(record: Record, signs: Signs) -> Iterator[Evidence]:
        yield from [proof("planted")] if proven else [strong("planted"), strong("planted, too")]

    known[name] = replace(real, level="data", code="A000", explains=frozenset(), examine=examine)
    try:
        yield
    finally:
        known[name] = real


# ---- counting --------------------------------------------------------------------------------------------------------


def count(results: Sequence[Tried]) -> dict[str, tuple[int, int]]:
    sick = [r for r in results if r.expected != [HEALTHY]]
    right = [r for r in sick if r.after in r.expected]
    return {
        "right first before trials": share(r.before in r.expected for r in sick),
        "right first after trials": share(r.after in r.expected for r in sick),
        "right ones cured or helped": share(r.effect in GOOD for r in right),
        "planted demoted": share(r.planted_after != r.planted for r in sick if r.planted),
        "right first after planting": share(r.planted_after in r.expected for r in sick if r.planted),
        "healthy stay healthy": share(r.after == HEALTHY for r in results if r.expected == [HEALTHY]),
        f"within {LONGEST:g} times": share(r.times <= LONGEST for r in results if r.run_seconds),
    }


def line_of(result: Tried) -> str:
    if result.error:
        return f"{result.id}: ERROR {result.error}"
    if result.expected == [HEALTHY]:
        return f"{result.id}: {result.after}{'' if result.after == HEALTHY else '   <- FALSE ALARM'} ({result.times:.1f} times)"
    right = "" if result.after in result.expected else f"   <- WRONG, expected {'/'.join(result.expected)}"
    before = f" (before: {result.before})" if result.before != result.after else ""
    planted = f"; planted {result.planted}: {result.planted_effect}, then first {result.planted_after}" if result.planted else ""
    return f"{result.id}: {result.after}{before}, {result.effect}, {result.times:.1f} times{planted}{right}"


def tell(counts: dict[str, tuple[int, int]], results: Sequence[Tried]) -> None:
    print("\neffects of the right causes' cures: " + ", ".join(f"{e} {n}" for e, n in Counter(r.effect for r in results).most_common()))
    for metric, (hits, total) in counts.items():
        bar = f"   (bar {BARS[metric]:.0%})" if metric in BARS else ""
        print(f"{metric:28s} {hits:3d} of {total:3d}   {hits / max(total, 1):6.1%}{bar}")
    ratios = sorted(r.times for r in results if r.run_seconds)
    whole = sum(r.run_seconds + r.try_seconds for r in results) / max(sum(r.run_seconds for r in results), 1e-6)
    if ratios:
        print(f"{'time, times the run alone':28s} {whole:.2f} over all, median {statistics.median(ratios):.2f}, longest {ratios[-1]:.2f}")


def done_before(file: Path) -> list[Tried]:
    return [Tried(**r) for r in json.loads(file.read_text(encoding="utf-8"))["results"]] if file.exists() else []


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the ward's patients with trials and count what they are good for.", allow_abbrev=False)
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="patients whose id matches (repeatable), and no draw")
    parser.add_argument("--causes", default="", metavar="A,B", help="patients of these causes (also `healthy`)")
    parser.add_argument("--patients", type=int, default=66, metavar="N", help="sick patients to draw (default 66)")
    parser.add_argument("--healthy", type=int, default=20, metavar="N", help="healthy scripts to draw (default 20)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the draw (default 0)")
    parser.add_argument(
        "--plants", type=int, metavar="N", help="plant a suspicion in so many of the patients only (default all; it doubles the time)"
    )
    parser.add_argument("--resume", action="store_true", help="go on where the results file ends")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="patients at a time (default 1; more make times longer)")
    parser.add_argument("--results", type=Path, default=WARD / "trials-results.json", metavar="FILE", help="where the results are written")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    options = parse(argv)
    patients = find_patients([WARD], options.only, [c for c in options.causes.split(",") if c])
    if not options.only:
        patients = choose(patients, options.patients, options.healthy, options.seed, set(cures()))
    if not patients:
        print("no patient matches", file=sys.stderr)
        return 2
    results = done_before(options.results) if options.resume else []
    known = {r.id for r in results}
    planting = len(patients) if options.plants is None else options.plants
    waiting = [(p, number < planting) for number, p in enumerate(patients) if p.id not in known]
    counts = count(results)
    started = time.monotonic()
    with ProcessPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(examine, *one) for one in waiting]):
            results.append(done.result())
            print(f"[{len(results):3d}/{len(patients)} {time.monotonic() - started:4.0f}s] {line_of(results[-1])}", flush=True)
            counts = count(results)
            document = {"counts": {m: {"right": h, "of": n} for m, (h, n) in counts.items()}, "results": [asdict(r) for r in results]}
            options.results.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    tell(counts, results)
    print(f"results: {options.results}")
    missed = [m for m, bar in BARS.items() if counts[m][1] and counts[m][0] / counts[m][1] < bar]
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
