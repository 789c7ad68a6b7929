"""Who the neighbours are: addresses, and which certificates are theirs at the moment.

While a neighbour changes its certificate, the old and the new one are both its own, until the new
one is seen: then the old one is not any more. A certificate that somebody signed with the key of a
trusted one is not trusted, in either direction.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

from dpdl.peer.certificates import client_context, server_context, trust
from dpdl.peer.refusals import watch
from dpdl.peer.spelling import check_url
from dpdl.peer.wire import Identity, Neighbour


@final
@dataclass
class _Entry:
    """One neighbour."""

    url: str | None
    certificates: list[bytes]  # the newest last
    context: ssl.SSLContext


@final
class Directory:
    """The neighbours of one site, by name."""

    def __init__(self, me: Identity, neighbours: Iterable[Neighbour]) -> None:
        self.me = me
        known = list(neighbours)
        self._known = {one.name: one for one in known}
        trusted = [one.certificate for one in known]
        self.server = server_context(me.certificate, me.key, trusted)
        self.watched = server_context(me.certificate, me.key, trusted)
        watch(self.watched)
        self._entries = {one.name: self._entry(one) for one in known}

    @property
    def names(self) -> tuple[str, ...]:
        """All neighbours."""
        return tuple(self._entries)

    def url(self, name: str) -> str | None:
        """Where a neighbour listens; None: nowhere."""
        return self._entries[name].url

    def known(self, name: str) -> Neighbour | None:
        """What its card said of a neighbour at the start; None: it is none."""
        return self._known.get(name)

    def is_mute(self, name: str) -> bool:
        """Whether a neighbour has no address."""
        return self._entries[name].url is None

    def context(self, name: str) -> ssl.SSLContext:
        """What connections to a neighbour are made with."""
        return self._entries[name].context

    def who(self, certificate: bytes) -> str | None:
        """Whose certificate this is; seeing the newest one of a neighbour ends its older ones."""
        for name, entry in self._entries.items():
            if certificate in entry.certificates:
                self._seen(entry, certificate)
                return name
        return None

    # ------------------------------------------------------------------ changes
    def locate(self, name: str, url: str | None) -> None:
        """A neighbour has another address."""
        self._entries[name].url = _checked(name, url)

    def trust(self, name: str, certificate: bytes) -> None:
        """A neighbour's newest certificate; the present one stays until this one is seen."""
        entry = self._entries[name]
        if certificate in entry.certificates:
            return
        for context in (self.server, self.watched, entry.context):
            trust(context, certificate)
        entry.certificates = [entry.certificates[0], certificate]

    def show(self, me: Identity) -> None:
        """This site has another certificate, from the next connection on."""
        self.me = me
        clients = (one.context for one in self._entries.values())
        for context in (self.server, self.watched, *clients):
            context.load_cert_chain(me.certificate, me.key)

    def _entry(self, one: Neighbour) -> _Entry:
        context = client_context(self.me.certificate, self.me.key, one.certificate)
        entry = _Entry(_checked(one.name, one.url), [one.certificate], context)
        context.sslobject_class = pinned(lambda shown: self._is_of(entry, shown))
        return entry

    def _is_of(self, entry: _Entry, certificate: bytes) -> bool:
        if certificate not in entry.certificates:
            return False
        self._seen(entry, certificate)
        return True

    def _seen(self, entry: _Entry, certificate: bytes) -> None:
        if certificate == entry.certificates[-1]:
            del entry.certificates[:-1]


def _checked(name: str, url: str | None) -> str | None:
    """An address where TLS is spoken, if it is one."""
    if url is not None:
        check_url(url, f"The address of {name}")
    return url


def pinned(allowed: Callable[[bytes], bool]) -> type[ssl.SSLObject]:
    """Connections that fail in the handshake unless the other's very certificate is allowed."""

    class Pinned(ssl.SSLObject):
        """A connection to a known certificate."""

        def do_handshake(self) -> None:
            """Shake hands, then look at what was shown, before anything else is sent."""
            super().do_handshake()
            shown = self.getpeercert(binary_form=True)
            if shown is None or not allowed(shown):
                raise ssl.SSLCertVerificationError("another certificate was shown")

    return Pinned
