"""From a record to a diagnosis: the ledger of each cause, its certainty, what folds under what, and the verdict.

The ranking maths
-----------------
Every cause starts from odds against it (most runs do not have it). Each line of its ledger multiplies the odds by how much more
often that line is seen with the cause than without; in logarithms, lines add up:

    confidence = sigmoid(PRIOR + sum of WEIGHT[kind])        proof +6, strong +2.5, hint +0.7, against -2

Several lines of one kind are rarely independent, so the second, third... count a half, a quarter... of the first.

    proven     there is a proof and the confidence stays at 0.95 or more (an `against` or two do not outweigh a proof)
    likely     something strong, and a confidence of 0.6 or more
    possible   anything else from 0.3 on; below that the suspicion is dropped

Ranking: certainty, then what the run died of (if it did), then level (data, architecture, procedure, hyperparameters: the more fundamental first), then
confidence. What lies in the machine costs time, memory or repeatability, not what is learned: as long as it did not end the run it comes after every
firm cause of the other levels, and explains none of what evaluation shows.

Folding: a suspicion that another one explains, by name or by all of its signs, is a consequence and not a second illness. A cause never
absorbs one that is more certain than itself, and a proof is absorbed only by name. When two explain each other, the one that names the
other stays; when both do (or neither), the better ranked one. What evaluation shows (one class for everything, too much confidence) is a consequence of
whatever is found before it.

Trials: a cure that was tried is a line of the ledger too: CURED is strong, HELPED a hint, NO EFFECT and HARMED are against. A firm suspicion whose cure
did nothing ranks below every other firm one and absorbs none whose trial went better; at the same certainty CURED goes first, then HELPED, then what was
not tried or not told by its trial.

The verdict is `sick` only if the best root cause is proven or likely. A healthy run is called healthy, with its numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from sickbay.causes.coverage import not_checked
from sickbay.causes.crashes import crash_of, killed_the_run
from sickbay.causes.evidence import at, first_place, located, times
from sickbay.causes.health import alarm, describe, of_curves, still_falling, unclear
from sickbay.causes.lost_ranks import lost
from sickbay.causes.registry import Cause, catalogue
from sickbay.causes.shapes import shapes, told
from sickbay.facts import Crash
from sickbay.nouns import LEVELS, Certainty, Diagnosis, Effect, Evidence, EvidenceKind, NotChecked, RunSummary, Suspicion, Trial, Verdict
from sickbay.record.reader import Record
from sickbay.signs import Signs, read_signs
from sickbay.signs.curves import fell
from sickbay.signs.losses import training_losses

PRIOR = -1.0
WEIGHT: dict[EvidenceKind, float] = {"proof": 6.0, "strong": 2.5, "hint": 0.7, "against": -2.0}
PROVEN, LIKELY, POSSIBLE = 0.95, 0.6, 0.3
TRIED: dict[Effect, EvidenceKind] = {"CURED": "strong", "HELPED": "hint", "NO EFFECT": "against", "HARMED": "against"}
"""What a trial's outcome is in the ledger of the cause whose cure was tried; INCONCLUSIVE is nothing."""
EFFECTS: tuple[Effect, ...] = ("CURED", "HELPED", "INCONCLUSIVE", "NO EFFECT", "HARMED")
GOOD: tuple[Effect, ...] = ("CURED", "HELPED")
CERTAINTIES: tuple[Certainty, ...] = ("proven", "likely", "possible")
MOST_CAUSES = 3
UNTRIED = NotChecked("whether a cure helps", "no trial was run")
DEADLY = ("SIGKILL", "SIGSEGV", "SIGABRT", "SIGBUS", "SIGFPE", "SIGILL")
"""Signals with which nobody stops a run that is well (Ctrl-C and preemption have their own)."""
ENOUGH_STEPS = 10
"""Fewer steps than this show only what is proven by structure."""


def diagnose(record: Record, summary: RunSummary | None = None, trials: Sequence[Trial] = ()) -> Diagnosis:
    """The diagnosis of a run, also of one that still goes on; with what came of trying cures, if any were tried."""
    signs = read_signs(record)
    suspicions, failures = _examine(record, signs)
    suspicions = [with_trials(s, trials) for s in suspicions]
    roots = fold(suspicions, signs)
    firm = [s for s in roots if s.certainty != "possible"]
    verdict, reason = _verdict(record, signs, roots)
    shown = firm if verdict == "sick" else roots if verdict == "undecided" else []
    seen = shapes(record, signs, [s.cause for s in firm]) if record.facts.log is not None else ()
    return Diagnosis(
        verdict,
        reason,
        tuple(shown[:MOST_CAUSES]),
        told(signs) if seen else signs.all,
        (*failures, *not_checked(record), *((UNTRIED,) if shown and not trials and record.facts.log is None else ())),
        summary or _summary(record),
        seen,
        tuple(trials),
    )


def suspect_all(record: Record, signs: Signs) -> list[Suspicion]:
    """Everything that is suspected, best first, before anything is folded or left out."""
    return sorted(_examine(record, signs)[0], key=rank)


def _examine(record: Record, signs: Signs) -> tuple[list[Suspicion], list[NotChecked]]:
    """Every cause's suspicion. One that fails (a bug of ours) is told as not checked and does not take the others with it."""
    suspicions: list[Suspicion] = []
    failures = [NotChecked(f"the sign {name}", f"looking for it failed, a bug of sickbay's ({why})") for name, why in signs.failed]
    for cause in catalogue().values():
        try:
            suspicion = suspect(cause, record, signs)
        except Exception as e:
            failures.append(NotChecked(cause.name, f"its examination failed, a bug of sickbay's ({type(e).__name__}: {e})"))
        else:
            suspicions += [suspicion] if suspicion is not None else []
    return suspicions, failures


# -- one cause ------------------------------------------------------------------------------------------------------


def suspect(cause: Cause, record: Record, signs: Signs) -> Suspicion | None:
    """The cause's suspicion, if the record holds enough evidence for it."""
    ledger = tuple(cause.examine(record, signs))
    confidence = weigh(ledger)
    certainty = _certainty(ledger, confidence)
    if certainty is None:
        return None
    return Suspicion(
        cause=cause.name,
        code=cause.code,
        level=cause.level,
        title=cause.title,
        why=cause.why,
        certainty=certainty,
        confidence=round(confidence, 3),
        place=first_place(ledger),
        evidence=ledger,
        fix=cause.fix(record, ledger),
        explains=cause.explains,
    )


def weigh(ledger: Sequence[Evidence]) -> float:
    """The confidence that a ledger gives."""
    odds = PRIOR
    for kind, weight in WEIGHT.items():
        count = sum(e.kind == kind for e in ledger)
        odds += weight * (2 - 2 ** (1 - count))  # 1 + 1/2 + 1/4 + ...
    return 1 / (1 + math.exp(-odds))


def with_trials(s: Suspicion, trials: Sequence[Trial]) -> Suspicion:
    """The suspicion after its cure was tried: by the trial that went best, if there were several doses."""
    own = sorted((t for t in trials if t.cause == s.cause), key=lambda t: EFFECTS.index(t.effect))
    if not own:
        return s
    trial = own[0]
    if trial.effect not in TRIED:
        return replace(s, trial=trial)
    ledger = (*s.evidence, Evidence(TRIED[trial.effect], f"a trial with {trial.label}: {trial.effect}; {trial.text}"))
    confidence = weigh(ledger)
    return replace(s, evidence=ledger, confidence=round(confidence, 3), certainty=_certainty(ledger, confidence) or "possible", trial=trial)


def _certainty(ledger: Sequence[Evidence], confidence: float) -> Certainty | None:
    kinds = {e.kind for e in ledger}
    if "proof" in kinds and confidence >= PROVEN:
        return "proven"
    if kinds & {"proof", "strong"} and confidence >= LIKELY:
        return "likely"
    return "possible" if kinds - {"against"} and confidence >= POSSIBLE else None


# -- all causes -----------------------------------------------------------------------------------------------------


def rank(s: Suspicion) -> tuple[bool, bool, bool, int, bool, int, int, float, str]:
    """Sort key: best first."""
    return (
        s.certainty == "possible",
        _in_vain(s),
        _beside_learning(s),
        CERTAINTIES.index(s.certainty),
        not any(map(killed_the_run, s.evidence)),
        _tried_well(s),
        LEVELS.index(s.level),
        -s.confidence,
        s.code,
    )


def _beside_learning(s: Suspicion) -> bool:
    """The model learns all the same: the run is slow, grows, or does not come again."""
    return s.level == "system" and not any(map(killed_the_run, s.evidence))


def _in_vain(s: Suspicion) -> bool:
    """Its cure was tried and did nothing, or harm."""
    return s.trial is not None and s.trial.effect in ("NO EFFECT", "HARMED")


def _tried_well(s: Suspicion) -> int:
    """0 for CURED, 1 for HELPED, 2 for all else."""
    return GOOD.index(s.trial.effect) if s.trial is not None and s.trial.effect in GOOD else len(GOOD)


def fold(suspicions: Iterable[Suspicion], signs: Signs) -> list[Suspicion]:
    """Root causes only, best first, with what they bring about as their consequences."""
    ranked = sorted(suspicions, key=rank)
    present = {s.name for s in signs}
    parent = {s.cause: next((r for r in ranked if _absorbs(r, s, present)), None) for s in ranked}
    root_of = {s.cause: _root(s, parent) for s in ranked}
    roots = [s for s in ranked if root_of[s.cause] is s]
    return [_with_consequences(r, [s for s in ranked if root_of[s.cause] is r and s is not r], present) for r in roots]


def _absorbs(root: Suspicion, other: Suspicion, present: set[str]) -> bool:
    forth, back = _explains(root, other, present), _explains(other, root, present)
    return root is not other and (forth > back or (forth == back > 0 and rank(root) < rank(other)))


def _explains(root: Suspicion, other: Suspicion, present: set[str]) -> int:
    """2 if by name, 1 if by all signs that the other explains itself, 0 if not."""
    if CERTAINTIES.index(root.certainty) > CERTAINTIES.index(other.certainty):
        return 0
    if root.trial is not None and root.trial.effect != "CURED" and (_in_vain(root) > _in_vain(other) or _cured(other)):
        return 0
    if other.cause in root.explains or (other.level == "evaluation" and root.level not in ("evaluation", "system")):
        return 2  # what evaluation shows is the outcome of all that comes before it
    seen = other.explains & present
    return int(other.certainty != "proven" and bool(seen) and seen <= root.explains and rank(root) < rank(other))


def _cured(s: Suspicion) -> bool:
    return s.trial is not None and s.trial.effect == "CURED"


def _root(s: Suspicion, parent: dict[str, Suspicion | None]) -> Suspicion:
    chain = [s]
    while (up := parent[chain[-1].cause]) is not None:
        if up in chain:  # a circle of explanations: its best member is the root
            return min(chain[chain.index(up) :], key=rank)
        chain.append(up)
    return chain[-1]


def _with_consequences(root: Suspicion, absorbed: list[Suspicion], present: set[str]) -> Suspicion:
    names = [s.cause for s in absorbed] + sorted(root.explains & present)
    return replace(root, consequences=tuple(dict.fromkeys(names)))


# -- the verdict ----------------------------------------------------------------------------------------------------


def _verdict(record: Record, signs: Signs, roots: list[Suspicion]) -> tuple[Verdict, str]:
    best = roots[0] if roots else None
    if best is not None and best.certainty != "possible":
        return "sick", _sick(best, sum(s.certainty != "possible" for s in roots)) + _also_crashed(record, signs, roots) + _also_alarming(
            record, signs, best
        )
    if record.facts.log is not None:
        return _logged(record, signs)
    if not _trains(record):
        return _untrained(record)
    if gone := lost(record):
        return "undecided", gone
    crash = crash_of(record)
    if crash is not None:
        return (
            "undecided",
            f"the script stopped with {crash.kind}{located(crash.place)} after {times(record.facts.run.steps, 'step')}: {_said(crash)}",
        )
    if died := _killed(record):
        return "undecided", died
    if alarming := alarm(record, signs):
        return "undecided", alarming
    if record.facts.run.steps < ENOUGH_STEPS and record.facts.run.backwards < ENOUGH_STEPS:
        return (
            "undecided",
            f"only {times(record.facts.run.steps, 'step')} were seen, and nothing was wrong in them; {ENOUGH_STEPS} or more would show how training goes",
        )
    return "healthy", describe(record, signs)


def _logged(record: Record, signs: Signs) -> tuple[Verdict, str]:
    """Of a log only the curves are known: a bad shape without a cause that curves can show is undecided, never healthy."""
    shape = shapes(record, signs, ())[0]
    if shape == "healthy":
        return "healthy", describe(record, signs)
    if shape == "too-short":
        return "undecided", "the log holds too few values to see how training goes; a dozen or more would show it"
    if shape == "unclear":
        return "undecided", unclear(record)
    if shape == "underfitting-short-training":
        return "undecided", still_falling(record)
    return "undecided", of_curves(record, signs)


def _killed(record: Record) -> str:
    """A process that something ended from outside, or that broke below Python: nothing of it may be called healthy."""
    run = record.facts.run
    if run.exit not in DEADLY or run.finished:
        return ""
    why = "; the operating system does that when memory is full, and schedulers at a time limit" if run.exit == "SIGKILL" else ""
    return f"the process was ended by {run.exit} after {times(run.steps, 'step')}, and nothing was wrong up to there{why}"


def _sick(best: Suspicion, count: int) -> str:
    more = "" if count == 1 else f"; {count - 1} more below"
    return f"{best.title}{located(best.place)} ({best.certainty}{more})"


def _also_crashed(record: Record, signs: Signs, roots: list[Suspicion]) -> str:
    """An exception that none of the causes explains is told beside them: what merely was there too is not to blame for it."""
    crash = crash_of(record)
    if crash is None or signs.has("nonfinite-loss", "nonfinite-gradient"):  # scripts stop by themselves when they see NaN
        return ""
    proofs = [e for s in roots for e in s.evidence if e.kind == "proof"]
    if any(killed_the_run(e) or e.place == crash.place for e in proofs) or any("crash" in e.numbers for s in roots for e in s.evidence):
        return ""
    return f"; the script itself stopped with {crash.kind}{located(crash.place)}, which this does not explain: {_said(crash)}"


def _also_alarming(record: Record, signs: Signs, best: Suspicion) -> str:
    """Where nothing but the machine is found at fault, and training does not go well either."""
    alarming = alarm(record, signs) if _beside_learning(best) else ""
    return f"; besides, {alarming}" if alarming else ""


def _trains(record: Record) -> bool:
    run = record.facts.run
    stepped = run.steps > 0 and any(o.steps for o in record.facts.optimizers)
    learns = run.backwards > 0 and (bool(record.facts.optimizers) or any(fell(c) for c, _ in training_losses(record)))
    return stepped or learns or run.manual_updates


def _untrained(record: Record) -> tuple[Verdict, str]:
    run, crash = record.facts.run, crash_of(record)
    if crash is not None:
        return "undecided", f"the script stopped with {crash.kind}{located(crash.place)} before its first training step: {_said(crash)}"
    if run.exit not in (None, 0):  # it broke before torch was there, or below Python: what it said itself stands above
        return "undecided", f"the script ended with {_ending(run.exit)} before any training was seen"
    if run.backwards:
        return "untrained", (
            f"the script called backward {times(run.backwards, 'time')} but has no optimizer and changed no weights, so there is no training to judge"
        )
    model = f" of {record.facts.models[0].name}" if record.facts.models and record.facts.models[0].name else ""
    did = f"ran {times(run.forwards, 'forward pass')}{model} but never called" if run.forwards else "never called a model,"
    return "untrained", f"the script {did} backward or optimizer.step, so there is no training to judge"


def _ending(code: int | str) -> str:
    return f"exit code {code}" if isinstance(code, int) else code


def _said(crash: Crash) -> str:
    """The first line of an exception's message without its kind, which is told before it."""
    line = next((x for x in crash.message.strip().splitlines() if x.strip()), "")
    line = re.sub(rf"^[\w.]*\b{re.escape(crash.kind)}(: |$)", "", line) or "no message"
    return line if len(line) <= 160 else line[:157] + "..."


def _summary(record: Record) -> RunSummary:
    run = record.facts.run
    overhead = run.overhead_seconds / run.training_seconds if run.training_seconds > 0 else None
    folder = record.path.parent if record.path is not None else None
    name = folder.name if folder is not None else at(None) or run.script
    return RunSummary(name, str(folder) if folder else None, run.script, run.steps, run.epochs, run.seconds, overhead, run.exit)
