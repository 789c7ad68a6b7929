"""Serves the page and what it asks for, to whoever has the token.

Only GET and HEAD, four paths, and no path of a request ever becomes a path of a file: runs are
asked for by number. Nothing is written, and no lock is taken.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar, final
from urllib.parse import parse_qs, urlsplit

from dpdl.errors import InputError, PrivacyRefused
from dpdl.records import Json, JsonObject
from dpdl.text import plain
from dpdl.watch.door import Door, is_loopback, new_token
from dpdl.watch.page import ServedPage, served_page
from dpdl.watch.watched_folder import Has, WatchedFolder

HERE = "127.0.0.1"
EVERYWHERE = ("0.0.0.0", "::")
MOST_ASKED = 4_000
"""Characters of a request's path and query."""
PATIENCE = 30.0
"""Seconds after which a silent connection is closed."""
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
}


@final
@dataclass(frozen=True)
class Address:
    """Where the page is served; other machines reach it only under a certificate."""

    host: str = HERE
    port: int = 0  # 0: any free one
    certificate: Path | None = None
    key: Path | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise InputError(f"--port must be 0 to 65535, not {self.port}.")
        if (self.certificate is None) != (self.key is None):
            raise InputError("--cert and --key belong together: give both or none.")
        if self.remote and self.certificate is None:
            raise PrivacyRefused(
                f"--remote {self.host} without TLS is refused: losses, clip shares and "
                "times are not protected by any epsilon, and would cross the network "
                "readable by everybody; give --cert FILE --key FILE, or stay on this "
                "machine and use ssh -L."
            )

    @property
    def remote(self) -> bool:
        """Whether other machines can reach it."""
        return not is_loopback(self.host)

    def door(self, token: str) -> Door:
        """Who may ask; behind `EVERYWHERE` the certificate decides about names."""
        names = frozenset({self.host.lower()})
        return Door(token, names, any_host=self.host in EVERYWHERE)

    def tls(self) -> ssl.SSLContext | None:
        """The certificate, read; None: there is none."""
        if self.certificate is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_cert_chain(self.certificate, self.key, lambda: "")
        except (OSError, ssl.SSLError) as failure:
            reason = failure.strerror or failure
            raise InputError(
                f"The certificate {str(self.certificate)!r} with key {str(self.key)!r} "
                f"cannot be used: {reason}."
            ) from failure
        return context


class Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    protocol_version = "HTTP/1.1"
    server_version = "dpdl"
    sys_version = ""
    timeout = PATIENCE
    server: WatchServer
    ROUTES: ClassVar[Mapping[str, str]] = {
        "/": "_page",
        "/runs": "_runs",
        "/graph": "_graph",
        "/agents": "_agents",
    }

    def do_GET(self) -> None:
        """The page, or what it asks for; nothing any more when the server has ended."""
        if self.server.ended:
            self.close_connection = True
            return
        asked = urlsplit(self.path[:MOST_ASKED])
        query = {name: values[-1] for name, values in parse_qs(asked.query).items()}
        if not self.server.door.knows(self.headers.get("Host")):
            self._refuse(HTTPStatus.FORBIDDEN, "This server has another name.")
        elif not self.server.door.opens([query.get("token", ""), self._bearer()]):
            self._refuse(HTTPStatus.FORBIDDEN, "The token is missing or wrong.")
        elif asked.path not in self.ROUTES or len(self.path) > MOST_ASKED:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such page.")
        else:
            answer: Callable[[Mapping[str, str]], None]
            answer = getattr(self, self.ROUTES[asked.path])
            answer(query)

    def do_HEAD(self) -> None:
        """The same without content."""
        self.do_GET()

    def _bearer(self) -> str:
        return (self.headers.get("Authorization") or "").removeprefix("Bearer ")

    def _page(self, query: Mapping[str, str]) -> None:
        page = self.server.page
        self._send(HTTPStatus.OK, "text/html", page.html, page.policy)

    def _runs(self, query: Mapping[str, str]) -> None:
        watched = self.server.watched
        watched.refresh()
        found = watched.to_json(_have(query.get("have", "")))
        self._json({**found, "remote": self.server.remote})

    def _graph(self, query: Mapping[str, str]) -> None:
        self._json(self.server.watched.drawing(_whole(query.get("run"))))

    def _agents(self, query: Mapping[str, str]) -> None:
        run, round = _whole(query.get("run")), _whole(query.get("round"))
        self._json(self.server.watched.agents_in(run, round))

    def _json(self, found: JsonObject | None) -> None:
        if found is None:
            self._refuse(HTTPStatus.NOT_FOUND, "There is no such run or round.")
            return
        text = json.dumps(_visible(found), allow_nan=False, separators=(",", ":"))
        self._send(HTTPStatus.OK, "application/json", text.encode())

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._send(status, "text/plain", f"{why}\n".encode())

    def _send(
        self,
        status: HTTPStatus,
        kind: str,
        content: bytes,
        policy: str = "default-src 'none'; frame-ancestors 'none'",
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", policy)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged: a request's address has the token in it."""


class WatchServer(ThreadingHTTPServer):
    """The page of one folder at one address."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, watched: WatchedFolder, address: Address) -> None:
        self.watched = watched
        self.remote = address.remote
        self.ended = False
        self.token = new_token()
        self.door = address.door(self.token)
        self.page: ServedPage = served_page()
        self._tls = address.tls()
        if ":" in address.host:
            self.address_family = socket.AF_INET6
        try:
            super().__init__((address.host, address.port), Handler)
        except OSError as failure:
            where = f"{address.host}:{address.port}"
            reason = failure.strerror or failure
            raise InputError(
                f"The page cannot be served at {where}: {reason}; choose another --port."
            ) from failure
        self._host = address.host

    @property
    def url(self) -> str:
        """What to open; whoever has it may look."""
        kind = "https" if self._tls else "http"
        host = HERE if self._host in EVERYWHERE else self._host
        shown = f"[{host}]" if ":" in host else host
        return f"{kind}://{shown}:{self.server_address[1]}/?token={self.token}"

    def finish_request(self, request: Any, client_address: Any) -> None:
        """In the thread of the request: a slow handshake holds up nobody else."""
        if self._tls is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(PATIENCE)
        with self._tls.wrap_socket(request, server_side=True) as link:
            super().finish_request(link, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that breaks is the browser's affair."""

    def serve(self) -> None:
        """Until somebody interrupts; epsilons are computed beside it."""
        accountant = threading.Thread(target=self.watched.account, daemon=True)
        accountant.start()
        try:
            self.serve_forever(poll_interval=0.2)
        finally:
            self.ended = True
            self.watched.close()
            self.server_close()


def _have(text: str) -> dict[int, Has]:
    """From `ID.GENERATION.ROUNDS,...`; what is no such thing counts as nothing."""
    found = {}
    for one in text.split(","):
        parts = one.split(".")
        if len(parts) == 3 and all(part.isascii() and part.isdigit() for part in parts):
            number, generation, rounds = (int(part[:9]) for part in parts)
            found[number] = Has(generation, rounds)
    return found


def _visible(found: Json) -> Json:
    """The same with escapes for what is invisible in texts: a page shows names of files."""
    if isinstance(found, str):
        return plain(found)
    if isinstance(found, dict):
        return {name: _visible(one) for name, one in found.items()}
    return [_visible(one) for one in found] if isinstance(found, list) else found


def _whole(text: str | None) -> int:
    """A number from a query; -1 where there is none."""
    return int(text[:9]) if text and text.isascii() and text.isdigit() else -1
