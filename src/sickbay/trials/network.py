"""Keeps a trial on this machine: connections to others are refused, as where there is no network.

A script that posts its results, sends mail or writes into a database would do so once more with every trial. Python's sockets are led past a check: those
to this machine's own addresses stay (workers, ranks, a server that the script starts itself), all others fail with "network is unreachable". A script that
reads its data from elsewhere while it trains needs SICKBAY_NETWORK=1. Connections that compiled code makes (gRPC, drivers in C) are not seen.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from functools import lru_cache
from typing import Any

ALLOWED = "SICKBAY_NETWORK"
"""Set by people whose scripts cannot do without."""
FAMILIES = (socket.AF_INET, socket.AF_INET6)


def stay_here(tell: Callable[[str], None]) -> None:
    """From now on; `tell` is given each address that was not reached."""
    if os.environ.get(ALLOWED, "0") != "0":
        return

    def check(family: int, address: Any) -> None:
        if family in FAMILIES and isinstance(address, tuple) and not is_ours(family, str(address[0])):
            tell(f"network: {address[0]}:{address[1]}")
            raise OSError(errno.ENETUNREACH, f"a trial of sickbay's reaches no other machine ({address[0]}); {ALLOWED}=1 lets it")

    def to(original: Callable[..., Any], which: int) -> Callable[..., Any]:
        """A method of sockets whose argument of that number (the last of several) is the address."""

        def method(self: socket.socket, *args: Any) -> Any:
            if len(args) > which:
                check(self.family, args[-1])
            return original(self, *args)

        return method

    for name, which in (("connect", 0), ("connect_ex", 0), ("sendto", 1), ("sendmsg", 3)):
        setattr(socket.socket, name, to(getattr(socket.socket, name), which))


@lru_cache(256)
def is_ours(family: int, host: str) -> bool:
    """Whether this machine has the address: only then can it be bound."""
    try:
        address = socket.getaddrinfo(host, 0, family, socket.SOCK_DGRAM)[0][4]
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.bind(address)
    except OSError:
        return False
    return True
