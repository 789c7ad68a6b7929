"""`dpdl peer mailbox`: what cannot be; `tests/peer/test_post.py` runs the process itself."""

from __future__ import annotations

import pytest

from dpdl.cli import outcome
from tests.peer.mailboxes import member, web_files


@pytest.fixture
def words(tmp_path):
    card = tmp_path / "card.toml"
    card.write_bytes(member("mercy").card.content)
    files = web_files()
    return {
        "--listen": "127.0.0.1:0",
        "--folder": str(tmp_path / "mail"),
        "--tls-cert": str(files.certificate),
        "--tls-key": str(files.key),
        "card": str(card),
    }


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("--listen", "nowhere", "listen must be HOST:PORT"),
        ("--tls-key", "nowhere", "and key 'nowhere' cannot be used"),
        ("--folder", "/dev/null/x", "Folder '/dev/null/x' cannot be written"),
        ("card", "nowhere", "nowhere"),
        ("card", "", "A mailbox needs the cards of its members."),
    ],
)
def test_a_mailbox_that_cannot_be_is_refused(words, capsys, name, value, sentence):
    given = {**words, name: value}
    card = given.pop("card")
    flat = [word for pair in given.items() for word in pair]
    assert outcome(["peer", "mailbox", *flat, *([card] if card else [])]) == 2
    said = capsys.readouterr().err
    assert sentence in said
    assert "Traceback" not in said
