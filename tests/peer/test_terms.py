"""Budgets, certificates and channels, with real processes."""

from __future__ import annotations

import ast
import json
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import dpdl.peer
from dpdl.folder.data_ledger import DataLedger
from dpdl.net import Net
from dpdl.peer.certificates import DAYS
from dpdl.peer.newest_cards import expiring
from dpdl.peer.plan import first_view, public_plan
from dpdl.peer.store_reader import StoreReader
from tests.peer.clocks import site_with_clock, wrong_clock
from tests.peer.group import NAMES, Group, in_child, propose_another, said_twice

BUDGET = 5.0


def began(group: Group, number: int, round: int, seconds: float = 40.0) -> None:
    """Wait until a site has begun a round."""
    database = group.run(number).path / "run.sqlite"
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if database.exists():
            with StoreReader(database.parent) as store:
                if store.here.round >= round:
                    return
        time.sleep(0.02)
    raise AssertionError(group.log(number))


def ended_well(group: Group) -> None:
    codes = group.wait()
    assert set(codes.values()) == {0}, [group.log(k) for k in codes]
    assert (group.models() == group.reference()).all()
    assert said_twice(group.seen()) == []


# ------------------------------------------------------------------ 11: budgets
def another(first: Group, path: Path, **options: object) -> Group:
    """A further run of the same sites on the same data sets, in a folder of its own."""
    path.mkdir()
    for name in NAMES[: len(first.ports)]:
        (path / name).symlink_to(first.path / name)
    shutil.copy(first.path / "ports.json", path)
    in_child(propose_another, path, options)
    return Group(path)


def test_two_runs_on_one_data_set_share_its_budget_and_none_goes_beyond(
    group, tmp_path
):
    sites = group(2, graph="complete", rounds=3, budget_epsilon=BUDGET)
    second = another(sites, tmp_path / "second", rounds=2, sigma=3.0)
    greedy = another(sites, tmp_path / "greedy", rounds=60, sigma=0.7)
    assert (greedy.path / "refused.txt").read_text().startswith("PrivacyRefused")
    assert not greedy.run(0).approval_file("mercy").exists()
    for one in (sites, second):
        one.start_all()
        ended_well(one)
    home = sites.home(0)
    with DataLedger.open(home.ledger_path("digits")) as ledger:
        spent = [ledger.run(one.manifest.hash).rounds_spent for one in (sites, second)]
        assert spent == [3, 2]
        found = ledger.epsilon()
        assert found.spent == pytest.approx(found.reserved)
        alone = sites.manifest.privacy.epsilon[0]
        assert alone < found.spent <= BUDGET
    nothing_leaves_without_a_reservation(sites, tmp_path)


def nothing_leaves_without_a_reservation(sites: Group, tmp_path: Path) -> None:
    """A run that was approved, and whose room in the budget is gone when it starts."""
    third = another(sites, tmp_path / "third", rounds=2, sigma=5.0)
    home = third.home(0)
    with DataLedger.open(home.ledger_path("digits")) as ledger:
        assert ledger.release(third.manifest.hash) == 2
    third.start_all()
    assert third.ended(0) == 3, third.log(0)
    assert "has nothing reserved for round 1" in third.log(0)
    third.close()
    with StoreReader(third.run(0).path) as store:
        assert store.outbox() == []
    assert third.seen() == []


# ------------------------------------------------------------------ which manifest
def test_sites_that_run_different_manifests_are_told_the_field_and_nothing_leaves(
    group, tmp_path
):
    sites = group(2, graph="complete", rounds=3)
    second = another(sites, tmp_path / "second", rounds=3, sigma=3.0)
    sites.start(0)
    second.start(1)
    said = words_of_the_first_to_end(sites, second)
    assert said.startswith("OtherManifest: Peer "), said
    assert "they differ in experiment.sigma, privacy.sigma, privacy.epsilon[0]," in said
    assert said.endswith(
        "; nothing was sent. Agree on one of the two, and let both sites run that one."
    )
    sites.close()
    second.close()
    assert sites.seen() == second.seen() == []


def words_of_the_first_to_end(sites: Group, second: Group) -> str:
    """The other one may have nobody left to ask, and wait; no code but 2 is right."""
    both = ((sites, 0), (second, 1))
    until = time.monotonic() + 40
    while time.monotonic() < until:
        for group, number in both:
            if (code := group.processes[number].exitcode) is not None:
                assert code == 2, group.log(number)
                return group.log(number).splitlines()[-1]
        time.sleep(0.01)
    raise AssertionError(sites.log(0) + second.log(1))


# ------------------------------------------------------------------ 13: certificates
@pytest.mark.slow
def test_a_certificate_changes_during_a_run_by_a_clock_that_is_a_day_ahead(group):
    sites = group(3, rounds=40)
    sites.start_all()
    began(sites, 0, 3)
    card = sites.home(0).rotate(now=datetime.now(UTC) + timedelta(days=1))
    for number in (1, 2):
        sites.home(number).admit(card)
    sites.kill(0)
    sites.start(0)  # shows the new certificate to those that run all the time
    ended_well(sites)
    assert sites.home(0).identity().certificate.name != "tls.crt"


def test_a_certificate_that_has_expired_is_named_and_nothing_is_sent(group):
    sites = group(2, graph="complete")
    home = sites.home(0)
    valid = (home.path / "card.toml").read_bytes()
    home.rotate(now=datetime.now(UTC) - timedelta(days=4000))
    sites.start(0)
    assert sites.ended(0) == 2, sites.log(0)
    assert "expired on" in sites.log(0)
    assert "dpdl peer rotate" in sites.log(0)
    (home.path / "card.toml").write_bytes(valid)
    sites.start_all()
    ended_well(sites)


@pytest.mark.slow
def test_a_certificate_changes_without_interruption_whoever_admits_it_when(group):
    """The old one serves until the new one is shown, and who was late admits it while it runs."""
    sites = group(3, rounds=60, graph="complete")
    sites.start_all()
    began(sites, 0, 2)
    card = sites.home(0).rotate()
    began(sites, 1, begun_now(sites, 1) + 2)  # nobody has admitted it yet
    sites.home(1).admit(card)
    began(sites, 2, begun_now(sites, 2) + 2)  # and the old one is still shown
    sites.kill(0)
    sites.start(0)
    waiting(sites, 2, "mercy")  # which does not know the certificate
    sites.home(2).admit(card)
    ended_well(sites)
    for number in (1, 2):
        with StoreReader(sites.run(number).path) as store:
            assert store.here.incarnation == 1, "no other site had to start again"


def begun_now(group: Group, number: int) -> int:
    with StoreReader(group.run(number).path) as store:
        return store.here.round


def waiting(group: Group, number: int, name: str, seconds: float = 40.0) -> None:
    """Until a site says in its status that it has trouble with another one."""
    until = time.monotonic() + seconds
    file = group.run(number).status_file
    while time.monotonic() < until:
        pulse = json.loads(file.read_text()) if file.exists() else {"waiting": []}
        if name in [one["name"] for one in pulse["waiting"]]:
            return
        time.sleep(0.02)
    raise AssertionError(group.log(number))


def test_a_certificate_that_ends_is_named_30_days_before_to_all_who_need_it(group):
    sites = group(2, graph="complete")
    now, whole = datetime.now(UTC), timedelta(days=DAYS)
    for left, said in ((31, []), (29, ["mercy"])):
        card = sites.home(0).rotate(now=now - whole + timedelta(days=left))
        sites.home(1).admit(card)
        for number in (0, 1):
            found = expiring(sites.home(number), sites.manifest)
            assert [one.split()[3] for one in found] == said
    sites.start_all()
    ended_well(sites)
    end = f"{now + timedelta(days=29):%Y-%m-%d}"
    for number in (0, 1):
        assert f"The certificate of mercy expires on {end}; " in sites.log(number)
        assert "dpdl peer rotate" in sites.log(number)


@pytest.mark.slow
def test_clocks_that_are_wrong_by_a_day_change_nothing(group):
    sites = group(3, graph="complete", rounds=6)
    library = wrong_clock(sites.path)
    day = 86400
    others = [site_with_clock(sites, k, library, day - 2 * day * k) for k in (0, 1)]
    sites.start(2)
    codes = [one.wait(90) for one in others]
    assert codes == [0, 0], [sites.log(k) for k in (0, 1)]
    ended_well(sites)
    for number, shift in ((0, day), (1, -day), (2, 0)):
        with StoreReader(sites.run(number).path) as store:
            (first, *_) = store.events()
        at = datetime.fromisoformat(first.time).timestamp()
        assert abs(at - time.time() - shift) < day / 2, "the clock was wrong"


# ------------------------------------------------------------------ 15: what leaves
def test_only_what_the_algorithm_declares_is_ever_seen(ended):
    manifest = ended.manifest
    plan = public_plan(manifest, first_view(manifest), ended.run(0).initial())
    seen = ended.seen()
    assert {one.channel for one in seen} == {one.channel for one in plan.releases}
    assert said_twice(seen) == []


def test_a_peer_has_nothing_that_collects(ended):
    """`Experimenter` gathers un-noised rows; no module of peers names it, and no net has it."""
    folder = Path(dpdl.peer.__file__).parent
    for file in folder.glob("*.py"):
        tree = ast.parse(file.read_text())
        words = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
        names = {one.name for one in ast.walk(tree) if isinstance(one, ast.alias)}
        assert "Experimenter" not in words | names, file.name
    assert not {"collect", "share", "agree"} & set(dir(Net))
