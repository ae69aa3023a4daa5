"""Runs the ward's patients under sickbay and counts how often the diagnosis is right.

    python ward/scoreboard.py                          all patients of ward/
    python ward/scoreboard.py --dir ../shared/ward-examples
    python ward/scoreboard.py --sample 1 --exact 2 --fail-under top1=0.9 --fail-under healthy=1

Each patient is a folder: `train.py` is what a person wrote, `fixed.py` its healthy twin, `case.json` the label (see
README.md beside this file). Scripts run unmodified, in a scratch copy of their folder, with one thread each.

`--exact` also proves that watching is harmless: each `train.py` runs through fingerprint.py with and without sickbay,
and every loss, gradient, weight, random number and printed line must be the same, to the bit.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

WARD = Path(__file__).resolve().parent
FINGERPRINT = WARD / "fingerprint.py"
HEALTHY = "healthy"
HEALTHY_PER_SAMPLE = 4
"""Healthy scripts drawn by `--sample` for each patient per cause: false alarms are what a tool like this dies of."""
TIMEOUT = 180
TIMINGS = re.compile(rb"\b\d+(\.\d+)?\s?(s|sec|secs|seconds|ms|min|it/s|samples/s|steps/s)\b|\b\d\d?:\d\d(:\d\d)?\b")
METRICS = ("top1", "top1-or-acceptable", "top3", "healthy", "place", "operation", "own step", "exact")


# ---- what is there to run --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Patient:
    folder: Path
    id: str
    expected: tuple[str, ...]
    acceptable: tuple[str, ...]
    where: str | None
    operation: tuple[str, ...] = ()
    """Names of the first invalid operation, any of them, where the label has them,"""
    step: int | None = None
    """...and the step in which it occurs."""

    @property
    def healthy(self) -> bool:
        return self.expected == (HEALTHY,)

    @property
    def twin(self) -> bool:
        return (self.folder / "fixed.py").exists()

    @property
    def lines(self) -> set[tuple[str, int]]:
        """File and line of the mistake, where the label has them: any of those it names ("train.py:12", "train.py:12-14")."""
        named = re.findall(r"([\w./-]+\.py):(\d+)(?:-(\d+))?", self.where or "")
        return {(Path(file).name, line) for file, first, last in named for line in range(int(first), int(last or first) + 1)}


def find_patients(directories: Iterable[Path], only: Sequence[str] = (), causes: Sequence[str] = ()) -> list[Patient]:
    found = []
    for directory in directories:
        for label in sorted(directory.glob("*/case.json")):
            case = json.loads(label.read_text(encoding="utf-8"))
            patient = Patient(
                label.parent,
                case["id"],
                tuple(case["expected"]),
                tuple(case["acceptable"]),
                case["where"],
                tuple(case.get("operation", ())),
                case.get("step"),
            )
            if only and not any(fnmatch.fnmatch(patient.id, p) or p in patient.id for p in only):
                continue
            if causes and not set(causes) & set(patient.expected):
                continue
            found.append(patient)
    return found


def sample(patients: Sequence[Patient], per_cause: int) -> list[Patient]:
    """The same `per_cause` patients of each cause every time (and more of the healthy), chosen by a hash of their ids."""
    by_hash = sorted(patients, key=lambda p: hashlib.sha256(p.id.encode()).hexdigest())
    taken: Counter[str] = Counter()
    chosen = set()
    for patient in by_hash:
        cause = patient.expected[0]
        if taken[cause] < per_cause * (HEALTHY_PER_SAMPLE if patient.healthy else 1):
            taken[cause] += 1
            chosen.add(patient.id)
    return [p for p in patients if p.id in chosen]


# ---- running ---------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    """One script under sickbay."""

    id: str
    script: str
    seconds: float = 0.0
    verdict: str = "error"
    causes: list[str] = field(default_factory=list)
    place: tuple[str | None, int | None] = (None, None)
    """Of the first expected cause among the diagnoses, else of the first diagnosis."""
    layer: str | None = None
    operation: str | None = None
    step: int | None = None
    """Of the incident."""
    overhead: float | None = None
    error: str = ""


@dataclass
class Exactness:
    """One script with and without sickbay."""

    id: str
    script: str
    same: bool | None = None
    """None when the script isn't reproducible by itself, so nothing can be said."""
    differs: list[str] = field(default_factory=list)
    steps: int = 0
    error: str = ""


def environment() -> dict[str, str]:
    found = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "NO_COLOR": "1"}
    if paths := os.environ.get("PYTHONPATH"):  # scripts run elsewhere, where `src` would be nothing and another sickbay would be judged
        found["PYTHONPATH"] = os.pathsep.join(str(Path(p).resolve()) for p in paths.split(os.pathsep) if p)
    return found


def users_environment() -> dict[str, str]:
    """...without what makes two runs alike: users do not have it, and some patients are sick of that."""
    return {name: value for name, value in environment().items() if name != "PYTHONHASHSEED"}


def run(command: Sequence[str | Path], folder: Path, variables: dict[str, str] | None = None) -> tuple[int, bytes, str]:
    """Exit code, standard output and the end of standard error."""
    try:
        done = subprocess.run(
            [str(c) for c in command],
            cwd=folder,
            env=variables or environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return -1, b"", f"stopped after {TIMEOUT} s"
    return done.returncode, done.stdout, done.stderr.decode(errors="replace").strip()[-600:]


def sickbay() -> list[str]:
    return [sys.executable, "-m", "sickbay"]


@dataclass(frozen=True)
class Shelf:
    """Records of runs: kept, or diagnosed again instead of running their scripts."""

    folder: Path
    again: bool

    def of(self, patient: Patient, script: str) -> Path:
        return self.folder / patient.id / Path(script).stem

    def put(self, patient: Patient, script: str, ran_in: Path) -> None:
        place = self.of(patient, script)
        shutil.rmtree(place, ignore_errors=True)
        for run_folder in sorted((ran_in / ".sickbay" / "runs").glob("*"))[-1:]:
            shutil.copytree(run_folder, place, ignore=shutil.ignore_patterns("*.html", "*.pt", "incident-*"))


def diagnose(patient: Patient, script: str, shelf: Shelf | None = None) -> Result:
    if shelf is not None and shelf.again:
        return diagnose_again(patient, script, shelf)
    result = Result(patient.id, script)
    with tempfile.TemporaryDirectory(prefix="ward-") as scratch:
        folder = Path(shutil.copytree(patient.folder, Path(scratch) / patient.id))
        out = Path(scratch) / "diagnosis.json"
        started = time.monotonic()
        code, _, complaint = run([*sickbay(), "run", "--quiet", "--json", out, script], folder, users_environment())
        result.seconds = time.monotonic() - started
        if shelf is not None:
            shelf.put(patient, script, folder)
        try:
            document = json.loads(out.read_text(encoding="utf-8"))
        except (OSError, ValueError) as e:
            result.error = f"exit code {code}, no diagnosis ({e}): {complaint}"
            return result
    read_document(result, document, patient)
    return result


def diagnose_again(patient: Patient, script: str, shelf: Shelf) -> Result:
    """From the kept record, with the causes as they are now."""
    result, place = Result(patient.id, script), shelf.of(patient, script)
    code, out, complaint = run([*sickbay(), "diagnose", place, "--json", "-"], WARD) if place.is_dir() else (-1, b"", "no record was kept")
    try:
        read_document(result, json.loads(out), patient)
    except ValueError:
        result.error = f"exit code {code}: {complaint}"
    return result


def read_document(result: Result, document: dict[str, Any], patient: Patient) -> None:
    diagnoses = document["diagnoses"]
    result.verdict = document["verdict"]
    result.causes = [d["cause"] for d in diagnoses]
    result.overhead = document["run"].get("overhead")
    best = next((d for d in diagnoses if d["cause"] in patient.expected), diagnoses[0] if diagnoses else None)
    place = (best or {}).get("place") or {}
    result.place = (place.get("file"), place.get("line"))
    result.layer = place.get("layer")
    incident = document.get("incident") or {}
    result.operation, result.step = incident.get("operation"), incident.get("step")


def compare(patient: Patient, script: str) -> Exactness:
    """Run a script plainly and watched; a difference counts only if two plain runs do not differ in the same way."""
    result = Exactness(patient.id, script)
    plain = fingerprint(patient, script, watched=False)
    watched = fingerprint(patient, script, watched=True)
    result.error = "; ".join(str(arm["error"]) for arm in (plain, watched) if "error" in arm)
    result.differs = differences(plain, watched)
    result.steps = plain.get("steps", 0)
    result.same = not result.differs and not result.error
    if result.differs and not result.error:
        own = differences(plain, fingerprint(patient, script, watched=False))
        result.differs = [d for d in result.differs if d not in own]
        result.same = False if result.differs else None
    return result


def differences(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    return [key for key in sorted(a.keys() | b.keys()) if key != "error" and a.get(key) != b.get(key)]


def fingerprint(patient: Patient, script: str, *, watched: bool) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="ward-") as scratch:
        # The folder has the same name in both arms: scripts may print it.
        folder = Path(shutil.copytree(patient.folder, Path(scratch) / patient.id))
        out = Path(scratch) / "fingerprint.json"
        prefix = [*sickbay(), "run", "--quiet"] if watched else [sys.executable]
        code, printed, complaint = run([*prefix, FINGERPRINT, out, script], folder)
        try:
            values: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
        except (OSError, ValueError) as e:
            return {"error": f"{'watched' if watched else 'plain'}: exit code {code}, no fingerprint ({e}): {complaint}"}
    printed = TIMINGS.sub(b"<time>", printed.replace(scratch.encode(), b""))
    return values | {"exit code": code, "printed": hashlib.blake2b(printed).hexdigest()}


class Progress:
    """One line for each script that is done, from whichever thread."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.started = time.monotonic()
        self.lock = threading.Lock()

    def __call__(self, text: str) -> None:
        with self.lock:
            self.done += 1
            print(f"[{self.done:3d}/{self.total} {time.monotonic() - self.started:4.0f}s] {text}", flush=True)


def scripts_of(patients: Sequence[Patient], well: bool) -> list[tuple[Patient, str]]:
    """What each patient has to run; with `well` only what should be told healthy."""
    both = [(p, script) for p in patients for script in (("train.py", "fixed.py") if p.twin else ("train.py",))]
    return [(p, script) for p, script in both if p.healthy or script == "fixed.py"] if well else both


def run_all(
    patients: Sequence[Patient], jobs: int, exact_every: int, *, well: bool = False, shelf: Shelf | None = None
) -> tuple[list[Result], list[Exactness]]:
    scripts = scripts_of(patients, well)
    watched = [(p, "train.py") for p in patients[::exact_every]] if exact_every else []
    progress = Progress(len(scripts) + len(watched))

    def one_diagnosis(patient: Patient, script: str) -> Result:
        result = diagnose(patient, script, shelf)
        progress(describe(result, patient))
        return result

    def one_comparison(patient: Patient, script: str) -> Exactness:
        result = compare(patient, script)
        word = {True: "bit-exact", False: "NOT EXACT: " + (", ".join(result.differs) or result.error), None: "not reproducible by itself"}
        progress(f"{patient.id}/{script}: {word[result.same]}")
        return result

    with ThreadPoolExecutor(jobs) as pool:
        diagnosed = [pool.submit(one_diagnosis, *s) for s in scripts]
        compared = [pool.submit(one_comparison, *s) for s in watched]
        return [f.result() for f in diagnosed], [f.result() for f in compared]


# ---- counting --------------------------------------------------------------------------------------------------------


def is_healthy_script(patient: Patient, result: Result) -> bool:
    return patient.healthy or result.script == "fixed.py"


def place_right(patient: Patient, result: Result) -> bool:
    """The line, or the layer where the label names that first ("encode.2 (code_size=1, train.py:35)")."""
    file, line = result.place
    layer = (patient.where or "").partition(" ")[0]
    return (file is not None and (Path(file).name, line) in patient.lines) or result.layer == layer


def describe(result: Result, patient: Patient) -> str:
    name = f"{result.id}/{result.script}"
    if result.error:
        return f"{name}: ERROR {result.error}"
    first = result.causes[0] if result.causes else "-"
    said = result.verdict if result.verdict == HEALTHY else f"{result.verdict}: {first}"
    if is_healthy_script(patient, result):
        return f"{name}: {said}" + ("" if result.verdict == HEALTHY else "   <- FALSE ALARM")
    right = "right" if first in patient.expected else "acceptable" if first in patient.acceptable else f"WRONG, expected {'/'.join(patient.expected)}"
    where = "" if not patient.lines else ", right place" if place_right(patient, result) else f", said {line_of(result)} not {patient.where}"
    return f"{name}: {said}   <- {right}{where}"


def line_of(result: Result) -> str:
    file, line = result.place
    return f"{Path(file).name}:{line}" if file else "no place"


def share(hits: Iterable[bool]) -> tuple[int, int]:
    seen = list(hits)
    return sum(seen), len(seen)


def count(
    patients: dict[str, Patient], results: Sequence[Result], exactness: Sequence[Exactness], known: frozenset[str]
) -> dict[str, tuple[int, int]]:
    """For each metric: how many were right, of how many. Sick patients count only if this version knows their cause."""
    sick = [(p, r) for r in results if not is_healthy_script(p := patients[r.id], r) and set(p.expected) & known]
    well = [r for r in results if is_healthy_script(patients[r.id], r)]
    return {
        "top1": share(r.causes[:1] != [] and r.causes[0] in p.expected for p, r in sick),
        "top1-or-acceptable": share(r.causes[:1] != [] and r.causes[0] in p.expected + p.acceptable for p, r in sick),
        "top3": share(bool(set(r.causes[:3]) & set(p.expected)) for p, r in sick),
        "verdict sick": share(r.verdict == "sick" for _, r in sick),
        "place": share(place_right(p, r) for p, r in sick if p.lines),
        "operation": share(r.operation in p.operation for p, r in sick if p.operation),
        "own step": share(r.step == p.step for p, r in sick if p.step is not None),
        "healthy": share(r.verdict == HEALTHY for r in well),
        "healthy twins": share(r.verdict == HEALTHY for r in well if r.script == "fixed.py"),
        "healthy scripts": share(r.verdict == HEALTHY for r in well if r.script != "fixed.py"),
        "exact": share(bool(e.same) for e in exactness if e.same is not None),
    }


def confusion(patients: dict[str, Patient], results: Sequence[Result]) -> dict[str, Counter[str]]:
    """What was said first (columns) for each expected cause (rows)."""
    table: dict[str, Counter[str]] = {}
    for r in results:
        patient = patients[r.id]
        row = HEALTHY if is_healthy_script(patient, r) else patient.expected[0]
        said = r.verdict if r.verdict in (HEALTHY, "error", "untrained") or not r.causes else r.causes[0]
        table.setdefault(row, Counter())[said] += 1
    return table


# ---- telling ---------------------------------------------------------------------------------------------------------


def tell(counts: dict[str, tuple[int, int]], table: dict[str, Counter[str]], known: frozenset[str], seconds: float) -> None:
    print("\nexpected cause                    n   said first")
    for cause in sorted(table, key=lambda c: (c == HEALTHY, c not in known, c)):
        row = table[cause]
        note = "" if cause in known or cause == HEALTHY else "   (not in this version)"
        said = ", ".join(f"{'OK' if name == cause else name} {n}" for name, n in row.most_common())
        print(f"{cause:32s} {row.total():3d}   {said}{note}")
    print()
    for metric, (hits, total) in counts.items():
        if total:
            print(f"{metric:20s} {hits:3d} of {total:3d}   {hits / total:6.1%}")
    healthy, total = counts["healthy"]
    print(f"{'false alarms':20s} {total - healthy:3d} of {total:3d}")
    print(f"{'time':20s} {seconds:.0f} s")


def missed_gates(gates: Iterable[str], counts: dict[str, tuple[int, int]]) -> list[str]:
    missed = []
    for gate in gates:
        metric, _, limit = gate.partition("=")
        hits, total = counts[metric]
        if total == 0:
            missed.append(f"{metric}: nothing was counted, so {limit} cannot be shown")
        elif hits / total < float(limit):
            missed.append(f"{metric} is {hits / total:.3f} ({hits} of {total}), below {limit}")
    return missed


def catalogue_names() -> frozenset[str]:
    from sickbay.causes import catalogue

    return frozenset(catalogue())


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    def gate(text: str) -> str:
        metric, _, limit = text.partition("=")
        if metric not in METRICS or not re.fullmatch(r"[01](\.\d+)?", limit):
            raise argparse.ArgumentTypeError(f"{text!r} is not METRIC=SHARE with METRIC one of {', '.join(METRICS)} and SHARE from 0 to 1")
        return text

    parser = argparse.ArgumentParser(description="Run the ward's patients and count right diagnoses.", allow_abbrev=False)
    parser.add_argument("--dir", type=Path, action="append", metavar="FOLDER", help="folder of patients (repeatable; default: ward/)")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="patients whose id matches (repeatable)")
    parser.add_argument("--causes", default="", metavar="A,B", help="patients of these causes (also `healthy`)")
    parser.add_argument("--sample", type=int, metavar="N", help="N patients per cause, always the same ones")
    parser.add_argument("--well", action="store_true", help="only twins and healthy scripts: is there a false alarm?")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the records of all runs there")
    parser.add_argument(
        "--again", type=Path, metavar="FOLDER", help="run nothing: diagnose the records that were kept there, with the causes as they are now"
    )
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="scripts at a time (default 2)")
    parser.add_argument(
        "--exact",
        nargs="?",
        type=int,
        const=1,
        default=0,
        metavar="N",
        help="also compare each script (or every Nth) with and without sickbay, to the bit",
    )
    parser.add_argument(
        "--fail-under", type=gate, action="append", default=[], metavar="METRIC=SHARE", help=f"exit 1 below this; {', '.join(METRICS)}"
    )
    parser.add_argument("--results", type=Path, default=WARD / "results.json", metavar="FILE", help="where the results are written")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None, known_causes: Callable[[], frozenset[str]] = catalogue_names) -> int:
    options = parse(argv)
    known = known_causes()
    patients = find_patients(options.dir or [WARD], options.only, [c for c in options.causes.split(",") if c])
    if options.sample:
        patients = sample([p for p in patients if p.healthy or set(p.expected) & known], options.sample)
    if not patients:
        print("no patient matches", file=sys.stderr)
        return 2
    started = time.monotonic()
    kept = options.again or options.keep
    shelf = Shelf(kept.resolve(), options.again is not None) if kept is not None else None
    results, exactness = run_all(patients, options.jobs, options.exact, well=options.well, shelf=shelf)
    seconds = time.monotonic() - started
    by_id = {p.id: p for p in patients}
    counts = count(by_id, results, exactness, known)
    table = confusion(by_id, results)
    tell(counts, table, known, seconds)
    missed = missed_gates(options.fail_under, counts)
    document = {
        "counts": {metric: {"right": hits, "of": total} for metric, (hits, total) in counts.items()},
        "confusion": table,
        "not in this version": sorted({c for p in patients for c in p.expected if c not in known and c != HEALTHY}),
        "seconds": round(seconds, 1),
        "missed gates": missed,
        "results": [asdict(r) for r in results],
        "exactness": [asdict(e) for e in exactness],
    }
    options.results.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{'results':20s} {options.results}")
    for text in missed:
        print(f"GATE MISSED: {text}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
