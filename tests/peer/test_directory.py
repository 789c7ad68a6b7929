from __future__ import annotations

from dataclasses import replace

import pytest

from dpdl.errors import InputError
from dpdl.peer.directory import Directory
from dpdl.peer.frame import Slot
from dpdl.peer.wire import Identity
from tests.peer.hostile import asked
from tests.peer.sites import (
    QUICK,
    certified,
    identity,
    neighbour,
    sites,
    started,
)

WAIT = 10.0


def directory() -> Directory:
    known = [neighbour("birch", "https://birch.example:8443"), neighbour("cedar")]
    return Directory(identity("alder"), known)


def test_a_certificate_names_its_owner():
    found = directory()
    assert found.who(certified("birch")[2]) == "birch"
    assert found.who(certified("cedar")[2]) == "cedar"
    assert found.who(certified("stranger")[2]) is None
    assert found.names == ("birch", "cedar")


def test_who_has_no_address_is_mute():
    found = directory()
    assert found.url("birch") == "https://birch.example:8443"
    assert not found.is_mute("birch")
    assert found.is_mute("cedar")


def test_the_old_certificate_is_valid_until_the_new_one_is_seen():
    found = directory()
    old, new = certified("birch")[2], certified("birch-new")[2]
    found.trust("birch", new)
    assert found.who(old) == "birch"
    assert found.who(new) == "birch"
    assert found.who(old) is None


def test_a_certificate_that_was_never_seen_is_replaced_by_a_newer_one():
    found = directory()
    old, new, newest = (certified(f"birch{tail}")[2] for tail in ("", "-new", "-2"))
    found.trust("birch", new)
    found.trust("birch", newest)
    assert found.who(old) == "birch"
    assert found.who(new) is None
    assert found.who(newest) == "birch"


def test_an_unchanged_certificate_changes_nothing():
    found = directory()
    found.trust("birch", certified("birch")[2])
    assert found.who(certified("birch")[2]) == "birch"


@pytest.mark.parametrize(
    "url",
    [
        "http://birch.example:8443",
        "birch.example:8443",
        "https://",
        "https://:8443",
        "https://birch.example:x",
        "https://birch.example:0",
        "https://birch.example:99999",
        "https://birch.example/path",
        "https://birch.example?query",
        "https://birch.example#part",
        "https://user:word@birch.example",
        "https://[birch",
        "",
    ],
)
def test_an_address_that_is_none_is_refused_with_the_name_of_the_site(url):
    with pytest.raises(InputError, match=r"The address of birch must be https://HOST"):
        Directory(identity("alder"), [neighbour("birch", url)])
    with pytest.raises(InputError, match=r"The address of birch must be https://HOST"):
        directory().locate("birch", url)


# ------------------------------------------------------------------ rotation between running sites
def exchanged(one, two, round: int) -> None:
    """Both fetch a frame from each other."""
    for source, target in ((one, two), (two, one)):
        source.show(Slot(0, round, 0), target.name, b"frame")
        asked = target.network.ask(source.name, Slot(0, round, 0), 5, lambda: 0)
        assert asked.result(WAIT) == b"frame"


def test_a_certificate_changes_without_an_interruption_and_the_old_one_is_refused_then():
    with sites("alder", "birch") as (alder, birch):
        exchanged(alder, birch, 1)
        certificate, key, new = certified("birch-new")
        alder.network.trust("birch", new)
        exchanged(alder, birch, 2)  # with the old one
        port = birch.network.port
        birch.network.close()
        settings = replace(QUICK, port=port)
        birch = started("birch", ["alder"], settings, urls={"alder": alder.url})
        try:
            birch.network.show(Identity("birch", certificate, key, birch.url))
            exchanged(alder, birch, 3)  # with the new one
            found = asked(alder.network.port, "birch", "GET /", b"\r\n")
            assert b" 403 " in found
        finally:
            birch.network.close()


def test_a_running_site_shows_its_new_certificate_in_new_connections():
    with sites("alder", "birch") as (alder, birch):
        certificate, key, new = certified("birch-new")
        birch.network.show(Identity("birch", certificate, key, birch.url))
        slot = Slot(0, 1, 0)
        birch.show(slot, "alder", b"frame")
        found = alder.network.ask("birch", slot, 5, lambda: 0)
        while not alder.troubles:
            assert not found.done()
        assert "birch has a newer card" in alder.troubles[0][1]
        alder.network.trust("birch", new)
        assert found.result(WAIT) == b"frame"
