from __future__ import annotations

import pytest

from dpdl import graph
from dpdl.errors import InputError
from dpdl.peer.material import material_for, material_of
from dpdl.peer.round_key import RoundKey
from dpdl.peer.view import View
from dpdl.privacy.links import next_link

OTHERS = ("olav", "vita")
FIRST = {"olav": b"o" * 32, "vita": b"v" * 32}


def first() -> dict[str, bytes]:
    return FIRST


def never() -> dict[str, bytes]:
    raise AssertionError("the first links exist no more")


@pytest.fixture
def file(tmp_path):
    return RoundKey.create(tmp_path / "round.key", 3)


def test_a_round_that_has_secrets_keeps_them(file):
    made = material_for(file, 1, 1, OTHERS, first)
    assert material_for(file, 1, 1, OTHERS, never) == made
    assert material_of(file, 1, 1, OTHERS) == made
    assert dict(made.links) == FIRST


def test_every_round_has_a_secret_of_its_own_and_links_one_step_on(file):
    one = material_for(file, 1, 1, OTHERS, first)
    two = material_for(file, 1, 2, OTHERS, never)
    assert one.secret != two.secret
    assert two.links["olav"] == next_link(FIRST["olav"])


def test_skipped_rounds_are_steps_of_the_links_too(file):
    material_for(file, 1, 1, OTHERS, first)
    later = material_for(file, 1, 4, OTHERS, never)
    expected = next_link(next_link(next_link(FIRST["vita"])))
    assert later.links["vita"] == expected


def test_a_run_that_begins_late_makes_the_steps_of_the_rounds_before(file):
    late = material_for(file, 2, 3, OTHERS, first)
    assert late.links["vita"] == next_link(next_link(FIRST["vita"]))


def test_another_view_has_other_secrets_for_the_same_round(file):
    one = material_for(file, 1, 5, OTHERS, first)
    two = material_for(file, 2, 5, OTHERS, lambda: {"vita": b"w" * 32})
    assert one.secret != two.secret
    expected = b"w" * 32
    for _ in range(4):
        expected = next_link(expected)
    assert two.links == {"olav": bytes(32), "vita": expected}, "olav was dropped"


def test_secrets_of_a_round_before_the_last_two_are_gone(file):
    for t in (1, 2, 3):
        material_for(file, 1, t, OTHERS, first)
    assert material_of(file, 1, 2, OTHERS)
    with pytest.raises(InputError):
        material_of(file, 1, 1, OTHERS)


def test_both_ends_of_a_link_have_one_key_and_views_have_others(tmp_path):
    names = ("mercy", "olav", "vita")
    view = View(1, names, graph.build("complete", 3, "metropolis", 0))
    mine = RoundKey.create(tmp_path / "mercy", 3)
    theirs = RoundKey.create(tmp_path / "olav", 3)
    common = {"olav": b"1" * 32, "vita": b"2" * 32}
    at_olav = {"mercy": b"1" * 32, "vita": b"3" * 32}
    a = material_for(mine, 1, 2, ("olav", "vita"), lambda: common)
    b = material_for(theirs, 1, 2, ("mercy", "vita"), lambda: at_olav)
    keys = a.noise_keys(view, "mercy"), b.noise_keys(view, "olav")
    assert keys[0][0, 1] == keys[1][0, 1]
    assert keys[0][0, 2] != keys[1][1, 2]
    later = View(2, names, view.graph)
    assert a.noise_keys(later, "mercy")[0, 1] != keys[0][0, 1]
    assert "1111" not in repr(a)
