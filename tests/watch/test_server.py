"""The server answers whoever has the token, under its own name, and nobody else."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dpdl.errors import InputError, PrivacyRefused
from dpdl.watch.server import Address, WatchServer
from dpdl.watch.watched_folder import WatchedFolder
from tests.watch.growing import Growing, listing

Headers = dict[str, str]


@pytest.fixture
def run(tmp_path: Path) -> Growing:
    found = Growing(tmp_path / "runs/one")
    found.go(1, 5)
    return found


@pytest.fixture
def server(run: Growing) -> Iterator[WatchServer]:
    found = WatchServer(WatchedFolder(run.path.parent), Address())
    thread = threading.Thread(target=found.serve)
    thread.start()
    yield found
    found.shutdown()
    thread.join(20)
    assert not thread.is_alive()


def ask(
    server: WatchServer, path: str, headers: Headers | None = None, method: str = "GET"
) -> tuple[int, bytes, Headers]:
    """Status, content and headers of an answer; by default with the right token."""
    given = {"Authorization": f"Bearer {server.token}"} if headers is None else headers
    link = http.client.HTTPConnection(*server.server_address[:2], timeout=20)
    link.request(method, path, headers=given)
    answer = link.getresponse()
    content = answer.read()
    link.close()
    return answer.status, content, dict(answer.getheaders())


# ------------------------------------------------------------------ answers
def test_the_page_opens_by_its_address(server: WatchServer) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/\?token=[\w-]{32}", server.url)
    path = server.url.partition(str(server.server_address[1]))[2]
    status, content, headers = ask(server, path, {})
    assert status == 200
    assert content.startswith(b"<!doctype html>")
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert not [name for name in headers if name.startswith("Access-Control")]


def test_data_are_those_of_the_files_and_grow(
    server: WatchServer, run: Growing
) -> None:
    first = json.loads(ask(server, "/runs")[1])
    assert [one["name"] for one in first["runs"]] == ["one"]
    assert first["remote"] is False
    run.go(6, 6)
    (second,) = json.loads(ask(server, "/runs?have=1.0.5")[1])["runs"]
    assert second["columns"]["round"] == [6]
    assert json.loads(ask(server, "/graph?run=1")[1])["agents"] == 3
    assert json.loads(ask(server, "/agents?run=1&round=2")[1])["round"] == 2


def test_names_have_escapes_for_what_is_invisible(
    server: WatchServer, run: Growing
) -> None:
    run.path.rename(run.path.parent / "a\x1b[31m\u202eb")
    server.watched.refresh()
    (found,) = json.loads(ask(server, "/runs")[1])["runs"]
    assert found["name"] == "a\\x1b[31m\\u202eb"
    assert found["columns"]["round"] == [1, 2, 3, 4, 5]


def test_watching_changes_no_file(server: WatchServer, run: Growing) -> None:
    before = listing(run.path)
    for path in ("/", "/runs", "/graph?run=1", "/agents?run=1&round=1"):
        assert ask(server, path)[0] == 200
    assert listing(run.path) == before


def test_the_head_of_an_answer_is_the_same(server: WatchServer) -> None:
    status, content, headers = ask(server, "/", method="HEAD")
    assert (status, content) == (200, b"")
    assert int(headers["Content-Length"]) > 10_000


# ------------------------------------------------------------------ refusals
WRONG = [{}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic x"}]


@pytest.mark.parametrize("headers", WRONG, ids=["none", "wrong", "other"])
@pytest.mark.parametrize("path", ["/", "/runs", "/graph?run=1", "/agents", "/x"])
def test_without_the_token_nothing_is_said(
    server: WatchServer, path: str, headers: Headers
) -> None:
    status, content, _ = ask(server, path, headers)
    assert (status, content) == (403, b"The token is missing or wrong.\n")


@pytest.mark.parametrize("token", ["", "wrong", "%00", "%ff%fe", "\N{SNOWMAN}"])
def test_a_wrong_token_in_the_address_is_refused(
    server: WatchServer, token: str
) -> None:
    path = f"/?token={token}".encode().decode("latin-1")
    link = socket.create_connection(server.server_address[:2], timeout=20)
    with link:
        text = f"GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n"
        link.sendall(text.encode("latin-1"))
        assert b" 403 " in link.makefile("rb").readline()


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "10.0.0.1", ""])
def test_another_host_is_refused_even_with_the_token(
    server: WatchServer, host: str
) -> None:
    headers = {"Authorization": f"Bearer {server.token}", "Host": host}
    status, content, _ = ask(server, "/runs", headers)
    assert (status, content) == (403, b"This server has another name.\n")


@pytest.mark.parametrize("host", ["localhost:8001", "[::1]:1", "127.0.0.1"])
def test_a_forwarded_port_has_another_number(server: WatchServer, host: str) -> None:
    headers = {"Authorization": f"Bearer {server.token}", "Host": host}
    assert ask(server, "/runs", headers)[0] == 200


PATHS = [
    "/../../../../etc/passwd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "/experiment.json",
    "/one/ledger.jsonl",
    "//etc/passwd",
    "/runs/",
    "/_page",
    "/runs/../graph",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_to_a_file(server: WatchServer, path: str) -> None:
    status, content, _ = ask(server, path)
    assert (status, content) == (404, b"There is no such page.\n")


@pytest.mark.parametrize(
    "path",
    [
        "/graph",
        "/graph?run=-1",
        "/graph?run=../one",
        "/graph?run=99999999999999999999",
        "/graph?run=%C2%B2",
        "/agents?run=1",
        "/agents?run=1&round=77",
        "/agents?run=one&round=1",
    ],
)
def test_what_is_not_there_is_not_found(server: WatchServer, path: str) -> None:
    assert ask(server, path)[0] == 404


@pytest.mark.parametrize(
    "have", ["", "x", "1.2", "1.0.-3", "1.0.5.6", ",,,", "9.9.9", "1.0." + "9" * 500]
)
def test_odd_words_about_what_a_page_has_do_no_harm(
    server: WatchServer, have: str
) -> None:
    status, content, _ = ask(server, f"/runs?have={have}")
    assert status == 200
    assert len(json.loads(content)["runs"]) == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_other_methods_are_not_there(server: WatchServer, method: str) -> None:
    assert ask(server, "/runs", method=method)[0] == 501


def test_a_run_that_breaks_mid_way_does_not_end_the_server(
    server: WatchServer, run: Growing
) -> None:
    shutil.rmtree(run.path)
    assert json.loads(ask(server, "/runs?have=1.0.5")[1])["runs"] == []
    Growing(run.path).go(1, 2)
    (again,) = json.loads(ask(server, "/runs?have=1.0.5")[1])["runs"]
    assert again["columns"]["round"] == [1, 2]


# ------------------------------------------------------------------ addresses
def test_a_port_that_is_taken_is_named(server: WatchServer, run: Growing) -> None:
    port = server.server_address[1]
    with pytest.raises(InputError, match=f"127.0.0.1:{port}: .*choose another --port"):
        WatchServer(WatchedFolder(run.path), Address(port=port))


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_is_a_small_number(port: int) -> None:
    with pytest.raises(InputError, match="--port must be 0 to 65535"):
        Address(port=port)


@pytest.mark.parametrize("host", ["0.0.0.0", "10.1.2.3", "lab.example", "::"])
def test_other_machines_need_a_certificate(host: str) -> None:
    with pytest.raises(PrivacyRefused, match="not protected by any epsilon"):
        Address(host)
    assert PrivacyRefused.exit_code == 3


def test_this_machine_needs_none() -> None:
    for host in ("127.0.0.1", "localhost", "::1"):
        assert not Address(host).remote


def test_certificate_and_key_belong_together(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="belong together"):
        Address("0.0.0.0", certificate=tmp_path / "cert.pem")


def test_a_certificate_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    empty = tmp_path / "cert.pem"
    empty.touch()
    for path in (empty, tmp_path / "nowhere.pem"):
        with pytest.raises(InputError, match=r"The certificate .* cannot be used"):
            Address("0.0.0.0", certificate=path, key=path).tls()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")
def test_behind_a_certificate_the_page_is_encrypted(
    run: Growing, tmp_path: Path
) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = f"req -x509 -newkey rsa:2048 -nodes -keyout {key} -out {cert} -days 1"
    words += " -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    subprocess.run(["openssl", *words.split()], check=True, capture_output=True)
    server = WatchServer(
        WatchedFolder(run.path), Address("0.0.0.0", certificate=cert, key=key)
    )
    thread = threading.Thread(target=server.serve)
    thread.start()
    port = server.server_address[1]
    trusting = ssl.create_default_context(cafile=str(cert))
    link = http.client.HTTPSConnection("localhost", port, context=trusting, timeout=20)
    link.request("GET", "/runs", headers={"Authorization": f"Bearer {server.token}"})
    found = json.loads(link.getresponse().read())
    link.close()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
        plain.sendall(b"GET /runs HTTP/1.0\r\n\r\n")
        with suppress(ConnectionResetError):
            assert b"HTTP" not in plain.recv(1000), "not in plain text"
    server.shutdown()
    thread.join(20)
    assert found["remote"] is True
    assert server.url.startswith("https://")
