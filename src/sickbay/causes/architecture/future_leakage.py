"""A prediction can see its own answer: the model reads the value that it is asked to predict.

## What happens

A model that is to predict the next token (or the next value of a series) sees that token in its input: the causal mask is missing or one
position too generous, a recurrent layer also reads backwards, a convolution pads on both sides, or the target was not moved. Copying is easier than
predicting, so the training loss falls far below what the data allow, and generated text is rubbish.

## How we know

Proof, in two parts. The targets of the loss are compared with the model's inputs: they are equal, value by value, to the inputs some
positions ahead. Then, on a copy of the model in eval mode, one position of the input is replaced: if the prediction that has this very
position as its target changes, it knows its answer. The first operation in which the change runs backwards in time is the place.

## Looks like it but is not

- Masked language models, taggers, autoencoders: their targets are not later inputs, so reading in both directions is right.
- Inputs that the model moves itself (a start token in front, labels moved inside): the experiment sees that the answer is not used.
- Padding and positions that the loss leaves out.

## Fix

A causal mask (`is_causal=True`, `triu(diagonal=1)`), one direction only, padding on the left only, targets one position ahead.

## References

- Vaswani et al. 2017, section 3.2.3 (masking); van den Oord et al. 2016, WaveNet (causal convolutions).
- Kapoor and Narayanan 2023, Leakage and the reproducibility crisis in machine-learning-based science.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from sickbay.causes.evidence import hint, located, proof, strong
from sickbay.causes.registry import cause
from sickbay.facts import FutureLeak
from sickbay.nouns import Evidence, Fix, Place
from sickbay.record.reader import Record
from sickbay.script.fixing import Edit, Source, called, is_number, keyword, mend, source_at
from sickbay.script.triangles import wrong_triangle
from sickbay.signs import Signs

ATTENTION = ("softmax", "scaled_dot_product_attention", "multi_head_attention_forward")
RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
MASKS = {
    "TransformerEncoder": "mask",
    "TransformerEncoderLayer": "src_mask",
    "TransformerDecoder": "tgt_mask",
    "TransformerDecoderLayer": "tgt_mask",
    "Transformer": "tgt_mask",
    "MultiheadAttention": "attn_mask",
}


FEW = 0.2
"""Of the positions: with a mask that is moved by one, as many earlier predictions change as there are layers; without one, all of them."""


@cause(
    code="A212",
    level="architecture",
    title="predictions see their own answers",
    why="Copying the answer is easier than predicting it, so the loss falls and nothing is learned that helps where the answer is not there.",
    explains={"overfitting", "val-rising", "train-val-gap", "val-flat-from-start"},
)
def future_leakage(record: Record, signs: Signs) -> Iterator[Evidence]:
    leaks = {(leak.model, leak.op, leak.place, leak.ahead): leak for leak in reversed(record.facts.probes.leaks)}  # the first of each kind
    for leak in reversed(leaks.values()):
        place = _place(record, leak)
        same = "the input at the same position" if leak.ahead == 0 else f"the input {leak.ahead} position{'s' if leak.ahead > 1 else ''} later"
        yield proof(
            f"the target is {same} ({leak.compared:,} values compared, all equal), and replacing that input changes the prediction for it "
            f"(on a copy of {leak.model or 'the model'} at step {leak.step}, in eval mode)",
            place,
            (leak.step, leak.step),
            compared=leak.compared,
            effect=leak.effect,
            positions=leak.positions,
        )
        if leak.op:
            what = f"`{leak.call}`" if leak.call else leak.op
            yield strong(f"later positions first reach earlier ones in {what}{located(leak.place)}", leak.place)
        if leak.ahead and leak.earlier <= leak.ahead:
            yield hint(f"only the nearest {leak.earlier} of the earlier predictions change: the mask is there, but moved by {leak.earlier}")


def _place(record: Record, leak: FutureLeak) -> Place | None:
    if leak.op in ATTENTION and (mask := _generous_mask(record, leak) or _wrong_mask(record, leak)) is not None:
        source, found = mask
        return source.place(found.lineno)
    return leak.place or leak.loss_at


def _wrong_mask(record: Record, leak: FutureLeak) -> tuple[Source, ast.Call] | None:
    """The mask that attention is given here shows the future and hides the past."""
    source = source_at(record, leak.place)
    triangle = wrong_triangle(source, leak.place.line) if source is not None and leak.place is not None else None
    return (source, triangle) if source is not None and triangle is not None else None


def _generous_mask(record: Record, leak: FutureLeak) -> tuple[Source, ast.expr] | None:
    """The diagonal of the one `triu` or `tril` in the source, if the mask that it makes leaves later positions open. (Each layer lets them come as many steps
    nearer, so that what was seen is a multiple of it.)"""
    source = source_at(record, leak.place)
    if source is None or leak.earlier > max(leak.ahead, FEW * leak.positions):
        return None
    found = []
    for call in source.calls("triu", "tril"):
        given = keyword(call, "diagonal")
        numbers = [given.value] if given is not None else [a for a in call.args[-1:] if is_number(a)]
        limit = 1 if called(call) == "triu" else 0
        found += [n for n in numbers if is_number(n) and isinstance(n.value, int) and n.value > limit and leak.earlier % (n.value - limit) == 0]
    return (source, found[0]) if len(found) == 1 else None


def fix(record: Record, evidence: Sequence[Evidence]) -> Fix:
    leak = next(iter(record.facts.probes.leaks), FutureLeak())
    if leak.ahead == 0:
        return Fix("give the loss the next value as target, not the one that the model reads", "loss_fn(output[:, :-1], x[:, 1:])", "advice")
    if leak.op in RECURRENT:
        return mend(
            "read forwards only (the layer after it then gets half the width)",
            _diff(record, leak, _one_direction),
            "nn.LSTM(..., bidirectional=False)",
            "consent",
        )
    if leak.op.startswith(("conv", "pad")):
        snippet = "x = F.pad(x, (kernel_size - 1, 0))  # and padding=0 in the layer"
        return mend("pad on the left only, so that the kernel ends at its own position", _diff(record, leak, _on_the_left), snippet, "consent")
    if (mask := _generous_mask(record, leak)) is not None:
        source, diagonal = mask
        call = source.parents.get(diagonal)
        call = source.parents.get(call) if isinstance(call, ast.keyword) else call
        limit = 1 if isinstance(call, ast.Call) and called(call) == "triu" else 0
        return mend("the mask must hide the very next position, too", source.diff(source.replacing(diagonal, str(limit))), "", "consent")
    if leak.op in ATTENTION and (turned := _wrong_mask(record, leak)) is not None:
        return mend("keep the other triangle: what came before", turned[0].diff(_other_triangle(*turned)), "torch.tril(torch.ones(T, T))", "consent")
    if leak.op in ATTENTION:
        snippet = "scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), float('-inf'))"
        return mend("hide later positions with a causal mask", _diff(record, leak, _mask), snippet, "consent")
    return Fix("let each position use only itself and what came before", "x[:, : t + 1]", "advice")


def _other_triangle(source: Source, call: ast.Call) -> Edit | None:
    """`triu(x)` keeps as `tril(x)`, `tril(x, -1)` hides as `triu(x, 1)`."""
    text, upper = source.segment(call), called(call) == "triu"
    name, other = ("triu", "tril") if upper else ("tril", "triu")
    return source.replacing(call, text.replace(name, other, 1) if upper else text.replace(name, other, 1).replace("-1", "1"))


def _diff(record: Record, leak: FutureLeak, edit_of: object) -> str:
    source = source_at(record, leak.place)
    if source is None or leak.place is None or not callable(edit_of):
        return ""
    edit = edit_of(source, leak)
    return source.diff(edit) if edit is not None else ""


def _one_direction(source: Source, leak: FutureLeak) -> Edit | None:
    line = leak.place.line if leak.place is not None else None
    for call in source.calls("LSTM", "GRU", "RNN", line=line):
        if (given := keyword(call, "bidirectional")) is not None:
            return source.replacing(given.value, "False")
    return None


def _on_the_left(source: Source, leak: FutureLeak) -> Edit | None:
    """`F.pad(x, (k, k))` as `F.pad(x, (2 * k, 0))`: as much as before."""
    for call in source.calls("pad", line=leak.place.line if leak.place is not None else None):
        sides = call.args[1] if len(call.args) > 1 else None
        if isinstance(sides, (ast.Tuple, ast.List)) and len(sides.elts) == 2 and ast.unparse(sides.elts[0]) == ast.unparse(sides.elts[1]):
            one = source.segment(sides.elts[0])
            return source.replacing(sides, f"(2 * {one if isinstance(sides.elts[0], (ast.Name, ast.Attribute, ast.Constant)) else f'({one})'}, 0)")
    return None


def _mask(source: Source, leak: FutureLeak) -> Edit | None:
    line = leak.place.line if leak.place is not None else None
    for call in source.calls("scaled_dot_product_attention", line=line):
        return source.giving(call, "is_causal", "True")
    for call in source.calls("softmax", line=line):
        scores = (
            call.func.value if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) not in ("F", "torch", "nn.functional") else None
        )
        scores = scores or (call.args[0] if call.args else None)
        if scores is not None:
            text = source.segment(scores)
            inside = text if isinstance(scores, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)) else f"({text})"
            return source.replacing(scores, f'{inside}.masked_fill(torch.ones_like({text}, dtype=torch.bool).triu(1), float("-inf"))')
    if (name := MASKS.get(leak.layer_kind)) is not None and line is not None:
        for call in source.calls(line=line):
            if called(call) and ast.unparse(call) == _plain(leak.call) and keyword(call, name) is None:
                length = f"{source.segment(call.args[0])}.shape[1]" if call.args else "T"
                return source.giving(call, name, f"nn.Transformer.generate_square_subsequent_mask({length})")
    return None


def _plain(call: str) -> str:
    try:
        return ast.unparse(ast.parse(call, mode="eval"))
    except SyntaxError:
        return ""
