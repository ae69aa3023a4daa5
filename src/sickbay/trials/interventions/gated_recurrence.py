"""A plain recurrent layer becomes one with gates: what it has read can stay in memory, and gradients reach it there."""

from __future__ import annotations

import math
from typing import Any

from sickbay.exams.randomness import own_randomness
from sickbay.trials.control import Call, Control
from sickbay.trials.registry import intervention


@intervention("put an LSTM that remembers in place of a plain recurrent layer", label="LSTM in place of the plain recurrent layer")
def gated_recurrence(control: Control) -> None:
    """An LSTM of the same sizes, which gives back what the plain layer does: outputs and the last hidden state. Its forget gates start as open as the length
    of the sequences asks for (Tallec & Ollivier, Can recurrent neural networks warp time?, 2018): closed ones forget as fast as the plain layer."""
    import torch

    class Gated(torch.nn.LSTM):
        opened = False

        def forward(self, given: Any, hidden: Any = None) -> Any:
            if not self.opened:
                self.opened = True
                with control.unseen():
                    _open_gates(self, _length(self, given))
            state = None if hidden is None else (hidden, torch.zeros_like(hidden))
            outputs, (last, _) = super().forward(given, state)
            return outputs, last

    def around(original: Call) -> Call:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            if type(self) is torch.nn.RNN:
                _become(self, Gated)

        return __init__

    control.wrap(torch.nn.RNN, "__init__", around)


def _become(layer: Any, kind: Any) -> None:
    """Of the same sizes."""
    options = {name: getattr(layer, name) for name in ("num_layers", "bias", "batch_first", "dropout", "bidirectional")}
    weight = next(layer.parameters())
    layer.__class__ = kind
    with own_randomness():
        kind.__init__(layer, layer.input_size, layer.hidden_size, device=weight.device, dtype=weight.dtype, **options)


def _length(layer: Any, given: Any) -> int:
    """Of the sequences, in steps."""
    if hasattr(given, "batch_sizes"):  # packed
        return len(given.batch_sizes)
    return int(given.shape[1 if layer.batch_first and given.dim() == 3 else 0])


def _open_gates(layer: Any, length: int) -> None:
    """The second quarter of an LSTM's bias is its forget gate's."""
    size = layer.hidden_size
    for name, parameter in layer.named_parameters():
        if name.startswith("bias_hh"):
            parameter[size : 2 * size] = math.log(max(length, 2))
