"""What the data meet first on their way to the loss."""

from __future__ import annotations

from sickbay.observe.reading import SHAPE_ONLY, Reading

MOST = 4


def read(reading: Reading) -> None:
    if reading.site.reads or not reading.ancestors:
        return
    from_data: set[int] = set()
    for node in sorted(reading.ancestors, key=lambda n: n.index):
        if not (reading.takes_data(node) or any(i in from_data for i in node.inputs)):
            continue
        if node.name in SHAPE_ONLY:
            from_data.add(node.index)  # the same values
        else:
            reading.add("entrances", (node.key, node.name), reading.op(node), most=MOST)
