"""Reads how the loss came about: which operations feed it, which parameters it reaches, where a gradient was lost."""

from __future__ import annotations

import linecache
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from sickbay import facts
from sickbay.nouns import Place
from sickbay.observe.observer import ForwardCall, LossCall, Observer, Site
from sickbay.observe.places import expression, expression_of, here, place_of, user_frame
from sickbay.observe.syntax import grad_switched_off_at, operands, receiver
from sickbay.observe.trace import Node, Trace

if TYPE_CHECKING:
    from sickbay.observe.session import Session

SHAPE_ONLY = frozenset(
    "view reshape squeeze unsqueeze flatten permute transpose t T mT movedim swapaxes contiguous clone to float double half "
    "type getitem narrow expand expand_as view_as reshape_as unflatten chunk split select index_select type_as cpu cuda".split()
)
"""Operations that pass values on unchanged: what feeds them feeds what follows."""
ACTIVATIONS = frozenset(
    "relu relu6 leaky_relu elu selu celu gelu silu mish sigmoid tanh softplus softsign hardtanh hardsigmoid hardswish prelu rrelu "
    "logsigmoid glu softmax log_softmax relu_ clamp".split()
)
_EXPECT_LOGITS = frozenset({"log_softmax", "cross_entropy", "binary_cross_entropy_with_logits", "multilabel_soft_margin_loss"})
_SQUASH = frozenset({"softmax", "sigmoid", "softmin"})
_ELEMENTWISE = frozenset({"sub", "rsub", "add", "mul", "div", "truediv", "radd", "rmul", "isub", "pow", "absolute_difference", "maximum", "minimum"})
_LOSS_ELEMENTWISE = frozenset(
    {"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "poisson_nll_loss", "gaussian_nll_loss", "kl_div", "soft_margin_loss"}
)
_NO_GRADIENT = frozenset({"round", "floor", "ceil", "sign", "trunc", "heaviside", "sgn"})
"""Attached to the graph, but their gradient is zero everywhere."""
_EXITS = frozenset({"item", "numpy", "tolist", "float", "array"})
EARLY_READS, ENOUGH_READS, MOST_READS = 3, 6, 40


class GraphWatch(Observer):
    """Owns the trace: switches it on for sampled steps, reads it when backward begins."""

    name = "graph"
    sees = "the structure of the loss (operations, reachability and their lines)"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.trace = session.trace = Trace(session, self._output)
        self.calls: list[LossCall] = []
        self.outside_python = False

    # -- when to follow -----------------------------------------------------------------------------------------

    def forward_begins(self, call: ForwardCall) -> None:
        if not self.outside_python and (call.module._compiled_call_impl is not None or type(call.module).__name__ == "OptimizedModule"):
            self.compiled(call.module)  # it was compiled before we came
        if self.session.backwards == 0 and call.grad:
            if not self.trace.entered:
                self._begin()
        elif self.trace.entered and not self.session.tracing:
            self.trace.end()  # backward() itself runs inside the mode, where it can't be left

    def step_closed(self, _: int) -> None:
        self.calls.clear()
        self.trace.clear()  # it holds the step's tensors

    def step_planned(self) -> None:
        if self.session.sampled:
            self._begin()

    def _begin(self) -> None:
        if self.outside_python or self.session.no_trace or self.trace.truncated:
            return
        step = self.session.step
        known = bool(self.session.sites) and all(site.reads >= ENOUGH_READS for site in self.session.sites.values())
        # Landmark steps are read again: the structure may have changed meanwhile.
        self.trace.outputs_only = known and bool(step & (step - 1)) and self.session.loss_finite is not False
        if not self.trace.begin():
            self.session.limit(self.sees, "the script holds a torch function mode open while it trains; operations were not followed")

    def compiled(self, _: Any) -> None:
        self.outside_python = True
        self.trace.end()
        self.session.limit("layers and operations inside torch.compile", "compiled code runs outside Python; only whole models are seen")

    def backward_ends(self, _: Any) -> None:
        # A second loss of the same step may be computed now; keep what is known of the first.
        if (
            self.session.sampled
            and self.trace.nodes
            and not self.trace.outputs_only
            and not self.trace.truncated
            and self.session.since_step < EARLY_READS
        ):
            self._begin()

    def step_begins(self, optimizer: Any, key: Any, closure: bool) -> None:
        if not closure:  # with a closure, forward and backward are still to come
            self.trace.end()

    def step_ends(self, _: Any) -> None:
        self.trace.end()

    def finish(self) -> None:
        self.trace.end()

    # -- what was seen ------------------------------------------------------------------------------------------

    def _output(self, node: Node, output: torch.Tensor) -> None:
        for listener in self.session.on_output:
            listener(node, output)

    def loss_called(self, call: LossCall | None) -> None:
        if call is not None and call.grad and self.session.tracing:
            call.place = here()
            if (frame := user_frame()) is not None:
                call.call = expression(frame)
            self.calls.append(call)

    def backward_begins(self, loss: torch.Tensor, site: Site) -> None:
        if site.backwards == 1 and (frame := user_frame()) is not None:
            site.variable = receiver(expression(frame))
        if loss.grad_fn is None and loss.requires_grad:
            site.leaf = True
        if self.session.tracing or self.trace.entered:
            self.trace.end()
            if site.reads < MOST_READS and self.trace.nodes:
                started = self.session.clock()
                Reading(self, site, loss).read()
                site.reads += 1
                self.session.sample_seconds += self.session.clock() - started

    def report(self) -> None:
        registry = self.session.registry
        unreached = {e.name for e in registry.parameters.values() if not (e.reached and e.nonzero)}
        self.session.writer.fact("losses", [self._fact(site, unreached) for site in self.session.sites.values()])

    def _fact(self, site: Site, unreached: set[str]) -> facts.Loss:
        cuts = [replace(c, parameters=tuple(p for p in c.parameters if p in unreached)) for c in site.cuts.values()]
        keep = self.session.keep_source
        for place in (
            site.place,
            *(c.place for c in cuts),
            *(h.called_at for h in site.heads.values()),
            *(b.place for b in site.broadcasts.values()),
        ):
            keep(place)
        for pair in site.squashed.values():
            keep(pair.inner.place)
            keep(pair.outer.place)
        return facts.Loss(
            index=site.index,
            backward_at=site.place,
            variable=site.variable,
            backwards=site.backwards,
            optimizers=tuple(sorted(site.optimizers)),
            heads=tuple(site.heads.values()),
            operations=site.operations,
            squashed=tuple(site.squashed.values()),
            broadcasts=tuple(site.broadcasts.values()),
            cuts=tuple(c for c in cuts if c.parameters),
            leaf=site.leaf,
            graph_reads=site.reads,
            activations=site.activations,
        )


class Reading:
    """One reading of the trace behind one loss."""

    def __init__(self, watch: GraphWatch, site: Site, loss: torch.Tensor) -> None:
        self.watch = watch
        self.site = site
        self.loss = loss
        self.session = watch.session
        self.registry = watch.session.registry
        self.trace = watch.trace
        self.parameters: list[torch.Tensor] = []
        self._bits: dict[int, int] = {}
        self.behind: list[int] = []
        """For each node: bit set of trainable parameters its value was made from, gradient or not."""
        self.live: list[int] = []
        """...and those that a gradient can reach from here."""

    def read(self) -> None:
        self._flow()
        root = self.trace.maker(self.loss)
        ancestors = self.trace.ancestors(root) if root is not None else []
        reached = self.live[root] if root is not None else 0
        on_the_way = {node.index for node in ancestors}
        self.site.operations = self.site.operations or tuple(self.op(node) for node in ancestors[:64])
        self.site.activations = tuple(self.op(n) for n in reversed(ancestors) if n.name in ACTIVATIONS)[:64]
        self._cuts(ancestors, reached, root is None)
        self._squashed(ancestors)
        self._broadcasts(ancestors)
        self._heads(on_the_way)

    # -- parameters ---------------------------------------------------------------------------------------------

    def _bit(self, tensor: torch.Tensor) -> int:
        if not (tensor.requires_grad and tensor.is_leaf):
            return 0
        index = self._bits.get(id(tensor))
        if index is None:
            index = self._bits[id(tensor)] = len(self.parameters)
            self.parameters.append(tensor)
        return 1 << index

    def _flow(self) -> None:
        for node in self.trace.nodes:
            behind = live = 0
            for i in node.inputs:
                behind |= self.behind[i]
                live |= self.live[i]
            for tensor in node.sources:
                if (entry := self.registry.entry(tensor)) is not None:
                    entry.called = True
                bit = self._bit(tensor)
                behind |= bit
                live |= bit
            self.behind.append(behind)
            self.live.append(live if node.output_attached and node.name not in _NO_GRADIENT else 0)

    def _names(self, bits: int) -> tuple[str, ...]:
        names = []
        for i, tensor in enumerate(self.parameters):
            if bits >> i & 1 and (entry := self.registry.entry(tensor)) is not None:
                names.append(entry.name)
        return tuple(names)

    # -- findings -----------------------------------------------------------------------------------------------

    def _cuts(self, ancestors: list[Node], reached: int, rebuilt: bool) -> None:
        candidates = [n for n in ancestors if n.cut or n.name in _NO_GRADIENT]
        if rebuilt or not any(self.behind[n.index] & ~reached for n in candidates):
            # The value left torch altogether and came back as a new tensor.
            candidates += [n for n in self.trace.nodes if n.name in _EXITS and self.behind[n.index] and not n.shape]
            candidates += [n for n in self.trace.nodes if n.cut and rebuilt]
        for node in candidates:
            lost = self.behind[node.index] & ~reached
            if lost:
                self._add_cut(node, self._names(lost))

    def _add_cut(self, node: Node, names: tuple[str, ...]) -> None:
        name, place = node.name, self.place(node)
        if not node.grad and node.stack:
            name, place = "no_grad", self._no_grad_place(node) or place
        key = (name, place.file if place else None, place.line if place else None)
        known = self.site.cuts.get(key)
        merged = tuple(dict.fromkeys((known.parameters if known else ()) + names))
        self.site.cuts[key] = facts.Cut(op=name, place=place, parameters=merged)

    def _no_grad_place(self, node: Node) -> Place | None:
        for code, lasti in node.stack:
            inner = place_of(code, lasti)
            if inner.file and inner.line and (line := grad_switched_off_at(inner.file, inner.line)):
                return Place(inner.file, line, self._layer(node), linecache.getline(inner.file, line).strip() or None)
        return None

    def _squashed(self, ancestors: list[Node]) -> None:
        for outer in ancestors:
            inner = self._producer(outer.args[0]) if outer.name in _EXPECT_LOGITS and outer.args else None
            if inner is not None and (inner.name in _SQUASH or self._softmax_by_hand(inner)):
                made = self.op(inner)
                pair = facts.LogitsThroughSoftmax(outer=self.op(outer), inner=made if inner.name in _SQUASH else replace(made, name="softmax"))
                self.site.squashed.setdefault((outer.key, inner.key, inner.name), pair)

    def _softmax_by_hand(self, node: Node) -> bool:
        """exp(x) / exp(x).sum(...): the same exponentials above and below."""
        if node.name not in ("div", "truediv") or len(node.args) < 2:
            return False
        above, below = self._producer(node.args[0]), self._producer(node.args[1])
        if above is None or below is None or above.name != "exp" or below.name != "sum" or not below.args:
            return False
        return self._producer(below.args[0]) is above

    def _broadcasts(self, ancestors: list[Node]) -> None:
        for node in ancestors:
            in_loss = node.name in _LOSS_ELEMENTWISE
            if (node.name not in _ELEMENTWISE and not in_loss) or len(node.shapes) < 2 or node.key is None:
                continue
            left, right = node.shapes[:2]
            found = _outer(left, right, same_rank=in_loss)
            sides = [self._depends(node, 0), self._depends(node, 1)]
            if found is None or sides[0] == sides[1] or len(self.site.broadcasts) >= 8:
                continue
            self.site.broadcasts.setdefault(node.key, self._broadcast(node, found, sides[0], in_loss))

    def _broadcast(self, node: Node, result: tuple[int, ...], left_predicts: bool, in_loss: bool) -> facts.Broadcast:
        call = next((c.call for c in self.watch.calls if in_loss and c.call and _key_of(c.place) == _key_of(self.place(node))), "")
        code, lasti = node.key or (None, 0)
        text = call or (expression_of(code, lasti) if code else "")
        left_text, right_text = operands(text)
        return facts.Broadcast(
            op=node.name,
            place=self.place(node),
            call=text,
            left=node.shapes[0],
            right=node.shapes[1],
            result=result,
            left_text=left_text,
            right_text=right_text,
            prediction="left" if left_predicts else "right",
            in_loss_function=in_loss,
        )

    def _depends(self, node: Node, argument: int) -> bool:
        maker = node.args[argument]
        return bool(self.behind[maker]) if maker is not None else node.attached[argument]

    def _heads(self, on_the_way: set[int]) -> None:
        for call in self.watch.calls:
            maker = self.trace.maker(call.output)
            if maker is None or maker not in on_the_way:
                continue
            key = (call.function, _key_of(call.place))
            if key not in self.site.heads and len(self.site.heads) < 16:
                self.site.heads[key] = self._head(call)

    def _head(self, call: LossCall) -> facts.Head:
        shape = tuple(call.input.shape)
        classes = shape[1] if call.function in ("cross_entropy", "nll_loss") and len(shape) > 1 else None
        return facts.Head(
            function=call.function,
            called_at=call.place,
            call=call.call,
            module=call.module,
            input_shape=shape,
            target_shape=tuple(call.target.shape) if call.target is not None else (),
            input_dtype=str(call.input.dtype).removeprefix("torch."),
            target_dtype=str(call.target.dtype).removeprefix("torch.") if call.target is not None else "",
            classes=classes,
            reduction=str(call.options.get("reduction", "mean")),
            label_smoothing=float(call.options.get("label_smoothing") or 0.0),
            fed_by=tuple(self._chain(self.trace.maker(call.input))),
        )

    # -- walking ------------------------------------------------------------------------------------------------

    def _producer(self, index: int | None) -> Node | None:
        """The operation that really made a value: past views, casts and copies."""
        while index is not None:
            node = self.trace.nodes[index]
            if node.name not in SHAPE_ONLY:
                return node
            index = node.args[0] if node.args else None
        return None

    def _chain(self, index: int | None, length: int = 8) -> Iterator[facts.Op]:
        for _ in range(length):
            node = self._producer(index)
            if node is None:
                return
            yield self.op(node)
            index = next((i for i, attached in zip(node.args, node.attached, strict=True) if i is not None and attached), None)

    # -- naming -------------------------------------------------------------------------------------------------

    def op(self, node: Node) -> facts.Op:
        return facts.Op(name=node.name, place=self.place(node), shape=node.shape)

    def _layer(self, node: Node) -> str | None:
        module = node.layer() if node.layer is not None else None
        return self.registry.layer_name(module) or None if module is not None else None

    def place(self, node: Node) -> Place | None:
        """The user's line of an operation. Inside a container such as nn.Sequential that is where the layer was made."""
        key = node.key
        module = node.layer() if node.layer is not None else None
        if module is not None and _is_torchs(type(module)) and node.parent is not None and _is_torchs(node.parent):
            key = self.registry.built_at(module) or key
        if key is None:
            return None
        return replace(place_of(*key), layer=self._layer(node))


def _is_torchs(kind: type) -> bool:
    return kind.__module__.startswith("torch.")


def _key_of(place: Place | None) -> tuple[str | None, int | None] | None:
    return (place.file, place.line) if place is not None else None


def _outer(left: tuple[int, ...], right: tuple[int, ...], same_rank: bool) -> tuple[int, ...] | None:
    """The broadcast shape if it is larger than both operands and came about silently: their ranks differ, as (N, 1)
    against (N,). Code that wants all pairs writes the same rank on both sides, (N, 1) against (1, N)."""
    if left == right or not left or not right or (len(left) == len(right) and not same_rank):
        return None
    try:
        result: tuple[int, ...] = tuple(torch.broadcast_shapes(left, right))
    except RuntimeError:
        return None
    size = _product(result)
    return result if size > _product(left) and size > _product(right) else None


def _product(shape: Iterable[int]) -> int:
    product = 1
    for n in shape:
        product *= n
    return product
