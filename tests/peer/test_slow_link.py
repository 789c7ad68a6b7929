from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from dpdl.peer.slow_link import HOST, SlowLink


@contextmanager
def echo() -> Iterator[int]:
    """A server that sends back what one caller sends; its port."""
    with socket.create_server((HOST, 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                while content := connection.recv(1 << 16):
                    connection.sendall(content)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join(10)
        assert not thread.is_alive()


def calling(link: SlowLink) -> socket.socket:
    return socket.create_connection((HOST, link.port), 10)


def is_cut_off(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def received(connection: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        more = connection.recv(1 << 16)
        assert more
        content += more
    return content


def test_bytes_arrive_whole_and_in_order_and_are_counted() -> None:
    sent = bytes(range(256)) * 2000
    with echo() as port, SlowLink(port) as link:
        with calling(link) as connection:
            writing = threading.Thread(target=connection.sendall, args=(sent,))
            writing.start()
            assert received(connection, len(sent)) == sent
            writing.join()
        assert link.passed == 2 * len(sent)


def test_each_way_takes_the_delay() -> None:
    with echo() as port, SlowLink(port, delay=0.1) as link, calling(link) as connection:
        began = time.monotonic()
        connection.sendall(b"hello")
        assert received(connection, 5) == b"hello"
        assert time.monotonic() - began >= 0.2


def test_delays_of_several_messages_do_not_add_up() -> None:
    with echo() as port, SlowLink(port, delay=0.2) as link, calling(link) as connection:
        began = time.monotonic()
        for _ in range(20):
            connection.sendall(b"x")
            time.sleep(0.001)
        assert received(connection, 20) == b"x" * 20
        assert time.monotonic() - began < 20 * 0.2


def test_who_connects_where_nobody_listens_is_cut_off() -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
    with SlowLink(port) as link, calling(link) as connection:
        assert is_cut_off(connection)
