from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from dpdl.cli import outcome
from dpdl.peer.checking import checks
from tests.peer.group import Group
from tests.peer.hostile import HostileServer, answering
from tests.peer.sites import LOOPBACK


def found(group, number: int, patience: float = 5.0) -> dict[str, tuple[bool, str]]:
    lines = checks(group.home(number), group.run(number), patience)
    return {one.what: (one.well, one.said) for one in lines}


def test_what_a_run_needs_is_looked_at_one_by_one(group):
    sites = group(2, graph="complete")
    sites.start(1)
    lines = found(sites, 0, 30.0)
    assert all(well for well, _ in lines.values()), lines
    assert "the same bits twice" in lines["gradient"][1]
    assert "rounds are reserved" in lines["budget"][1]
    assert "answers at" in lines["olav"][1]


def test_what_is_not_well_is_said_with_a_remedy(group):
    sites = group(2, graph="complete")
    file = sites.home(0).data_file("digits")
    with np.load(file) as data:
        few = {"x": data["x"][:20], "y": data["y"][:20]}
    np.savez(file, **few)
    (sites.run(0).path / ".check").mkdir()  # where nothing can be written
    lines = found(sites, 0, 0.5)
    assert not lines["disk"][0]
    assert "cannot be written" in lines["disk"][1]
    assert not lines["records"][0]
    assert "declare fewer" in lines["records"][1]
    assert not lines["olav"][0]
    assert "Nothing listens" in lines["olav"][1]


@contextmanager
def banner(port: int) -> Iterator[None]:
    """Another program at a port: it speaks first, as a server of SSH does, and no TLS."""
    with socket.create_server((LOOPBACK, port)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    one, _ = listening.accept()
                    with one:
                        one.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_whoever_else_is_at_an_address_is_named_in_one_sentence(group, capsys):
    """Another program, a site with another certificate, and a port of this site's in use."""
    sites = group(2, graph="complete")
    mercy, olav = sites.ports
    with banner(olav):
        assert checked(sites, capsys) == (
            f"NOT olav: At https://127.0.0.1:{olav} there is no TLS 1.3 as olav would speak it; "
            "check address and port."
        )
    with HostileServer("cedar", answering(b""), port=olav) as stranger:
        assert checked(sites, capsys) == (
            f"NOT olav: At https://127.0.0.1:{olav} another certificate is shown than the card of "
            "olav has: a proxy inspects this connection (ask for an exemption, or use a mailbox), "
            "the address is of another server, or olav has a newer card."
        )
        assert stranger.requests == [], "nothing is said to it"
    with banner(mercy):
        assert "This site cannot listen at" in checked(sites, capsys)
        sites.start(0)
        assert sites.ended(0) == 2, sites.log(0)
        said = sites.log(0).splitlines()[-1]
        assert said.startswith(
            f"InputError: This site cannot listen at 127.0.0.1:{mercy} "
        )
    assert "Traceback" not in sites.log(0)


def checked(sites: Group, capsys: pytest.CaptureFixture[str]) -> str:
    """The line of `dpdl peer check` that is not well, of which there is one."""
    run, home = sites.manifest.hash[:12], str(sites.home(0).path)
    words = ["peer", "check", run, "--patience", "1", "--home", home]
    assert outcome(words) == 2
    said = capsys.readouterr()
    assert said.err == "error: 1 of the checks did not go well.\n"
    (line,) = [one for one in said.out.splitlines() if one.startswith("NOT")]
    return line
