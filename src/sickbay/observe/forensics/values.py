"""What each node of a live graph gave: kept by itself or by one that used it, the leaf itself, or worked out again from its inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import torch

from sickbay.observe.forensics.live import LEAF, Live, saved, shape_of

MOST_ELEMENTS = 2**26
"""Larger results are not worked out again."""
FINITE, NAN, INF, MINUS_INF = "", "nan", "inf", "-inf"


def kind_of(tensor: torch.Tensor) -> str:
    """ "" if all values are finite, else "nan", "inf" or "-inf"."""
    if not tensor.numel() or tensor.is_meta or tensor.layout != torch.strided:
        return FINITE
    if tensor.is_complex():
        return FINITE if bool(torch.isfinite(tensor).all()) else NAN
    if not tensor.is_floating_point():
        return FINITE
    low, high = (v.item() for v in torch.aminmax(tensor.detach()))
    return NAN if math.isnan(low) else INF if high == math.inf else MINUS_INF if low == -math.inf else FINITE


class Values:
    """Of one live graph."""

    def __init__(self, live: Live) -> None:
        self.live = live
        self.sources: list[list[torch.Tensor]] = [[] for _ in live.nodes]
        """For each node: kept inputs that no node made (data, masks, constants)."""
        self._known: dict[int, torch.Tensor | None] = {}
        self._kinds: dict[int, str | None] = {}
        self._single = False
        self.kept: list[dict[str, torch.Tensor]] = [{} for _ in live.nodes]
        index = {node: i for i, node in enumerate(live.nodes)}
        for i, node in enumerate(live.nodes):
            if live.names[i] == LEAF:
                self._known[i] = node.variable.detach()
                continue
            for name, tensor in saved(node):
                self.kept[i][name] = tensor.detach()
                maker = index.get(tensor.grad_fn) if tensor.grad_fn is not None else None
                if maker is not None and tensor.output_nr == 0:
                    self._known[maker] = tensor.detach()
                elif maker is None and not tensor.requires_grad and not name.startswith("result"):
                    self.sources[i].append(tensor)

    def value(self, index: int) -> torch.Tensor | None:
        """What a node gave, where that can be known."""
        if index not in self._known:
            self._known[index] = None  # also ends a circle
            self._known[index] = self._worked_out(index)
        return self._known[index]

    def _worked_out(self, index: int) -> torch.Tensor | None:
        node, rule = self.live.nodes[index], _RULES.get(self.live.names[index])
        shape = shape_of(node)
        if rule is None or (shape is not None and math.prod(shape) > MOST_ELEMENTS):
            return None
        with suppress(Exception):  # a shape or an option that the rule does not know: then the value is simply not known
            with torch.no_grad():
                result = rule(self, index, node)
            return result if shape is None or tuple(result.shape) == shape else None
        return None

    def given(self, index: int, name: str, position: int) -> torch.Tensor:
        """One input of a node: kept under a name, or what the node at that position gave."""
        found = self.kept[index].get(name)
        if found is None:
            child = self.live.children[index][position]
            found = self.value(child) if child is not None else None
        if found is None:
            raise LookupError(name)
        return found.float() if self._single and found.is_floating_point() else found

    def fits_single(self, index: int) -> bool | None:
        """Whether a half-precision operation on the same values is finite in float32; None if that is not known."""
        value = self.value(index)
        if value is None or value.dtype not in (torch.float16, torch.bfloat16):
            return None
        self._single = True
        try:
            again = self._worked_out(index)
        finally:
            self._single = False
        return None if again is None else not kind_of(again)

    def kind(self, index: int) -> str | None:
        """ "" if what a node gave is finite, "nan", "inf" or "-inf" if not; None if that is not known."""
        if index not in self._kinds:
            value = self.value(index)
            self._kinds[index] = kind_of(value) if value is not None else None
        return self._kinds[index]

    def inputs(self, index: int) -> list[torch.Tensor]:
        """What went into a node, as far as known: the argument at fault first (of a division, the divisor)."""
        kept = {k: v for k, v in self.kept[index].items() if not k.startswith("result") and k not in ("condition", "mask", "output")}
        made = [v for i in self.live.made(index) if (v := self.value(i)) is not None]
        if self.live.names[index].startswith("Div") and "other" in kept:
            return [kept["other"]]
        found = [v for v in (*kept.values(), *made) if v.is_floating_point() and v.numel()]
        return [v for i, v in enumerate(found) if not any(v.data_ptr() == w.data_ptr() and v.shape == w.shape for w in found[:i])]


Rule = Callable[[Values, int, Any], torch.Tensor]


def _unary(function: Callable[[torch.Tensor], torch.Tensor]) -> Rule:
    return lambda values, i, node: function(values.given(i, "self", 0))


def _binary(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], second: str = "other") -> Rule:
    return lambda values, i, node: function(values.given(i, "self", 0), values.given(i, second, 1))


def _shifted(sign: int) -> Rule:
    return lambda values, i, node: torch.add(values.given(i, "self", 0), values.given(i, "other", 1), alpha=sign * node._saved_alpha)


def _reshaped(values: Values, i: int, node: Any) -> torch.Tensor:
    return values.given(i, "self", 0).reshape(shape_of(node) or ())


def _expanded(values: Values, i: int, node: Any) -> torch.Tensor:
    return values.given(i, "self", 0).expand(shape_of(node) or ())


def _selected(values: Values, i: int, node: Any) -> torch.Tensor:
    x = values.given(i, "self", 0)
    dim = _signed(node._saved_dim, x.dim())
    return x.select(dim, _signed(node._saved_index, x.shape[dim]))


def _transposed(values: Values, i: int, node: Any) -> torch.Tensor:
    x = values.given(i, "self", 0)
    return x.transpose(_signed(node._saved_dim0, x.dim()), _signed(node._saved_dim1, x.dim()))


def _permuted(values: Values, i: int, node: Any) -> torch.Tensor:
    x = values.given(i, "self", 0)
    return x.permute(_signed(node._saved_dims, x.dim()))


def _reduced(function: Callable[..., torch.Tensor]) -> Rule:
    def rule(values: Values, i: int, node: Any) -> torch.Tensor:
        x = values.given(i, "self", 0)
        return function(x, _signed(node._saved_dim, x.dim()), keepdim=node._saved_keepdim) if hasattr(node, "_saved_dim") else function(x)

    return rule


def _signed(dims: Any, count: int) -> Any:
    """Autograd tells negative dimensions as very large numbers."""
    if isinstance(dims, (list, tuple)):
        return tuple(d if d < count else d - 2**64 for d in dims)
    return dims if dims < count else dims - 2**64


def _spread_out(function: Callable[..., Any]) -> Rule:
    def rule(values: Values, i: int, node: Any) -> torch.Tensor:
        x = values.given(i, "self", 0)
        dims = _signed(node._saved_dim, x.dim()) if node._saved_dim is not None else None
        result = function(x, dim=dims, correction=node._saved_correction, keepdim=node._saved_keepdim)
        spread: torch.Tensor = result[0] if isinstance(result, tuple) else result
        return spread

    return rule


def _affine(values: Values, i: int, node: Any) -> torch.Tensor:
    return torch.addmm(
        values.given(i, "self", 0), values.given(i, "mat1", 1), values.given(i, "mat2", 2), beta=node._saved_beta, alpha=node._saved_alpha
    )


def _convolved(values: Values, i: int, node: Any) -> torch.Tensor:
    bias = values.given(i, "bias", 2) if len(values.live.children[i]) > 2 and values.live.children[i][2] is not None else None
    shape = node._saved_stride, node._saved_padding, node._saved_dilation, node._saved_transposed, node._saved_output_padding, node._saved_groups
    return torch.convolution(values.given(i, "input", 0), values.given(i, "weight", 1), bias, *shape)


_RULES: dict[str, Rule] = {
    "ExpBackward0": _unary(torch.exp),
    "SqrtBackward0": _unary(torch.sqrt),
    "RsqrtBackward0": _unary(torch.rsqrt),
    "ReciprocalBackward0": _unary(torch.reciprocal),
    "ConvolutionBackward0": _convolved,
    "LogBackward0": _unary(torch.log),
    "Log2Backward0": _unary(torch.log2),
    "Log10Backward0": _unary(torch.log10),
    "Log1PBackward0": _unary(torch.log1p),
    "AcosBackward0": _unary(torch.acos),
    "AsinBackward0": _unary(torch.asin),
    "AtanhBackward0": _unary(torch.atanh),
    "AcoshBackward0": _unary(torch.acosh),
    "LgammaBackward0": _unary(torch.lgamma),
    "NegBackward0": _unary(torch.neg),
    "AbsBackward0": _unary(torch.abs),
    "CloneBackward0": _unary(torch.clone),
    "TBackward0": _unary(torch.t),
    "CoshBackward0": _unary(torch.cosh),
    "SinhBackward0": _unary(torch.sinh),
    "DivBackward0": _binary(torch.div),
    "MulBackward0": _binary(torch.mul),
    "SubBackward0": _shifted(-1),
    "AddBackward0": _shifted(1),
    "XlogyBackward0": _binary(torch.xlogy),
    "Atan2Backward0": _binary(torch.atan2),
    "MmBackward0": _binary(torch.mm, "mat2"),
    "BmmBackward0": _binary(torch.bmm, "mat2"),
    "AddmmBackward0": _affine,
    "PowBackward0": lambda values, i, node: torch.pow(values.given(i, "self", 0), node._saved_exponent),
    "SelectBackward0": _selected,
    "TransposeBackward0": _transposed,
    "PermuteBackward0": _permuted,
    "ViewBackward0": _reshaped,
    "UnsafeViewBackward0": _reshaped,
    "ReshapeAliasBackward0": _reshaped,
    "SqueezeBackward0": _reshaped,
    "SqueezeBackward1": _reshaped,
    "UnsqueezeBackward0": _reshaped,
    "ExpandBackward0": _expanded,
    "SumBackward0": _reduced(torch.sum),
    "SumBackward1": _reduced(torch.sum),
    "MeanBackward0": _reduced(torch.mean),
    "MeanBackward1": _reduced(torch.mean),
    "VarBackward0": _spread_out(torch.var),
    "VarMeanBackward0": _spread_out(torch.var_mean),
}
"""How to work out again what operations gave that keep only their inputs, or nothing. A wrong shape makes the result unknown."""
