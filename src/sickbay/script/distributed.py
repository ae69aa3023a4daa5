"""Lines of the script that speak of ranks: where the model is made that an optimizer trains, where a loader gets its data, where something is called."""

from __future__ import annotations

import ast
from dataclasses import replace

from sickbay.nouns import Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Source, called, receiver, source_at, sources


def holder(record: Record, parameter: str) -> tuple[Place | None, str]:
    """The line that makes the module of the script's which holds a parameter ("criterion.centres"), and the diff that wraps it there."""
    name = parameter.partition(".")[0]
    found = [
        (source, node)
        for source in sources(record)
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Assign)
        and len(node.targets) == 1
        and source.segment(node.targets[0]).removeprefix("self.") == name
        and isinstance(node.value, ast.Call)
    ]
    if len(found) != 1:
        return None, ""
    source, statement = found[0]
    text = f"torch.nn.parallel.DistributedDataParallel({source.segment(statement.value)})"
    return replace(source.place(statement.lineno), guess=True), source.diff(source.replacing(statement.value, text))


def line_calling(record: Record, name: str, of: str = "") -> Place | None:
    """The first line of the script that calls something by this name (of this module)."""
    calls = [(source, call) for source in sources(record) for call in source.calls(name)]
    found = [source.place(call.lineno) for source, call in calls if not of or ((on := receiver(call)) is not None and source.segment(on) == of)]
    return replace(found[0], guess=len(found) > 1) if found else None


def model_line(record: Record) -> Place | None:
    """Where the model is made whose parameters the optimizer was given."""
    found = _model(record)
    return replace(found[0].place(found[1].lineno), guess=True) if found is not None else None


def after_model(record: Record, text: str) -> str:
    """The diff that puts a line after the one that makes the model; `{model}` in it is the script's name for it."""
    found = _model(record)
    if found is None:
        return ""
    source, statement, name = found
    return source.diff(source.after(statement, text.replace("{model}", name)))


def _model(record: Record) -> tuple[Source, ast.Assign, str] | None:
    """The last statement that gives the model its name before the optimizer is built from `NAME.parameters()`."""
    for optimizer in record.facts.optimizers:
        source = source_at(record, optimizer.built_at)
        if source is None or optimizer.built_at is None:
            continue
        statement = source.statement(optimizer.built_at.line)
        if statement is None:
            continue
        given = [receiver(c) for c in source.calls("parameters", within=statement)]
        names = {source.segment(g) for g in given if isinstance(g, (ast.Name, ast.Attribute))}
        for name in names:
            assigned = [
                node
                for node in ast.walk(source.tree)
                if isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and source.segment(node.targets[0]) == name
                and node.lineno < statement.lineno
            ]
            near = [n for n in assigned if source.function(n) is source.function(statement)] or assigned
            if near:
                return source, max(near, key=lambda n: n.lineno), name
    return None


def dealt_out(record: Record, place: Place | None) -> str:
    """The diff that gives a loader a DistributedSampler."""
    source = source_at(record, place)
    calls = source.calls("DataLoader", line=place.line) if source is not None and place is not None else []
    if source is None or len(calls) != 1 or not calls[0].args:
        return ""
    call = calls[0]
    data = source.segment(call.args[0])
    edits = [source.giving(call, "sampler", f"torch.utils.data.distributed.DistributedSampler({data})")]
    shuffle = next((k for k in call.keywords if k.arg == "shuffle"), None)
    if shuffle is not None:  # the sampler shuffles, and both together are refused
        start = source.offset(shuffle.value.lineno, shuffle.value.col_offset) - len("shuffle=")
        end = source.offset(shuffle.value.end_lineno or 0, shuffle.value.end_col_offset or 0)
        if source.text[start : start + 8] != "shuffle=":
            return ""
        edits = [replace(edits[0], start=start, end=end, text=edits[0].text.removeprefix(", "))]
    return source.diff(*edits)


def told_of_epochs(record: Record, place: Place | None) -> tuple[Place | None, str]:
    """The loop over epochs around the one over batches, and the diff that tells the sampler of the epoch there."""
    source = source_at(record, place)
    statement = source.statement(place.line) if source is not None and place is not None else None
    if source is None or statement is None:
        return None, ""
    loop = statement if isinstance(statement, ast.For) else None
    around = source.loops(statement)
    if loop is None or not around:
        return None, ""
    epochs = around[0]
    line = source.place(epochs.lineno)
    iterated = loop.iter
    while isinstance(iterated, ast.Call) and iterated.args and called(iterated) in ("enumerate", "tqdm", "zip"):
        iterated = iterated.args[0]
    if not isinstance(epochs, ast.For) or not isinstance(epochs.target, ast.Name) or not isinstance(iterated, (ast.Name, ast.Attribute)):
        return line, ""
    sampler = _sampler_name(source, iterated)
    first = epochs.body[0]
    return line, source.diff(source.before(first, f"{sampler}.set_epoch({epochs.target.id})"))


def _sampler_name(source: Source, loader: ast.expr) -> str:
    """The script's own name for the sampler of a loader, else `loader.sampler`."""
    name = source.segment(loader)
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and any(source.segment(t) == name for t in node.targets):
            given = next((k.value for k in node.value.keywords if k.arg == "sampler"), None)
            if isinstance(given, (ast.Name, ast.Attribute)):
                return source.segment(given)
    return f"{name}.sampler"
