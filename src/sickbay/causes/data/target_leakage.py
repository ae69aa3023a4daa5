"""One input column holds the answer.

## What happens

A column of the table was filled in after the outcome was known, or was computed from it: the discharge date of a patient who is to be predicted to survive, a
total that contains the amount in question, the target itself under another name. Scores are close to perfect, and the column is empty when the model is used.

## How we know

On a sample of up to 3,000 rows each column alone, cut into steps, is asked for the targets of the other half of the rows. One column tells nearly all, while the
next best tells far less and all others together do not come near, although they do say something. Or half of the rows have values of the column that come often, and
without exception with one class only, though all other columns together leave much untold: a mean over outcomes that has the row's own among them. Or, where the target is
a number, half of the rows have exactly the target in that column, on another scale; of lagged values and windows, whose other numbers tell much of the target, too,
(nearly) all rows have it. Or a few of many columns each tell much of the class, one of them nearly all, every other far less by itself; within a class these few say nothing of each other, so that they do not measure
one thing, the best of them hardly moves within one class, and what is left without them does not come near. Or one column tells far more than all others together, and the script itself uses the model
where that column is empty (the same value in every row, and all others as ever): it is not known in advance.

## Looks like it but is not

- An easy task: several columns tell much of the target, or all others together do as well.
- Several sensors of the one thing that decides: within a class, too, they go together.
- Clouds of points around a centre for each class: all columns tell something, some more, some less.
- A rule of one column in made-up data: the others say nothing, and the model is not better than the data allow.
- The value before, which tells most of the next: it is known when the next is asked for, and filled in. Where a value often stays, it is the next one exactly,
  but for each stay there is a change; a trend without noise is a straight line of every value before.
- A study that empties one column after the other to see what each is worth.
- Images, texts and series: there is no column that means one thing, unless a number of a series is the target itself.

## Fix

Leave the column out and train again; what remains is the honest score. Ask of every column when its value is known.

## References

- Micci-Barreca 2001, A preprocessing scheme for high-cardinality categorical attributes: means over the target must leave the row's own out.
- Kaufman, Rosset, Perlich and Stitelman 2012, Leakage in data mining: formulation, detection, and avoidance.
- Kapoor and Narayanan 2023, Leakage and the reproducibility crisis in machine-learning-based science.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import hint, listed, located, strong
from sickbay.causes.examples import generalises, probe_of
from sickbay.causes.registry import cause
from sickbay.facts import Column, ColumnGroup, DataProbe, EvaluationData
from sickbay.nouns import Evidence, Fix
from sickbay.record.reader import Record
from sickbay.script.columns import made_column, made_with_others
from sickbay.script.fixing import mend
from sickbay.script.prepared import prepared
from sickbay.signs import Signs

NEARLY_ALL = {"classes": 0.95, "numbers": 0.99}
"""Of what there is to tell beyond the commonest class (or the mean). The best column of scikit-learn's tumours tells 0.78, of its wines 0.58, of its irises 0.93; the value
before tells 0.81, 0.94 and 0.98 of the next in series whose correlation is 0.9, 0.97 and 0.99."""
FAR_LESS = 0.75
"""...that the next best column may tell at most,"""
LEFT, LEAST = 4.0, 0.15
"""...and how many times as much, and how much at least, all others together must leave untold."""
MOSTLY, FAR_FROM = 0.5, 0.4
"""Or: half of the rows have values of the column that come often and with one class only, without exception and for two classes at least, though all others together leave this much untold. No outcome
that is uncertain by all that is known besides is certain by one measured column; a mean over the outcomes themselves (of a merchant with a single sale) is. For numbers: half of the targets are one straight line
of the column, to four digits, which no measured column is."""
ALWAYS, UNTOLD = 0.99, 0.01
"""Or: the target is one straight line of the column in (nearly) every row, as where lags begin at 0 or a window ends one step late, and all others together leave this much untold. Of a smooth function
of the others they would leave about a thousandth (neighbours among 2,000 rows), of a trend without noise nothing; a value that often stays as it was is the same in half of the pairs at most, each counted once."""
MUCH, LESS = 0.9, 0.1
"""Or: the column is empty where the model is used, tells this much at least, and all others together leave this much untold (and LEFT times as much as it)."""
STANDS_OUT, TOGETHER, TASK = 2.0, 0.5, 0.3
"""Or: of a few columns each tells so many times as much as any other, two of them go together by less than this within a class, all others together tell this much at least, so that there is a task besides,"""
FIXED = 0.25
"""...and the best of them has a spread within one class that is this part of another's at most: what was filled in afterwards mostly stands still for one outcome (all is paid, nothing is refunded).
Of 2,700 clouds of points around two or three centres, some centres far out in a few columns, 14 were so but for this; the spread of all columns and classes is one there."""
WINDOW = "x, y = series[i : i + length], series[i + length]"
NOTHING = 1e-6
FEWEST_ROWS = 20
"""Of an evaluation, before a column with one value only means anything."""
SOMETHING = 0.1
"""...though they tell this much at least: otherwise it is a task of one column, and that is it."""


@cause(
    code="D113",
    level="data",
    title="one input column gives the target away",
    why="The score is that of the column, not of the model: where the column is not known in advance, nothing is left.",
    cure=None,
)
def target_leakage(record: Record, signs: Signs) -> Iterator[Evidence]:
    probe = probe_of(record)
    if probe is None or probe.column is None or probe.kind not in ("table", "series"):
        return
    c = probe.column
    alone, others, following = (_beyond(c, s) for s in (c.score, c.others, c.next_best))
    nearly = alone >= NEARLY_ALL[probe.targets] and 1 - others >= max(LEFT * (1 - alone), LEAST)
    sealed = c.sealed >= MOSTLY and c.sealed_classes > 1 and 1 - others >= FAR_FROM
    copied = c.on_a_line >= MOSTLY and 1 - others >= LEAST
    itself = c.on_a_line >= ALWAYS and 1 - others >= max(LEFT * (1 - alone), UNTOLD)
    empty = _empty(record, c) if alone >= MUCH and 1 - others >= max(LEFT * (1 - alone), LESS) else None
    one_of_many = probe.kind == "table" and (nearly or sealed or copied or empty) and following <= FAR_LESS
    group = c.group if probe.kind == "table" and alone >= NEARLY_ALL["classes"] and not one_of_many else None
    if group is not None and _stands_out(c, group):
        if generalises(record, probe) != "no":
            yield from _of_group(record, probe, c, group)
        return
    if not (one_of_many or itself) or others < SOMETHING:
        return
    if generalises(record, probe) == "no":
        return
    certain = f", {100 * c.sealed:.0f} % of them without exception, by values that come with one class only" if sealed else ""
    certain = f" (in {100 * c.on_a_line:.0f} % of the rows it is the target itself, scaled)" if copied or itself else certain
    given = prepared(record, probe.place, probe.target)
    column = made_column(given, c.column, c.columns)
    place = column.place if column is not None else made_with_others(given, c.column, c.columns) or probe.place
    what, all_of = (f"column {c.column}", "input columns") if probe.kind == "table" else (f"number {c.column}", "numbers of a sample")
    name = f" (`{column.name}`)" if column is not None and column.name else ""
    yield strong(
        f"{what}{name} of the {c.columns} {all_of} alone tells {_score(probe, c.score)}{certain}; all others together tell {_score(probe, c.others)}, the next best alone {_score(probe, c.next_best)}",
        place,
        column=c.column,
        score=c.score,
    )
    if empty is not None:
        yield strong(f"the column is empty (one value for all of {empty.rows:,} rows) where the model is used{located(empty.place)}")
    yield hint("such a column is mostly computed from the target, or filled in after it was known")


def _stands_out(c: Column, group: ColumnGroup) -> bool:
    alone, least, following, others = (_beyond(c, s) for s in (c.score, group.least, group.next_best, group.others))
    left = 1 - others >= max(LEFT * (1 - alone), LEAST)
    return (
        c.column in group.columns and least >= STANDS_OUT * following and group.alike < TOGETHER and group.fixed <= FIXED and others >= TASK and left
    )


def _of_group(record: Record, probe: DataProbe, c: Column, group: ColumnGroup) -> Iterator[Evidence]:
    given = prepared(record, probe.place, probe.target)
    column = made_column(given, c.column, c.columns)
    place = column.listed if column is not None else made_with_others(given, c.column, c.columns) or probe.place
    called = {j: f"{j} (`{made.name}`)" if (made := made_column(given, j, c.columns)) is not None and made.name else str(j) for j in group.columns}
    rest = listed([called[j] for j in group.columns if j != c.column])
    yield strong(
        f"column {called[c.column]} of the {c.columns} input columns alone tells {_score(probe, c.score)}, column {rest} {_score(probe, group.least)} or more each; all others together "
        f"tell {_score(probe, group.others)}, the best of them alone {_score(probe, group.next_best)}",
        place,
        column=c.column,
        score=c.score,
    )
    yield hint(
        f"within a class these columns say nothing of each other, and column {c.column} hardly moves in one of them: such are mostly filled in after the outcome"
    )


def _empty(record: Record, c: Column) -> EvaluationData | None:
    """Where the model is given rows that have one value in this column, and in no other that training knows with several."""
    found: dict[int, EvaluationData] = {}
    for data in record.facts.evaluation_data:
        if data.train is None or data.evaluation is None or data.evaluation.rows < FEWEST_ROWS or not len(data.train.std) == data.width == c.columns:
            continue
        for j, (known, shown) in enumerate(zip(data.train.std, data.evaluation.std, strict=False)):
            if known > 0 and shown <= NOTHING * known:
                found[j] = data
    return found[c.column] if [*found] == [c.column] else None


def _beyond(c: Column, score: float) -> float:
    return max((score - c.chance) / max(1 - c.chance, 1e-9), 0.0)


def _score(probe: DataProbe, score: float) -> str:
    return f"{100 * score:.1f} % of the labels" if probe.targets == "classes" else f"{100 * max(score, 0):.1f} % of the targets' variance"


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    column = next((int(e.numbers["column"]) for e in evidence if "column" in e.numbers), 0)
    probe = probe_of(record)
    seen = probe.column if probe is not None else None
    if probe is not None and probe.kind == "series":
        return Fix("let each sample end before the value that is to be predicted", WINDOW, "advice")
    if seen is not None and seen.group is not None and _stands_out(seen, seen.group):
        kept = ", ".join(str(j) for j in seen.group.columns)
        return Fix(
            f"leave the columns {kept} out unless they are known before the target is; what the model then scores is what it can do",
            f"x = np.delete(x, [{kept}], axis=1)",
            "advice",
        )
    made = made_column(prepared(record, probe.place, probe.target), column, seen.columns) if probe is not None and seen is not None else None
    return mend(
        f"leave {f'`{made.name}`' if made is not None and made.name else f'column {column}'} out unless it is known before the target is; "
        "what the model then scores is what it can do",
        made.without() if made is not None else "",
        f"x = torch.cat([x[:, :{column}], x[:, {column + 1}:]], dim=1)",
        "consent",
    )
