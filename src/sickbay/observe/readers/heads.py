"""The known loss functions that feed a training loss, and what goes into them."""

from __future__ import annotations

from sickbay import facts
from sickbay.observe.observer import LossCall
from sickbay.observe.reading import Reading, line_of


def read(reading: Reading) -> None:
    on_the_way = {node.index for node in reading.ancestors}
    for call in reading.calls:
        maker = reading.trace.maker(call.output)
        if maker is None or maker not in on_the_way:
            continue
        key = (call.function, line_of(call.place))
        if key not in reading.known("heads"):
            reading.add("heads", key, _head(reading, call))


def _head(reading: Reading, call: LossCall) -> facts.Head:
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
        fed_by=tuple(reading.chain(reading.trace.maker(call.input))),
    )
