from __future__ import annotations

import errno
import ssl

import aiohttp
import pytest

from dpdl.peer.trouble import NoWay, told, turned_away, why
from dpdl.peer.wire import Answer

URL = "https://birch.example:8443"


def verification(code: int) -> ssl.SSLCertVerificationError:
    failure = ssl.SSLCertVerificationError()
    failure.verify_code = code
    failure.verify_message = "self-signed certificate"
    return failure


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (TimeoutError(), "does not answer"),
        (TimeoutError(), "firewall"),
        (OSError(errno.ECONNREFUSED, "refused"), "Nothing listens"),
        (ConnectionResetError(errno.ECONNRESET, "reset"), "certificate"),
        (aiohttp.ServerDisconnectedError(), "send it the newest card"),
        (aiohttp.ClientOSError(errno.EPIPE, "broken"), "closed the connection"),
        (ssl.SSLError(1, "wrong version number"), "no TLS 1.3"),
        (OSError(errno.ENETUNREACH, "Network is unreachable"), "Network is unreach"),
        (aiohttp.ClientPayloadError("half"), "cannot be reached"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_a_failure_has_one_sentence_with_the_name_and_the_likely_cause(failure, words):
    found = why("birch", URL, failure)
    assert words in found
    assert "birch" in found
    assert found.endswith(".")
    assert "\n" not in found


def test_an_expired_certificate_is_not_taken_for_a_proxy():
    key = aiohttp.client_reqrep.ConnectionKey("x", 1, True, True, None, None, None)
    expired = aiohttp.ClientConnectorCertificateError(key, verification(10))
    assert "expired" in why("birch", URL, expired)
    other = aiohttp.ClientConnectorCertificateError(key, verification(18))
    assert "a proxy inspects" in why("birch", URL, other)


def test_sites_without_addresses():
    assert "mailbox" in why("birch", None, NoWay())
    assert "does not come" in why("birch", None, TimeoutError())


def test_what_a_neighbour_says_is_shown_without_what_a_terminal_acts_upon():
    found = told("birch", Answer(409, b"\x1b[2Jgone\n" + b"x" * 10_000))
    assert found.startswith("birch answers 409: \\x1b[2Jgone x")
    assert len(found) < 250
    assert told("birch", Answer(418)) == "birch answers 418 (I'm a Teapot)."
    assert told("birch", Answer(299)) == "birch answers 299 (which is no known status)."
    assert "elsewhere (307)" in told("birch", Answer(307, b"x"))


def test_why_somebody_was_turned_away():
    unknown = verification(18)
    assert turned_away(unknown).startswith("Its certificate is on no card of a neighb")
    unknown.add_note("ab" * 32)
    assert f"SHA-256 {'ab' * 32}" in turned_away(unknown)
    assert "in time" in turned_away(ConnectionAbortedError("handshake"))
    assert "TLS 1.3" in turned_away(ssl.SSLError(1, "http request"))
