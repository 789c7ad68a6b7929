"""A CONNECT proxy as hospitals have it, and one that opens TLS."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from tests.peer.sites import LOOPBACK

TIMEOUT = 10.0
CHUNK = 1 << 16


class Proxy:
    """Tunnels what it is asked to; `refuse` is a status it answers instead."""

    def __init__(
        self, refuse: str | None = None, inspecting: ssl.SSLContext | None = None
    ) -> None:
        self.asked: list[str] = []  # first lines
        self._refuse = refuse
        self._inspecting = inspecting
        self._listening = socket.create_server((LOOPBACK, 0))
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(self, *failure: object) -> None:
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
                caller, _ = self._listening.accept()
            except OSError:
                return
            self._open.append(caller)
            self._run(lambda caller=caller: self._serve(caller))

    def _serve(self, caller: socket.socket) -> None:
        with caller, suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                more = caller.recv(1)
                if not more:
                    return
                head += more
            first = head.split(b"\r\n", 1)[0].decode()
            self.asked.append(first)
            if self._refuse is not None:
                caller.sendall(f"HTTP/1.1 {self._refuse}\r\n\r\n".encode())
                return
            host, port = first.split(" ")[1].rsplit(":", 1)
            with socket.create_connection((host, int(port)), TIMEOUT) as beyond:
                beyond.settimeout(None)
                caller.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                self._open.append(beyond)
                if self._inspecting is not None:
                    with self._inspecting.wrap_socket(caller, server_side=True) as one:
                        one.recv(CHUNK)
                    return
                self._run(lambda: _pump(beyond, caller))
                _pump(caller, beyond)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while content := source.recv(CHUNK):
            target.sendall(content)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)
