"""Why a neighbour cannot be reached: one sentence with the likely cause and the remedy."""

from __future__ import annotations

import errno
import ssl
from http import HTTPStatus
from typing import NamedTuple

import aiohttp

from dpdl.errors import reason
from dpdl.peer.wire import Answer
from dpdl.text import sentence

EXPIRED = 10
"""OpenSSL's number for a certificate that has ended."""
NOT_YET_VALID = 9
SAID = 160
"""Characters of what a neighbour says that are shown."""


class Trouble(NamedTuple):
    """Since when a neighbour cannot be reached (seconds of the clock), and why."""

    since: float
    sentence: str


class NoWay(ConnectionError):
    """Neither of two sites accepts connections."""


class MailboxTrouble(ConnectionError):
    """Something is wrong on the way by a mailbox; the message is the sentence that is shown."""


def why(name: str, url: str | None, failure: BaseException, proxy: str = "") -> str:
    """What a failed request means."""
    if isinstance(failure, MailboxTrouble):
        return str(failure)
    if isinstance(failure, NoWay):
        return f"Neither {name} nor this site accepts connections: they need a mailbox."
    if url is None:
        return (
            f"{name} does not come for what it is asked: it accepts no connections, and it is off, "
            "or cannot reach this site."
        )
    if isinstance(failure, TimeoutError):
        return f"{name} does not answer at {url}: it may be off, or a firewall drops what is sent."
    if isinstance(failure, aiohttp.ClientHttpProxyError):
        status = f"{failure.status} {sentence(failure.message, SAID)}"
        return f"The proxy {proxy} refuses to connect to {url} ({status})."
    if isinstance(failure, aiohttp.ClientProxyConnectionError):
        return f"The proxy {proxy} cannot be reached ({_inner(failure)}); see proxy in peer.toml."
    if isinstance(failure, aiohttp.ClientConnectorDNSError):
        return f"The address {url} of {name} is not known here; check the name, or DNS."
    if isinstance(failure, aiohttp.ClientConnectorCertificateError):
        return _certificate(name, url, failure.certificate_error)
    if isinstance(failure, ssl.SSLError | aiohttp.ClientSSLError):
        return f"At {url} there is no TLS 1.3 as {name} would speak it; check address and port."
    return _broken(name, url, failure)


def _certificate(name: str, url: str, failure: Exception) -> str:
    code = getattr(failure, "verify_code", None)
    if code in (EXPIRED, NOT_YET_VALID):
        return (
            f"The certificate of {name} has expired or is not valid yet: compare the clocks; a new "
            "one is made there with: dpdl peer rotate."
        )
    return (
        f"At {url} another certificate is shown than the card of {name} has: a proxy inspects "
        "this connection (ask for an exemption, or use a mailbox), the address is of another "
        f"server, or {name} has a newer card."
    )


def _broken(name: str, url: str, failure: BaseException) -> str:
    number = getattr(failure, "errno", None)
    if number == errno.ECONNREFUSED:
        return f"Nothing listens at {url}: {name} is not running, or its address is another one."
    if isinstance(
        failure, aiohttp.ServerDisconnectedError | ConnectionError
    ) or number in (
        errno.ECONNRESET,
        errno.EPIPE,
    ):
        return (
            f"{name} closed the connection without an answer: it has just stopped, or it does not "
            "know this site's certificate (send it the newest card)."
        )
    return f"{name} cannot be reached at {url}: {_inner(failure)}."


def _inner(failure: BaseException) -> str:
    inner = getattr(failure, "os_error", failure)
    return sentence(reason(inner) if isinstance(inner, Exception) else str(inner), SAID)


def told(name: str, answer: Answer) -> str:
    """What an answer that is not the wanted one means."""
    said = sentence(answer.content.decode("utf-8", "replace"), SAID)
    if answer.status in range(300, 400):
        return f"{name} wants to send this site elsewhere ({answer.status}), which is refused."
    if said:
        return f"{name} answers {answer.status}: {said}"
    try:
        words = HTTPStatus(answer.status).phrase
    except ValueError:
        words = "which is no known status"
    return f"{name} answers {answer.status} ({words})."


def turned_away(failure: BaseException) -> str:
    """Why this site did not talk to somebody who connected."""
    if isinstance(failure, ssl.SSLCertVerificationError):
        shown = "".join(getattr(failure, "__notes__", ()))
        told = f", SHA-256 {shown}" if shown else ""
        return f"Its certificate is on no card of a neighbour{told} ({failure.verify_message})."
    if isinstance(failure, TimeoutError | ConnectionAbortedError):
        return "It did not finish the TLS handshake in time."
    return f"It did not speak TLS 1.3 with a certificate ({_inner(failure)})."
