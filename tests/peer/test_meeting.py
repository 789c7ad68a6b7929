from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from dpdl.peer.approvals import Approvals
from dpdl.peer.failures import SecondInstance
from dpdl.peer.hello import Greeter
from dpdl.peer.meeting import Documents, Meeting
from dpdl.peer.standing import Standing
from dpdl.peer.store import Store
from tests.peer.agreements import manifest
from tests.peer.posts import KEYS, RUN, Heads, nothing, stores_in


class Library:
    """Members who have documents, or do not answer."""

    def __init__(self, known: dict[tuple[str, str], bytes | None]) -> None:
        self.known = known
        self.asked: list[tuple[str, str]] = []

    def fetch_document(self, whom: str, kind: str, name: str) -> Future[bytes | None]:
        self.asked.append((whom, name))
        future: Future[bytes | None] = Future()
        if (whom, name) in self.known:
            future.set_result(self.known[whom, name])
        return future


def test_documents_come_from_whoever_has_them():
    library = Library({("olav", "vita"): b"text", ("anna", "vita"): None})
    documents = Documents(library, "approval", ["olav", "anna", "luke"])
    assert documents.found(["vita"]) == []
    assert documents.found(["vita"]) == [("vita", b"text")]


def test_who_does_not_answer_is_asked_once_and_who_has_nothing_again():
    library = Library({("anna", "vita"): None})
    documents = Documents(library, "approval", ["anna", "luke"])
    for _ in range(4):
        assert documents.found(["vita"]) == []
    assert library.asked.count(("luke", "vita")) == 1
    assert library.asked.count(("anna", "vita")) == 4


def test_a_site_without_its_own_approval_does_not_start(group):
    sites = group(2, graph="complete")
    sites.run(0).approval_file("mercy").unlink()
    sites.start(0)
    assert sites.ended(0) == 2
    assert "mercy has not approved this run" in sites.log(0)


# ------------------------------------------------------------------ hello
Answer = Callable[[], bytes]


class Line:
    """A neighbour that answers hellos one after the other; before that, things happen."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)

    def hello(self, name: str, content: Callable[[], bytes]) -> Future[bytes]:
        future: Future[bytes] = Future()
        if self.answers:
            future.set_result(self.answers.pop(0)())
        return future


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[dict[str, Store]]:
    found = stores_in(tmp_path)
    yield found
    for store in found.values():
        store.close()


def greeter(store: Store, name: str, start: int) -> Greeter:
    keys = {name: key.public for name, key in KEYS.items()}
    nonce = f"{start:032x}"
    return Greeter(
        RUN, name, KEYS[name], keys, store, start, nonce, Heads(), lambda: start
    )


def meeting(stores: dict[str, Store], line: Line, standing: Standing) -> Meeting:
    mine = greeter(stores["mercy"], "mercy", 1)
    return Meeting(
        "mercy", manifest(), line, mine, mine.store, standing, nothing, print, 1.0
    )  # type: ignore[arg-type]


def test_an_answer_of_a_process_that_has_died_since_is_asked_for_again(stores):
    """Its follower's hello comes while the answer is on its way: two starts, one process."""
    mine = greeter(stores["mercy"], "mercy", 1)
    olavs = {k: greeter(stores["olav"], "olav", k).text_for("mercy") for k in (6, 7)}

    def late() -> bytes:
        mine.judged("olav", olavs[7])
        return olavs[6]

    standing = Standing(("olav",))
    line = Line(late, lambda: olavs[7])
    meeting(stores, line, standing).greet()
    assert line.answers == []
    assert standing.least() == 7


def test_two_processes_that_both_answer_are_refused(stores):
    mine = greeter(stores["mercy"], "mercy", 1)
    olavs = {k: greeter(stores["olav"], "olav", k).text_for("mercy") for k in (6, 7)}
    mine.judged("olav", olavs[7])
    line = Line(lambda: olavs[6], lambda: olavs[6])
    with pytest.raises(SecondInstance, match="start number 6 is not above 7"):
        meeting(stores, line, Standing(("olav",))).greet()
    assert len(line.answers) == 1, "nothing has changed: it is not asked again"


def test_who_was_told_that_a_neighbour_has_all_rounds_never_waits_for_it_again(stores):
    """It was told by the thread that serves, and killed: the neighbour may have ended since."""
    store, rounds = stores["mercy"], manifest().experiment_of().rounds
    store.begin(rounds, b"state", 0)
    store.finish(b"state")
    said = greeter(stores["olav"], "olav", rounds).text_for("mercy")
    greeter(store, "mercy", 1).judged("olav", said)
    again, line = Standing(("olav",)), Line(lambda: b"it would wait for ever")
    meeting(stores, line, again).greet()
    assert again.missing(rounds) == []
    assert len(line.answers) == 1, "nobody was asked"


def test_who_has_not_all_rounds_asks_also_those_that_have(stores):
    """Only they can show that its database is old."""
    rounds = manifest().experiment_of().rounds
    said = greeter(stores["olav"], "olav", rounds).text_for("mercy")
    greeter(stores["mercy"], "mercy", 1).judged("olav", said)
    line = Line(lambda: said)
    meeting(stores, line, Standing(("olav",))).greet()
    assert line.answers == []


# ------------------------------------------------------------------ what others pass on
class Passing(Line):
    """Members who pass on one text as whatever they are asked for."""

    def __init__(self, content: bytes) -> None:
        super().__init__()
        self.content = content

    def fetch_document(self, whom: str, kind: str, name: str) -> Future[bytes | None]:
        future: Future[bytes | None] = Future()
        future.set_result(self.content)
        return future

    def send_document(self, name: str, kind: str, who: str, content: bytes) -> None:
        """Nobody looks at it."""


class Enough(Exception):
    """So much has been waited."""


def test_a_wrong_approval_that_is_passed_on_is_logged_and_ends_nothing(
    stores, tmp_path
):
    store = stores["mercy"]
    store.put_document("approval", "mercy", b"its own")
    looks = iter(range(3))

    def check() -> None:
        if next(looks, None) is None:
            raise Enough

    mine = greeter(store, "mercy", 1)
    line = Passing(b"no approval")
    one = Meeting(
        "mercy", manifest(), line, mine, store, Standing(()), check, print, 1.0
    )  # type: ignore[arg-type]
    with pytest.raises(Enough):
        one.gather_approvals(Approvals(manifest(), store), tmp_path)
    texts = [event.text for event in store.events() if event.kind == "refused"]
    assert any(
        "approval of st-olav: approval has no signature" in text for text in texts
    )
    assert set(store.documents("approval")) == {"mercy"}
