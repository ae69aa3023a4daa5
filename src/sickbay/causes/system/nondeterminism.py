"""The script wants its runs to come again, and draws from something that its seeds do not cover.

## What happens

`set_seed(42)` stands at the top, and two runs still differ: Python's `random`, NumPy's shared generator or a `default_rng()` of the script's own is seeded by nobody, a seed is made by
`hash(name)`, which Python salts anew in every process, or numbers are given out in the order of a set of strings. Which change of the code made a difference, and which was chance, can then
not be told; nor can a bug be met twice.

## How we know

First, the script says what it wants: it calls a function that is named for seeding, asks for deterministic algorithms, seeds several generators, or writes "reproducible" beside its seed.
Then, the state of Python's and NumPy's generators is looked at before the first training steps, without drawing from them: one that changes between steps, or changed before the first one, and that no line
of the script seeds, is drawn from unseeded. The line that draws is found in the script's text, and must give something that can reach training.

A script that trains twice in one process is proof by itself: both trainings began with the same weights, the same settings, the same arguments and the same state of torch's generator, and their losses part, while another generator had moved
on in between.

## Looks like it but is not

- Scripts that seed nothing, or only torch, and nowhere say that runs are to come again.
- Names of runs and files, pauses, pictures: what is drawn for them never reaches training. `uuid` and `tempfile` likewise.
- torch that nobody seeds: its generator begins with the same number in every process.
- Workers of a loader: torch seeds Python and NumPy in them, from its own generator.
- Sets that are sorted before anything depends on their order, sets of numbers; `PYTHONHASHSEED` in the environment.
- A seed from the clock that is printed or kept, so that the run can be made again.
- The same seed in every fold of a cross-validation or every setting of a comparison: what they are given differs.

## Fix

Seed every generator in one place, before anything is drawn; make generators with a seed of their own (`np.random.default_rng(seed)`); sort what comes from a set; take a stable hash
(`zlib.crc32(name.encode())`) instead of `hash(name)`. `sickbay deterministic train.py` runs a script twice and names the first tensor that differs.

## References

- https://docs.pytorch.org/docs/stable/notes/randomness.html
- https://docs.python.org/3/using/cmdline.html#envvar-PYTHONHASHSEED
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations

from sickbay.causes.evidence import at, hint, located, proof, strong
from sickbay.causes.registry import cause
from sickbay.facts import Generator, Start
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.draws import Draw, draws, too_early, unseeded
from sickbay.script.fixing import Function, Source, called, source_at
from sickbay.script.orders import set_orders
from sickbay.script.seeding import Intent, Seeding, generator_name, intent, seeded_elsewhere, seedings
from sickbay.script.varying import clock_seeds, hashes
from sickbay.signs import Signs

LOOKS = 4
"""Steps: whether something is drawn between them shows on the first ones."""
ENOUGH = 3
"""Losses of each training that are compared, at least."""


@cause(
    code="S505",
    level="system",
    title="runs with the same seed differ",
    why="What a change of the code does cannot be told from chance, and nothing that goes wrong can be made to happen again.",
)
def nondeterminism(record: Record, signs: Signs) -> Iterator[Evidence]:
    twice = _twice(record)
    if twice is not None:
        yield twice
    wanted = intent(record)
    if wanted is None:
        return
    found = [*_shared(record, wanted, proven=twice is not None), *_made(record, wanted)]
    yield from found[:2] if twice is None else [hint(e.text, e.place) for e in found[:1]]


# -- one process, twice the same ------------------------------------------------------------------------------------


def _twice(record: Record) -> Evidence | None:
    """Two trainings that began alike and went apart."""
    starts = sorted(record.facts.randomness.starts, key=lambda s: s.step)
    for one, other in combinations(starts, 2):
        if one.place != other.place or not one.weights or (one.weights, one.given) != (other.weights, other.given):
            continue
        if one.states.get("torch") != other.states.get("torch"):
            continue
        moved = [g for g in ("python", "numpy") if one.states.get(g) != other.states.get(g) and _drawn(record, g)]
        parted = _parted(record, one, other, starts)
        site = next((d for g in moved for d in sorted(draws(record, g), key=lambda d: not d.within_training)), None)
        if parted is not None and site is not None:
            step, before, now = parted
            return proof(
                f"the trainings that begin at steps {one.step} and {other.step} have the same weights, settings and state of torch's generator, and their losses differ from their step {step} on "
                f"({before:.6g} and {now:.6g}): `{site.text}`{located(site.place)} draws from {generator_name(site.generator)}'s generator, which the seed does not cover",
                site.place,
                (one.step, other.step + step),
            )
    return None


def _drawn(record: Record, name: str) -> bool:
    return any(g.name == name and g.moved for g in record.facts.randomness.generators)


def _parted(record: Record, one: Start, other: Start, starts: Sequence[Start]) -> tuple[int, float, float] | None:
    """The first step, counted from the start of each, at which the losses differ, and both."""
    losses = record.series("loss/train")
    end = next((s.step for s in starts if s.step > other.step), record.facts.run.steps)
    first, second = ({int(n) - s.step: float(v) for n, v in zip(losses.steps, losses.values, strict=True) if n >= s.step} for s in (one, other))
    both = [n for n in sorted(first.keys() & second.keys()) if one.step + n < other.step and other.step + n < end]
    if len(both) < ENOUGH:
        return None
    return next(((n, first[n], second[n]) for n in both if first[n] != second[n]), None)


# -- what the seeds do not cover ------------------------------------------------------------------------------------


def _shared(record: Record, wanted: Intent, proven: bool) -> Iterator[Evidence]:
    """The process's own generators that no line seeds."""
    covered = {s.generator for s in seedings(record)}
    if seeded_elsewhere(record):
        return
    for generator in record.facts.randomness.generators:
        if generator.name in covered or generator.name == "torch" or not (generator.before or generator.moved):
            continue
        sites = sorted(draws(record, generator.name), key=lambda d: d.within_training is not bool(generator.moved))
        if sites:
            yield _unseeded(generator, sites[0], wanted)


def _unseeded(generator: Generator, site: Draw, wanted: Intent) -> Evidence:
    name = generator_name(generator.name)
    if generator.moved and generator.looks >= LOOKS:
        when = f"before {generator.moved} of the first {generator.looks} training steps"
        return proof(
            _told(wanted, f"`{site.text}`{located(site.place)} draws from {name}'s generator, which no line seeds; it moved on {when}"), site.place
        )
    return strong(
        _told(wanted, f"`{site.text}`{located(site.place)} draws from {name}'s generator before training begins, and no line seeds it"), site.place
    )


def _made(record: Record, wanted: Intent) -> Iterator[Evidence]:
    for site in too_early(record)[:1] if any(g.before for g in record.facts.randomness.generators) else ():
        name = generator_name(site.generator)
        yield strong(_told(wanted, f"`{site.text}`{located(site.place)} draws from {name}'s generator before the seed is set"), site.place)
    for site in unseeded(record)[:1]:
        yield strong(
            _told(wanted, f"`{site.text}`{located(site.place)} makes a generator without a seed: it draws other numbers in every run"), site.place
        )
    if record.facts.randomness.text_hash_varies:
        for site in hashes(record)[:1]:
            yield strong(
                _told(wanted, f"`{site.text}`{located(site.place)} is another number in every process: Python salts the hash of a text"), site.place
            )
        for site in set_orders(record)[:1]:
            yield strong(
                _told(wanted, f"`{site.text}`{located(site.place)} comes in another order in every process: a set of texts has none"), site.place
            )
    if wanted.place is not None and len({s.generator for s in seedings(record)}) > 1:
        for site in clock_seeds(record)[:1]:
            yield strong(_told(wanted, f"the seed is `{site.text}`{located(site.place)}, another one in every run, and is told nowhere"), site.place)


def _told(wanted: Intent, what: str) -> str:
    return f"{wanted.text}{located(wanted.place)} asks for runs that come again, but {what}"


# -- the fix --------------------------------------------------------------------------------------------------------


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    place = next((e.place for e in evidence if e.place is not None), None)
    for generator in ("python", "numpy"):
        for site in draws(record, generator):
            if place is not None and at(site.place) == at(place) and generator not in {s.generator for s in seedings(record)}:
                return _seeding(record, site)
    if place is not None and any(at(d.place) == at(place) for d in too_early(record)):
        first = _beside(seedings(record))
        return Fix(
            "set the seed before anything is drawn",
            f"{first.source.segment(first.call) if first else 'np.random.seed(0)'}  # above {at(place)}",
            "advice",
        )
    source = source_at(record, place)
    if source is None or place is None:
        return Fix("seed every generator that the script draws from", "random.seed(0); np.random.seed(0); torch.manual_seed(0)", "advice")
    return _stable(record, source, place.line or 0)


def _seeding(record: Record, site: Draw) -> Fix:
    """One more line beside the seeds that there are."""
    call = "random.seed" if site.generator == "python" else "np.random.seed"
    text = f"seed {generator_name(site.generator)}'s generator too"
    beside = _beside(seedings(record))
    if beside is None:
        return Fix(text, f"{call}(0)", "advice")
    given = beside.source.segment(beside.call.args[0]) if beside.call.args else "0"
    statement = beside.source.statement(beside.call.lineno)
    known = _knows(beside.source, call.partition(".")[0])
    edits = [beside.source.after(statement, f"{call}({given})")] if statement is not None else []
    if not known and statement is not None:
        edits = [beside.source.before(_first_import(beside.source), "import random" if site.generator == "python" else "import numpy as np"), *edits]
    diff = beside.source.diff(*edits) if edits else ""
    return Fix(text, diff or f"{call}({given})", "safe" if diff else "advice")


def _beside(calls: list[Seeding]) -> Seeding | None:
    """The seeding that others would stand beside: in a function that is named for it, else the first."""
    inside = [s for s in calls if isinstance(f := s.source.function(s.call), Function) and "seed" in f.name.lower()]
    return next(iter(inside or calls), None)


def _knows(source: Source, name: str) -> bool:
    return any((a.asname or a.name) == name for n in ast.walk(source.tree) if isinstance(n, ast.Import) for a in n.names)


def _first_import(source: Source) -> ast.stmt:
    later = [n for n in source.tree.body if isinstance(n, (ast.Import, ast.ImportFrom)) and getattr(n, "module", "") != "__future__"]
    return later[0] if later else source.tree.body[0]


def _stable(record: Record, source: Source, line: int) -> Fix:
    """A seed for a generator of the script's own, a stable hash, a sorted set."""
    for site in (*unseeded(record), *hashes(record), *set_orders(record)):
        if site.node.lineno != line or site.source.file != source.file:
            continue
        if site.generator == "own" and isinstance(site.node, ast.Call):
            calls = seedings(record)
            seed = (
                calls[0].source.segment(calls[0].call.args[0])
                if calls and calls[0].call.args and isinstance(calls[0].call.args[0], ast.Constant)
                else "0"
            )
            edit = source.replacing(site.node, f"{source.segment(site.node.func)}({seed})")
            return Fix("give the generator a seed", source.diff(edit) or f"{called(site.node)}({seed})", "safe")
        if site.generator == "hash" and isinstance(site.node, ast.Call):
            stable = f"zlib.crc32({source.segment(site.node.args[0])}.encode())"
            imports = None if _knows(source, "zlib") else source.before(_first_import(source), "import zlib")
            edits = [e for e in (imports, source.replacing(site.node, stable)) if e is not None]
            return Fix("take a hash that is the same in every process", source.diff(*edits) or stable, "consent")
        ordered = f"sorted({source.segment(site.node)})"
        return Fix("put the set in order", source.diff(source.replacing(site.node, ordered)) or ordered, "consent")
    return Fix("take one seed for all, and print it", "seed = 0", "advice")
