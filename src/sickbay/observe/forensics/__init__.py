"""Where NaN or infinity came from, on any step, forward or backward.

    live.py       autograd's graph of a loss, in a fixed order, and the values it keeps
    wiring.py     the same graph as a traced step showed it: the user's line of every node
    values.py     what each node gave, kept or worked out again
    origin.py     back from the loss to the first node that was given only finite values
    slopes.py     operations whose slope can be infinite: where they are, what they were given
    gradients.py  the few gradients that are looked at before every update
    details.py    line, values, rows and samples of what was found
    leftover.py   a loss that the script stopped at
    watch.py      the observer

`readers/invalid.py` does the search with the trace, where there is one: it also sees operations that no gradient passes.
"""

from __future__ import annotations

from sickbay.observe.forensics.watch import ForensicsWatch

__all__ = ["ForensicsWatch"]
