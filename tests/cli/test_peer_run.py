"""`dpdl peer` while a run goes on and afterwards; `tests/peer` runs the processes themselves."""

from __future__ import annotations

import json

import pytest

from dpdl.cli import outcome
from dpdl.peer.home import Home
from dpdl.peer.store import Store
from tests.peer.agreements import agreed, manifest


@pytest.fixture
def home(tmp_path):
    """A site with the folder of a run that nobody has begun."""
    site = Home.create(tmp_path / "mercy", "mercy", None)
    folder = site.run_folder(manifest().hash)
    folder.mkdir(parents=True)
    (folder / "manifest.toml").write_bytes(agreed())
    return site


def test_a_run_pauses_and_goes_on_by_a_file(home, capsys):
    words = [manifest().hash[:8], "--home", str(home.path)]
    assert outcome(["peer", "pause", *words]) == 0
    file = home.run_folder(manifest().hash) / "pause"
    assert file.exists()
    assert outcome(["peer", "pause", *words, "--off"]) == 0
    assert not file.exists()
    assert "It may go on" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["drop"], "Name the members to drop"),
        (["drop", "vita", "--nobody"], "one of both"),
        (["drop", "rosa"], "not in view"),
        (["drop", "vita", "st-olav"], "more than half"),
    ],
)
def test_a_drop_that_cannot_be_is_refused(home, capsys, words, sentence):
    name, *rest = words
    run = manifest().hash[:8]
    code = outcome(["peer", name, run, *rest, "--home", str(home.path)])
    assert code == 2
    assert sentence in capsys.readouterr().err


def test_a_drop_is_asked_for_by_a_file(home):
    run = manifest().hash
    assert outcome(["peer", "drop", run[:8], "vita", "--home", str(home.path)]) == 0
    assert 'drop = ["vita"]' in (home.run_folder(run) / "stop-0.toml").read_text()


def test_the_log_is_shown_and_nothing_in_it_moves_the_cursor(home, capsys):
    run = manifest().hash
    words = ["peer", "log", run[:8], "--home", str(home.path)]
    assert outcome(words) == 2
    assert "There is no run in folder" in capsys.readouterr().err
    with Store.create(home.run_folder(run), run, "a build", b"state") as store:
        store.log("start", "start 1")
        store.log("refused", "10.0.0.9: SHA-256 abcd\x1b[2J " + "x" * 5000)
    assert outcome(words) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith(" start: start 1")
    assert "abcd\\x1b[2J" in second and len(second) < 1100
    assert outcome([*words, "--kind", "refused", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["events"]
    assert (found["number"], found["kind"]) == (2, "refused")
    assert found["text"].endswith("x" * 5000)


def test_a_new_certificate_makes_a_new_card(home, capsys):
    before = home.card.serial
    assert outcome(["peer", "rotate", "--home", str(home.path)]) == 0
    assert Home.open(home.path).card.serial == before + 1
    assert f"Card {before + 1}" in capsys.readouterr().out


def test_an_unknown_run_is_refused(home, capsys):
    for command in ("run", "check", "audit", "export"):
        assert outcome(["peer", command, "ffff", "--home", str(home.path)]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_a_manifest_that_is_not_there_is_refused(capsys):
    assert outcome(["peer", "rehearse", "nowhere.toml"]) == 2
    assert "cannot be read" in capsys.readouterr().err
