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
    def tell(text: str) -> None:
        if session.step and not session.busy and not session.off and session.mine() and len(text) <= LONGEST:
            session.fire("printed", text)

    def around_print(original: Callable[..., Any]) -> Callable[..., Any]:
        def printing(*values: Any, **options: Any) -> None:
            original(*values, **options)
            # Only what is text or a number already: to make text of anything else is the script's own business.
            if options.get("file") in (None, sys.stdout, sys.stderr) and all(isinstance(v, _PLAIN) for v in values):
                tell(" ".join(map(str, values)))

        return printing

    def around_handle(original: Callable[..., Any]) -> Callable[..., Any]:
        def handle(self: Any, record: logging.LogRecord) -> Any:
            result = original(self, record)
            if isinstance(record.msg, str) and all(isinstance(v, _PLAIN) for v in record.args or ()):
                tell(record.getMessage())
            return result

        return handle

    patches.wrap(builtins, "print", around_print)
    patches.wrap(logging.Logger, "handle", around_handle)
