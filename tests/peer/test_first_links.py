from __future__ import annotations

from dpdl.peer.first_links import FirstLinks
from dpdl.peer.keys import AgreementKey
from dpdl.peer.run_folder import PeerRun

RUN = "ab" * 32


def test_both_ends_compute_the_same_first_secret_and_nobody_else_does(tmp_path):
    names = ("mercy", "olav", "vita")
    keys = {name: AgreementKey.create() for name in names}
    public = {name: key.public for name, key in keys.items()}
    found = {}
    for name in names:
        (tmp_path / name).mkdir()
        run = PeerRun(tmp_path / name)
        keys[name].write(run.run_key())
        found[name] = FirstLinks(run, RUN, name, public)()
    assert found["mercy"]["olav"] == found["olav"]["mercy"]
    assert found["mercy"]["vita"] == found["vita"]["mercy"]
    assert (
        len({found["mercy"]["olav"], found["mercy"]["vita"], found["olav"]["vita"]})
        == 3
    )
    other = FirstLinks(PeerRun(tmp_path / "mercy"), "cd" * 32, "mercy", public)()
    assert other["olav"] != found["mercy"]["olav"], "another run has other secrets"


def test_every_view_has_a_key_of_its_own(tmp_path):
    run = PeerRun(tmp_path)
    mine = [AgreementKey.create() for _ in range(3)]
    for view, key in enumerate(mine):
        key.write(run.run_key(view))
    other = AgreementKey.create().public
    agreements = {"olav": other}
    found = [FirstLinks(run, RUN, "mercy", agreements, v)()["olav"] for v in range(3)]
    assert len(set(found)) == 3
    FirstLinks(run, RUN, "mercy", agreements, 1).forget()
    assert [run.run_key(view).exists() for view in range(3)] == [False, False, True]


def test_the_run_key_is_overwritten_and_removed(tmp_path):
    run = PeerRun(tmp_path)
    key = AgreementKey.create()
    key.write(run.run_key())
    links = FirstLinks(run, RUN, "mercy", {"mercy": key.public})
    copy = tmp_path / "hard-link"
    copy.hardlink_to(run.run_key())
    links.forget()
    links.forget()
    assert not run.run_key().exists()
    assert set(copy.read_bytes()) == {0}
