"""Sites that do what they must not: servers that answer anything, clients that send anything."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from tests.peer.sites import LOOPBACK, certified

Script = Callable[[ssl.SSLSocket], None]
TIMEOUT = 10.0


# ------------------------------------------------------------------ servers
def showing(name: str, version: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    """A server with the certificate of this site, that asks its callers for none."""
    certificate, key, _ = certified(name)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if version is not None:
        context.maximum_version = version
    return context


class HostileServer:
    """Each connection is shaken hands with, its request is read, and then `script` has it."""

    def __init__(self, name: str, script: Script, context=None, port: int = 0) -> None:
        self.requests: list[bytes] = []
        self._script = script
        self._context = context or showing(name)
        self._listening = socket.create_server((LOOPBACK, port))
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self.ended = threading.Event()

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(self, *failure: object) -> None:
        self.ended.set()
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(TIMEOUT)
            assert not thread.is_alive()

    def _run(self, work: Callable[[], None]) -> None:
        self._threads.append(threading.Thread(target=work, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._listening.accept()
            except OSError:
                return
            self._run(lambda plain=plain: self._serve(plain))

    def _serve(self, plain: socket.socket) -> None:
        plain.settimeout(TIMEOUT)
        try:
            with plain, self._context.wrap_socket(plain, server_side=True) as one:
                self._open.append(one)
                self.requests.append(head_of(one))
                self._script(one)
        except OSError:
            return


def head_of(one: ssl.SSLSocket) -> bytes:
    """What comes up to the end of the headers."""
    found = b""
    while b"\r\n\r\n" not in found:
        more = one.recv(4096)
        if not more:
            break
        found += more
    return found


def answering(content: bytes) -> Script:
    """Sends these bytes, and waits until the other side closes."""

    def script(one: ssl.SSLSocket) -> None:
        one.sendall(content)
        while one.recv(4096):
            pass

    return script


def response(status: str, headers: str = "", content: bytes = b"") -> bytes:
    return f"HTTP/1.1 {status}\r\n{headers}\r\n".encode() + content


# ------------------------------------------------------------------ clients
def calling(
    name: str | None, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3
) -> ssl.SSLContext:
    """A client with the certificate of this site, or none, that believes every server."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.maximum_version = version
    if name is not None:
        certificate, key, _ = certified(name)
        context.load_cert_chain(certificate, key)
    return context


def connect(port: int, context: ssl.SSLContext) -> ssl.SSLSocket:
    plain = socket.create_connection((LOOPBACK, port), TIMEOUT)
    try:
        return context.wrap_socket(plain)
    except BaseException:
        plain.close()
        raise


def asked(port: int, name: str | None, request: str, content: bytes = b"") -> bytes:
    """What a site says to a request of a caller with this certificate; empty: nothing."""
    try:
        with connect(port, calling(name)) as one:
            one.sendall(f"{request} HTTP/1.1\r\nHost: x\r\n".encode() + content)
            return one.recv(1 << 16)
    except OSError:
        return b""
