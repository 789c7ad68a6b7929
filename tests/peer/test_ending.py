"""Going on without a member: one view, the same at all who remain."""

from __future__ import annotations

import time
from concurrent.futures import Future
from types import SimpleNamespace

import numpy as np
import pytest

from dpdl.errors import InputError, RunFailed
from dpdl.folder.data_ledger import DataLedger
from dpdl.folder.data_ledger_entries import Debited
from dpdl.peer.auditing import audit_run
from dpdl.peer.ending import ViewChange, ask_to_drop
from dpdl.peer.failures import ViewOver
from dpdl.peer.plan import first_view
from dpdl.peer.round_key import RoundKey
from dpdl.peer.run_folder import PeerRun
from dpdl.peer.statements import Statements
from dpdl.peer.store import Store
from dpdl.peer.store_reader import StoreReader
from dpdl.peer.views import StopStatement, current_view
from tests.peer.agreements import agreement, manifest, signing
from tests.peer.group import Group, said_twice


def reached(group: Group, number: int, round: int, seconds: float = 40.0) -> None:
    """Wait until a site has begun a round."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        folder = group.run(number).path
        if (folder / "run.sqlite").exists():
            with StoreReader(folder) as store:
                if store.here.round >= round:
                    return
        time.sleep(0.02)
    raise AssertionError(group.log(number))


def has_stated(group: Group, number: int, seconds: float = 40.0) -> None:
    """Wait until a site has signed that the first view shall end."""
    until = time.monotonic() + seconds
    name = group.manifest.names[number]
    while time.monotonic() < until:
        with StoreReader(group.run(number).path) as store:
            if f"0-{name}" in store.documents("stop"):
                return
        time.sleep(0.02)
    raise AssertionError(group.log(number))


def test_those_who_remain_go_on_and_the_dropped_one_is_told(group):
    sites = group(4, rounds=40, graph="complete", algorithm="muffliato")
    sites.start_all()
    reached(sites, 2, 3)
    sites.kill(2)
    for k in (0, 1, 3):
        assert ask_to_drop(sites.home(k), sites.run(k), ["vita"]) == 0
        if k == 1:  # one is killed while views change, and stands by what it has said
            has_stated(sites, 1)
            sites.kill(1)
            sites.run(1).stop_file(0).unlink()
            sites.start(1)
    codes = sites.wait(60)
    assert codes == {0: 0, 1: 0, 3: 0}, [sites.log(k) for k in range(4)]
    starts = set()
    for k in (0, 1, 3):
        with StoreReader(sites.run(k).path) as store:
            assert store.here.view == 1
            assert store.here.done == 40
            starts.add(store.documents("over")["0"])
        found = audit_run(sites.home(k), sites.run(k))
        assert found.problems == ()
        assert found.charged >= 39, "a round that only others had begun is left out"
    assert len(starts) == 1, "all have the same statements"
    models = [np.load(sites.path / f"model-{k}.npy") for k in (0, 1, 3)]
    assert all((one == models[0]).all() for one in models)


@pytest.mark.slow
def test_after_a_drop_all_hold_one_model_again_and_what_was_given_up_stays_paid(group):
    """Of the round in which a member was lost nothing is used; the next one has other secrets."""
    sites = group(4, rounds=40, graph="ring", algorithm="concord")
    sites.start_all()
    reached(sites, 2, 3)
    sites.kill(2)
    for k in (0, 1, 3):
        assert ask_to_drop(sites.home(k), sites.run(k), ["vita"]) == 0
    codes = sites.wait(60)
    assert codes == {0: 0, 1: 0, 3: 0}, [sites.log(k) for k in range(4)]
    models = np.stack([np.load(sites.path / f"model-{k}.npy") for k in (0, 1, 3)])
    assert np.abs(models - models[0]).max() < 1e-3 * models.std()
    for k, name in ((0, "mercy"), (1, "olav"), (3, "anna")):
        found = audit_run(sites.home(k), sites.run(k))
        assert found.problems == ()
        # Who was a round behind skips the one that others had begun, and is not charged for it.
        assert found.charged >= len({m.round for m in sites.seen() if m.source == name})
        assert 38 <= found.charged <= 40


@pytest.mark.slow
def test_a_dropped_site_that_comes_back_is_fenced(group):
    sites = group(4, rounds=200, graph="complete", algorithm="muffliato")
    sites.start_all()
    reached(sites, 3, 2)
    sites.kill(3)
    for k in (0, 1, 2):
        ask_to_drop(sites.home(k), sites.run(k), ["anna"])
    reached_view(sites, 0)
    before = StoreReader(sites.run(3).path)
    outbox = before.outbox()
    before.close()
    sites.start(3)
    until = time.monotonic() + 30
    while (code := sites.finished(3)) is None and time.monotonic() < until:
        time.sleep(0.02)
    assert code == 4, sites.log(3)
    assert "go on without anna" in sites.log(3)
    after = StoreReader(sites.run(3).path)
    assert after.outbox() == outbox, "nothing more was committed"
    after.close()


@pytest.mark.slow
def test_a_lost_round_key_is_replaced_when_all_begin_the_round_anew(group):
    sites = group(3, rounds=10, graph="complete", algorithm="decor")
    sites.start_all()
    reached(sites, 0, 3)
    sites.kill(0)
    sites.run(0).round_key.unlink()
    sites.start(0)
    assert sites.ended(0) == 2, sites.log(0)
    remedy = f"dpdl peer drop {sites.manifest.hash[:12]} --nobody"
    assert remedy in sites.log(0)
    for k in range(3):
        assert ask_to_drop(sites.home(k), sites.run(k), []) == 0
    sites.start(0)
    assert sites.wait(60) == {0: 0, 1: 0, 2: 0}, [sites.log(k) for k in range(3)]
    assert said_twice(sites.seen()) == []
    links = [links_of(sites, k) for k in range(3)]
    assert links[0]["olav"] == links[1]["mercy"]
    assert links[0]["vita"] == links[2]["mercy"]
    assert links[1]["vita"] == links[2]["olav"]
    assert len({key for one in links for key in one.values()}) == 3
    for k in range(3):
        assert not any(sites.run(k).run_key(view).exists() for view in range(3))
        assert audit_run(sites.home(k), sites.run(k)).problems == ()
        abandoned_and_paid(sites, k)


def links_of(sites: Group, number: int) -> dict[str, bytes]:
    """The secrets of a site's links in the last round, which is of view 1."""
    names = sites.manifest.names
    others = [name for name in names if name != names[number]]
    _, *keys = RoundKey(sites.run(number).round_key).material(1, 10)
    return dict(zip(others, keys, strict=True))


def abandoned_and_paid(sites: Group, number: int) -> None:
    """The ledger has the rounds of both views; what was begun before stays in it."""
    with DataLedger.open(sites.home(number).ledger_path("digits")) as ledger:
        paid = {
            (one.view, one.round)
            for one in ledger.entries()
            if isinstance(one, Debited)
        }
    old = [t for view, t in paid if view == 0]
    new = [t for view, t in paid if view == 1]
    assert sorted(old) == list(range(1, len(old) + 1)) and len(old) >= 3
    with StoreReader(sites.run(number).path) as store:
        said = agreed_start(store, sites)
    assert sorted(new) == list(range(said, 11))
    assert said - 2 <= max(old) <= said, "neighbours are a round apart at most"


def agreed_start(store: StoreReader, sites: Group) -> int:
    first = first_view(sites.manifest)
    return current_view(sites.manifest, first, store.documents("over")).start


def reached_view(group: Group, number: int, seconds: float = 40.0) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with StoreReader(group.run(number).path) as store:
            if store.here.view == 1:
                return
        time.sleep(0.05)
    raise AssertionError(group.log(number))


# ------------------------------------------------------------------ who says that a view is over
class Enough(Exception):
    """So much has been waited."""


class Looks:
    """A standing that has nothing new, and ends the wait after some looks."""

    def __init__(self, most: int) -> None:
        self.left = most

    def wait(self, seconds: float) -> None:
        self.left -= 1

    def check(self) -> None:
        if self.left <= 0:
            raise Enough


class Passing:
    """A network in which everybody passes on these statements."""

    def __init__(self, known: dict[str, bytes]) -> None:
        self.known = known

    def fetch_document(self, whom: str, kind: str, name: str) -> Future[bytes | None]:
        future: Future[bytes | None] = Future()
        future.set_result(self.known.get(name))
        return future


@pytest.fixture
def change(tmp_path):
    """The end of the first view at mercy, whose operator has not asked for it."""
    store = Store.create(tmp_path, manifest().hash, "a build", b"state")
    view, statements = first_view(manifest()), Statements(manifest(), store)
    home, run, said = SimpleNamespace(name="mercy"), PeerRun(tmp_path), []
    yield ViewChange(
        home, run, manifest(), view, store, statements, None, Looks(5), said.append
    )  # type: ignore[arg-type]
    store.close()


def dropping(name: str, *drop: str) -> bytes:
    key = agreement(name).public
    said = StopStatement(
        run=manifest().hash, view=0, name=name, drop=drop, begun=3, agreement=key
    )
    return said.text(signing(name))


OVER = ViewOver("vita says that the members go on in another composition.")


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"0-vita": dropping("vita", "mercy")},
        {"0-vita": dropping("vita", "mercy"), "0-st-olav": dropping("vita", "mercy")},
    ],
    ids=["nobody has", "only who says so", "forged"],
)
def test_one_neighbour_alone_cannot_say_that_the_others_go_on(change, known):
    with pytest.raises(Enough):
        change.made(Passing(known), OVER)
    assert change.store.here.view == 0


def test_who_is_dropped_by_all_others_stops(change):
    known = {f"0-{name}": dropping(name, "mercy") for name in ("st-olav", "vita")}
    with pytest.raises(RunFailed, match="go on without mercy: vita says"):
        change.made(Passing(known), OVER)
    assert change.store.here.view == 0


def test_who_cannot_be_dropped_is_said_before_anything_is_written(ended):
    home, run = ended.home(0), ended.run(0)
    for names, said in (
        (["nobody"], "not in view"),
        (["olav", "vita"], "more than half"),
        (["mercy"], "does not drop itself"),
    ):
        with pytest.raises(InputError, match=said):
            ask_to_drop(home, run, names)
    assert not run.stop_file(0).exists()
