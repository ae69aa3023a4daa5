"""Random draws from what the model computed, through which no gradient can pass: `q.sample()` where `q.rsample()` is due, `torch.normal(mean, std)`.

Parameters behind such a draw may still be reached around it (by a KL term, say), so that nothing looks cut off; what is made of the draw teaches them nothing.
"""

from __future__ import annotations

from sickbay import facts
from sickbay.observe.reading import SHAPE_ONLY, Reading, line_of
from sickbay.observe.syntax import grad_switched_off_at
from sickbay.observe.trace import Node, trainable

DISCRETE = frozenset({"multinomial", "bernoulli", "poisson", "binomial", "randint_like", "one_hot", "floor", "round", "argmax"})
"""Operations of draws that have no gradient by nature, and no `rsample`: scripts weigh their log-probability, or let the gradient pass around them."""
SAMPLING = ".sample("
MOST = 8


def read(reading: Reading) -> None:
    drawing = [n for n in reading.ancestors if _draws(reading, n)]
    discrete = {line_of(reading.place(n)) for n in reading.trace.nodes if n.name in DISCRETE} if drawing else set()
    for node in drawing:
        if (
            line_of(reading.place(node)) not in discrete
            and (arriving := reading.arriving(node))
            and _taught_by(reading, node)
            and not _weighed(reading, node)
        ):
            _add(reading, node, reading.names(arriving))


def _add(reading: Reading, node: Node, names: tuple[str, ...]) -> None:
    place, known = reading.place(node), reading.known("drawn")
    key = line_of(place)
    before = known[key].parameters if key in known else ()
    if key in known or len(known) < MOST:
        known[key] = facts.Cut(op=node.name, place=place, parameters=tuple(dict.fromkeys(before + names)))


def _draws(reading: Reading, node: Node) -> bool:
    """torch.normal of what requires a gradient (it gives one of zeros), or an operation inside a distribution's `sample`, which switches gradients off itself."""
    if node.name == "normal" and node.grad:
        return any(node.attached)
    if node.grad or not node.cut:
        return False
    place = reading.place(node)
    if place is None or place.text is None or SAMPLING not in place.text or place.file is None or place.line is None:
        return False
    return grad_switched_off_at(place.file, place.line) is None


def _made_of(reading: Reading, node: Node) -> list[Node]:
    """What a value is made into on its way to the loss, nearest first."""
    made = {node.index}
    after = []
    for other in reversed(reading.ancestors):
        if other.index > node.index and made.intersection(other.inputs):
            made.add(other.index)
            after.append(other)
    return after


def _taught_by(reading: Reading, node: Node) -> bool:
    """The draw meets weights, and the gradient of what they make of it is wanted: it is a code, not the input of a target network."""
    trained = _flowing(reading)
    return any(other.index in trained and any(map(trainable, other.sources)) for other in _made_of(reading, node))


def _flowing(reading: Reading) -> set[int]:
    """Operations that a gradient of the loss passes."""
    flowing: set[int] = set()
    for node in reading.ancestors:  # nearest the loss first
        if node.output_attached and (not flowing or node.index in flowing):
            flowing.add(node.index)
            flowing.update(i for i, attached in zip(node.args, node.attached, strict=True) if i is not None and attached)
    return flowing


def _weighed(reading: Reading, node: Node) -> bool:
    """The draw is laid beside the mean that it was drawn around, as its log-probability does: then the gradient goes that way."""
    around = {maker.index for i in node.inputs if (maker := reading.producer(i)) is not None}
    drawn = {node.index}
    for other in _made_of(reading, node):
        if other.name in SHAPE_ONLY:
            drawn.add(other.index)
        elif drawn.intersection(other.inputs) and any((maker := reading.producer(i)) is not None and maker.index in around for i in other.inputs):
            return True
    return False
