"""What the script says of itself: lines that it prints or logs."""

from __future__ import annotations

import builtins
import logging
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sickbay.observe.patches import Patches

if TYPE_CHECKING:
    from sickbay.observe.session import Session

LONGEST = 400
_PLAIN = (str, int, float)


def hook_printing(session: Session, patches: Patches) -> None:
    def tell(text: Callable[[], str]) -> None:
        if not session.step or session.busy or session.off or not session.mine():
            return
        try:
            line = text()
        except Exception:  # a message that does not fit its arguments: logging tells the script so, and goes on
            return
        if len(line) <= LONGEST:
            session.fire("printed", line)

    def around_print(original: Callable[..., Any]) -> Callable[..., Any]:
        def printing(*values: Any, **options: Any) -> None:
            original(*values, **options)
            # Only what is text or a number already: to make text of anything else is the script's own business.
            file = options.get("file")
            if (file is None or file is sys.stdout or file is sys.stderr) and all(isinstance(v, _PLAIN) for v in values):
                tell(lambda: " ".join(map(str, values)))

        return printing

    def around_handle(original: Callable[..., Any]) -> Callable[..., Any]:
        def handle(self: Any, record: logging.LogRecord) -> Any:
            result = original(self, record)
            given = record.args or ()
            if isinstance(record.msg, str) and isinstance(given, tuple) and all(isinstance(v, _PLAIN) for v in given):
                tell(record.getMessage)
            return result

        return handle

    patches.wrap(builtins, "print", around_print)
    patches.wrap(logging.Logger, "handle", around_handle)
