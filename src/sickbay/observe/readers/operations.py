"""The operations that a loss was made from, and the activations among them."""

from __future__ import annotations

from sickbay.observe.reading import Reading

ACTIVATIONS = frozenset(
    "relu relu6 leaky_relu elu selu celu gelu silu mish sigmoid tanh softplus softsign hardtanh hardsigmoid hardswish prelu rrelu "
    "logsigmoid glu softmax log_softmax relu_ clamp".split()
)
MOST = 64


def read(reading: Reading) -> None:
    site, ancestors = reading.site, reading.ancestors
    site.operations = site.operations or tuple(reading.op(node) for node in ancestors[:MOST])
    site.activations = tuple(reading.op(n) for n in reversed(ancestors) if n.name in ACTIVATIONS)[:MOST]
