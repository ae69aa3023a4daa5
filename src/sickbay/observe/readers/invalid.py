"""Where NaN or infinity first came up behind a loss that is not finite, and which values were hidden on the way.

Read on traced steps only; `forensics.py` looks at the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from sickbay import facts
from sickbay.observe.places import expression_of
from sickbay.observe.ranges import RangeWatch, ranges_of
from sickbay.observe.readers.arguments import extent
from sickbay.observe.reading import Reading
from sickbay.observe.trace import Node

_CONSTANTS = frozenset({"masked_fill", "masked_fill_", "where", "full_like", "fill_", "triu", "tril", "setitem", "add", "iadd", "masked_scatter"})
"""Operations by which an infinity gets in on purpose (masks of attention): then the first NaN is what counts."""
_FILLS = frozenset("full full_like new_full fill_ masked_fill masked_fill_ masked_scatter where setitem tensor as_tensor".split())
"""Of these, the ones that can give infinity only if the script wrote it there: the start of a recursion in log space, a search for the least."""
LAYERS = frozenset(
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d lstm gru rnn_tanh rnn_relu embedding layer_norm "
    "batch_norm group_norm instance_norm multi_head_attention_forward scaled_dot_product_attention matmul mm bmm addmm baddbmm einsum bilinear".split()
)
_TAKE_DATA = LAYERS - {"multi_head_attention_forward", "scaled_dot_product_attention"} | frozenset(
    "mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy binary_cross_entropy_with_logits poisson_nll_loss gaussian_nll_loss".split()
)
"""Operations that nobody gives a mask: an infinity that enters there is in the data."""
_CHECKS = frozenset({"isnan", "isfinite", "isinf"})
_REPLACE = frozenset({"nan_to_num", "nan_to_num_", "nanmean", "nansum", "nanmedian"})
MOST_MASKS = 8
FEW_READS, KEEP_LOOKING = 4, 100
"""Where something could be hidden, the structure of the loss never counts as known: sampled steps are traced in full, up to so many."""


@dataclass(frozen=True)
class Origin:
    kind: str
    """As `FirstInvalid.origin`."""
    node: Node | None = None
    tensor: torch.Tensor | None = None


def read(reading: Reading) -> None:
    watch = ranges_of(reading.session)
    if watch is None:
        return
    _masked(reading, watch)
    _skipped(reading, watch)
    if reading.session.loss_finite is False and reading.ancestors and not reading.known("invalid"):
        reading.add("invalid", "first", first(reading, watch))


def first(reading: Reading, watch: RangeWatch) -> facts.FirstInvalid:
    """Where the loss, which is not finite, got it from."""
    return _fact(reading, watch, search(reading, watch, reading.ancestors[0]))


def search(reading: Reading, watch: RangeWatch, node: Node) -> Origin:
    """Back from a value that is not finite to the operation that was given only finite ones."""
    with_nan: Node | None = None
    while True:
        if _nan(watch, node):
            with_nan = node
        bad = _earliest(reading, watch, node)
        source = next((s for s in node.sources if _invalid(s)), None)
        if bad is not None:
            node = bad
        elif source is not None and (node.name in _TAKE_DATA or not _mask(source)):
            return _source(reading, source, node)
        elif (source is not None or node.name in _CONSTANTS or _log_of_mask(reading, watch, node)) and with_nan is not None:
            return Origin("operation", with_nan)
        elif (changed := _changed(reading, node)) is not None:
            return Origin("unknown" if reading.behind[changed] else "data", node)
        else:
            return Origin("operation" if not watch.finite(node.index) else "unknown", node)


def _log_of_mask(reading: Reading, watch: RangeWatch, node: Node) -> bool:
    """`scores + mask.log()`: the logarithm of zeros and ones, through which no gradient passes, is a mask of zeros and minus infinities."""
    found = watch.range(node.index)
    return node.name == "log" and not reading.behind[node.index] and found is not None and found[0] == -math.inf and found[1] in (0.0, -math.inf)


def _earliest(reading: Reading, watch: RangeWatch, node: Node) -> Node | None:
    """Of the inputs that are not finite the one to follow: NaN before infinity, then the one whose origin ran first."""
    bad = [i for i in dict.fromkeys(node.inputs) if not watch.finite(i)]
    if len(bad) > 1:
        bad = [i for i in bad if _nan(watch, reading.trace.nodes[i])] or bad
    if len(bad) > 1:
        bad.sort(key=lambda i: _began(reading, watch, i))
    return reading.trace.nodes[bad[0]] if bad else None


def _began(reading: Reading, watch: RangeWatch, index: int) -> int:
    """The number of the first operation behind a value that was not finite; an infinity that the script wrote itself counts as the last."""
    nodes, seen, first = reading.trace.nodes, {index}, len(reading.trace.nodes)
    todo = [index]
    while todo:
        node = nodes[todo.pop()]
        below = [i for i in node.inputs if not watch.finite(i)]
        if not below and not ((node.name in _CONSTANTS or _log_of_mask(reading, watch, node)) and not _nan(watch, node)):
            first = min(first, node.index)
        todo += [i for i in below if i not in seen]
        seen.update(below)
    return first


def _changed(reading: Reading, node: Node) -> int | None:
    """An input that was finite when it was made and is not any more: written to in place (`x[0] = nan`)."""
    return next((i for i in node.inputs if (held := reading.trace.made_by(i)) is not None and _invalid(held)), None)


def _source(reading: Reading, tensor: torch.Tensor, node: Node) -> Origin:
    trained = reading.registry.entry(tensor) is not None or tensor.requires_grad
    return Origin("parameter" if trained else "data", node, tensor)


def _nan(watch: RangeWatch, node: Node) -> bool:
    found = watch.range(node.index)
    return found is not None and math.isnan(found[0])


def _invalid(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.layout == torch.strided and not tensor.is_meta and not bool(torch.isfinite(tensor.detach()).all())


def _mask(tensor: torch.Tensor) -> bool:
    """A constant of zeros and infinities, not data: no NaN in it and nothing trained."""
    return not tensor.requires_grad and not bool(torch.isnan(tensor).any())


def _on_purpose(node: Node) -> bool:
    """Whether an infinity that begins here was written by the script: impossible paths of a recursion, forbidden transitions."""
    return node.name in _FILLS or any(_invalid(s) and _mask(s) for s in node.sources)


def _fact(reading: Reading, watch: RangeWatch, origin: Origin) -> facts.FirstInvalid:
    node = origin.node
    entry = reading.registry.entry(origin.tensor) if origin.tensor is not None else None
    fact = facts.FirstInvalid(
        step=reading.session.step,
        origin=origin.kind,
        name=entry.name if entry is not None else "",
        parameters_finite=not any(_invalid(p) for p in reading.parameters),
        traced=True,
        before_update=True,
        updated_at=reading.session.step - 1 if origin.kind == "parameter" and reading.session.step else None,
    )
    return fact if node is None else _with_operation(fact, reading, watch, node)


def _with_operation(fact: facts.FirstInvalid, reading: Reading, watch: RangeWatch, node: Node) -> facts.FirstInvalid:
    ends = [e for i in range(len(node.args)) if (e := extent(reading, node, i)) is not None and all(map(math.isfinite, e))]
    return replace(
        fact,
        op=node.name,
        place=reading.place(node),
        call=expression_of(*node.key) if node.key is not None else "",
        kind=_kind(watch.range(node.index)),
        in_layer=node.name in LAYERS,
        lowest=min((e[0] for e in ends), default=None),
        highest=max((e[1] for e in ends), default=None),
    )


def _kind(found: tuple[float, float] | None) -> str:
    if found is None:
        return ""
    return "nan" if math.isnan(found[0]) else "-inf" if found[0] == -math.inf else "inf"


# -- what was hidden ------------------------------------------------------------------------------------------------


def _masked(reading: Reading, watch: RangeWatch) -> None:
    """`nan_to_num` on the way to the loss, or a value on the way that was asked `isnan` and was not finite while the loss is."""
    on_the_way = {node.index for node in reading.ancestors}
    for node in reading.trace.nodes:
        hides = (node.name in _REPLACE and node.index in on_the_way) or (node.name in _CHECKS and not on_the_way.isdisjoint(node.inputs))
        # The model's own output, or what was made of it: filling gaps in the data is another matter.
        if not hides or node.key is None or not any(reading.behind[i] for i in node.inputs):
            continue
        known = reading.known("masked")
        if node.key not in known and len(known) >= MOST_MASKS:
            continue
        before: facts.Masked = known.get(node.key) or facts.Masked(
            way="replaced", op=node.name, place=reading.place(node), call=expression_of(*node.key)
        )
        known[node.key] = _looked(reading, watch, replace(before, looks=before.looks + 1), node)
        if not known[node.key].times and before.looks < KEEP_LOOKING:
            reading.site.reads = min(reading.site.reads, FEW_READS)


def _skipped(reading: Reading, watch: RangeWatch) -> None:
    """The same expression gave a loss before, in this very step: one that was not finite and was then not used (`if torch.isnan(loss): continue`)."""
    root = reading.ancestors[0] if reading.ancestors else None
    if root is None or root.key is None:
        return
    on_the_way = {node.index for node in reading.ancestors}
    others = [
        n
        for n in reading.trace.nodes[watch.used : root.index]
        if n.key == root.key and n.name == root.name and n.output_attached and n.index not in on_the_way
    ]
    left_out = [n for n in others if not watch.finite(n.index)]
    known = reading.known("masked")
    key = ("skipped", root.key)
    before: facts.Masked | None = known.get(key)
    if before is None and not left_out:
        return
    step = reading.session.step
    if before is None:
        origin = search(reading, watch, left_out[0])
        at = reading.place(origin.node) if origin.node is not None else None
        before = facts.Masked(
            way="skipped", op="loss", place=reading.place(root), call=expression_of(*root.key), first=step, looks=reading.site.reads,
            origin=origin.kind, origin_op=origin.node.name if origin.node is not None else "", origin_at=at,
        )  # fmt: skip
    known[key] = replace(before, times=before.times + len(left_out), looks=before.looks + len(others) + 1, last=step if left_out else before.last)


def _looked(reading: Reading, watch: RangeWatch, before: facts.Masked, node: Node) -> facts.Masked:
    bad = next((reading.trace.nodes[i] for i in node.inputs if not watch.finite(i)), None)
    if bad is None or reading.session.loss_finite is False:
        return before
    if before.times:
        return replace(before, times=before.times + 1, last=reading.session.step)
    origin = search(reading, watch, bad)
    if origin.node is not None and not _nan(watch, bad) and _on_purpose(origin.node):
        return before
    return replace(
        before,
        times=1,
        first=reading.session.step,
        last=reading.session.step,
        origin=origin.kind,
        origin_op=origin.node.name if origin.node is not None else "",
        origin_at=reading.place(origin.node) if origin.node is not None else None,
    )
