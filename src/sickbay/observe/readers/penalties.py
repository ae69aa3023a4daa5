"""Terms of the loss that are made from weights alone: a regulariser written by hand (the sum of all |w|, of all w²)."""

from __future__ import annotations

from dataclasses import replace

from sickbay import facts
from sickbay.observe.places import expression_of
from sickbay.observe.reading import Reading
from sickbay.observe.trace import Node

_ADD = frozenset({"add", "radd", "iadd"})


def read(reading: Reading) -> None:
    root = reading.trace.maker(reading.loss)
    if root is None or reading.loss.dim():
        return
    terms = [node for node in _terms(reading, root) if node.value is not None and _of_weights(reading, node)]
    if not terms:
        return
    value, loss = sum(float(n.value) for n in terms if n.value is not None), float(reading.loss.detach())
    known, place = reading.known("penalties"), reading.place(terms[0])
    if not known:
        call = expression_of(*terms[0].key) if terms[0].key is not None else ""
        reading.add("penalties", 0, facts.Penalty(place=place, call=call, first=value, first_loss=loss), most=1)
    known[0] = replace(known[0], last=value, last_loss=loss, step=reading.session.step)


def _terms(reading: Reading, root: int) -> list[Node]:
    """What the loss is the sum of."""
    found, todo = [], [root]
    while todo:
        node = reading.trace.nodes[todo.pop()]
        if node.name in _ADD:
            todo += node.inputs
        else:
            found.append(node)
    return found


def _of_weights(reading: Reading, node: Node) -> bool:
    """Nothing but weights went into it, and matrices among them: a single number that is learned (a noise level) has a term of its own by right."""
    made = reading.trace.ancestors(node.index)
    if any(n.shape and not n.args for n in made):
        return False  # torch.randn: data that the step draws itself
    tensors = [t for n in made for t in n.sources]
    return all(t.requires_grad or not t.dim() for t in tensors) and any(t.dim() > 1 and reading.registry.entry(t) is not None for t in tensors)
