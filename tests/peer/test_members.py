from __future__ import annotations

import pytest

from dpdl.errors import InputError
from dpdl.peer.certificates import der_of
from dpdl.peer.home import Home
from dpdl.peer.members import members_of


def test_members_come_from_their_newest_cards(ended):
    found = members_of(ended.home(0), ended.manifest)
    assert [(one.name, one.number) for one in found] == [("olav", 1), ("vita", 2)]
    pem = (ended.path / "olav" / "tls.crt").read_bytes()
    assert found[0].certificate == der_of(pem)
    assert found[0].url == f"https://127.0.0.1:{ended.ports[1]}"


def test_a_member_that_was_never_admitted_is_refused(ended, tmp_path):
    alone = Home.create(tmp_path / "mercy", "mercy", None)
    with pytest.raises(InputError, match="olav"):
        members_of(alone, ended.manifest)


def test_a_member_under_another_key_is_refused(ended, tmp_path):
    alone = Home.create(tmp_path / "mercy", "mercy", None)
    other = Home.create(tmp_path / "olav", "olav", None)
    alone.admit(other.card)
    with pytest.raises(InputError, match="another key for olav"):
        members_of(alone, ended.manifest)
