"""The newest statement of a member counts, whoever shows an old one, and whenever."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.peer.network import Network
from dpdl.peer.statements import Statements
from dpdl.peer.store import Store
from dpdl.peer.views import KIND, StopStatement
from tests.peer.agreements import agreement, manifest, signing
from tests.peer.group import QUICK
from tests.peer.mailboxes import HostileMailbox, Member, web_files
from tests.peer.sites import RUN, Shown

MERCY, OLAV = manifest().names[:2]
DOCUMENT = f"0-{MERCY}"
SETTINGS = replace(
    QUICK, patience=0.5, long_poll=0.5, authorities=web_files().authorities
)


def said(name: str = MERCY, **changed: object) -> StopStatement:
    first = StopStatement(
        run=manifest().hash,
        view=0,
        name=name,
        drop=(),
        begun=7,
        agreement=agreement(name).public,
    )
    return replace(first, **changed)  # type: ignore[arg-type]


def text(name: str = MERCY, **changed: object) -> bytes:
    return said(name, **changed).text(signing(name))


@pytest.fixture
def statements(tmp_path: Path) -> Iterator[Statements]:
    store = Store.create(tmp_path, manifest().hash, "a build", b"state")
    yield Statements(manifest(), store)
    store.close()


def held(statements: Statements) -> StopStatement:
    return statements.of_view(0, manifest().names)[MERCY]


def test_a_later_attempt_replaces_an_earlier_one_and_never_the_other_way(statements):
    for attempt in (1, 3, 2, 1):
        statements.accept(DOCUMENT, text(attempt=attempt, drop=(OLAV,) * (attempt % 2)))
    assert held(statements) == said(attempt=3, drop=(OLAV,))
    assert set(statements.of_view(0, (MERCY, OLAV))) == {MERCY}


def test_of_two_with_the_same_number_the_first_one_counts(statements):
    statements.accept(DOCUMENT, text(begun=7))
    statements.accept(DOCUMENT, text(begun=8))
    assert held(statements).begun == 7


@pytest.mark.parametrize(
    ("document", "content", "sentence"),
    [
        (f"0-{OLAV}", text(), "not signed with the key"),
        (f"1-{MERCY}", text(), "is about another view"),
        (f"2-{MERCY}", text(view=2), "ends view 2, and this site is in view 0"),
        ("²-mercy", text(), "names no statement"),
        (DOCUMENT, text(begun=-1), "numbers that cannot be"),
        (DOCUMENT, text(begun=22), "numbers that cannot be"),
        (DOCUMENT, text(attempt=0), "numbers that cannot be"),
    ],
)
def test_what_is_no_statement_is_refused(statements, document, content, sentence):
    with pytest.raises(InputError, match=sentence):
        statements.accept(document, content)
    assert statements.store.documents(KIND) == {}


def test_who_has_all_rounds_and_who_is_a_view_ahead_may_speak(statements):
    statements.accept(DOCUMENT, text(begun=21))
    statements.accept(f"1-{MERCY}", text(view=1))
    assert len(statements.store.documents(KIND)) == 2


# ------------------------------------------------------------------ by a mailbox
@dataclass
class Keeping(Shown):
    """A shelf that takes statements as a peer does."""

    statements: Statements = field(kw_only=True)

    def take_document(self, kind: str, name: str, content: bytes, sender: str) -> None:
        self.statements.accept(name, content)
        self.documents[kind, name] = content


@contextmanager
def reader(olav: Member, mercy: Member, url: str, statements: Statements):
    """One process of st-olav: it remembers no numbers of calls from an earlier one."""
    shelf = Keeping(statements=statements)
    with Network(RUN, olav.identity(url), [mercy.neighbour(url)], shelf, SETTINGS):
        yield shelf


def test_an_old_statement_that_a_mailbox_shows_after_a_restart_changes_nothing(
    statements,
):
    """Its call is fresh for 15 minutes, and the new process has not seen it."""
    mercy, olav = Member(MERCY), Member(OLAV)
    box = HostileMailbox(loses=1e-9)
    with (
        box.serving() as url,
        Network(
            RUN, mercy.identity(url), [olav.neighbour(url)], Shown(), SETTINGS
        ) as sender,
    ):
        with reader(olav, mercy, url, statements):
            for attempt in (1, 2):
                content = text(attempt=attempt)
                sender.send_document(OLAV, KIND, DOCUMENT, content).result(10)
        calls = [one for one in box.old if f"{MERCY}/call/" in one[0]]
        assert held(statements).attempt == 2
        with reader(olav, mercy, url, statements) as shelf:
            until = time.monotonic() + 10
            while (KIND, DOCUMENT) not in shelf.documents:
                assert time.monotonic() < until, "the new process takes the call"
                # A poll of the process that has ended may still fetch one.
                box.held.setdefault(f"{RUN}/{OLAV}", []).append(calls[0])
                time.sleep(0.1)
        assert shelf.documents[KIND, DOCUMENT] == text(attempt=1)
        assert held(statements).attempt == 2
