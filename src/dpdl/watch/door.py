"""Who may ask the page's server: whoever has the token, under a name that is its own."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

BYTES = 24
"""Of randomness in a token."""
NAMED = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::[0-9]{1,5})?")


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(BYTES)


@final
@dataclass(frozen=True)
class Door:
    """Compares tokens in constant time, and refuses foreign names.

    A page of somebody else can make a browser ask our address under a name of its own (DNS
    rebinding). Such a request has that name as its `Host`.
    """

    token: str
    hosts: frozenset[str] = frozenset()  # names besides loopback ones
    any_host: bool = False  # where a certificate vouches for the name

    def opens(self, tokens: Iterable[str]) -> bool:
        """Whether one of the tokens is right."""
        right = self.token.encode()
        return any(hmac.compare_digest(one.encode(), right) for one in tokens)

    def knows(self, host: str | None) -> bool:
        """Whether a `Host` header, with or without port, names this server."""
        found = NAMED.fullmatch(host or "")
        if found is None:
            return False
        name = found[1].strip("[]").lower()
        return self.any_host or name in self.hosts or is_loopback(name)


def is_loopback(name: str) -> bool:
    """Whether a name or an address is that of the machine itself."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
