"""Real processes, sockets and files: what is trained is what one process would train."""

from __future__ import annotations

import signal
import time
from dataclasses import replace

import pytest

from dpdl.peer.auditing import audit_run
from dpdl.peer.store_reader import StoreReader
from tests.peer.group import QUICK, Group

POINTS = ("secret", "begin", "outbox", "publish", "fetch")


def ended_well(group: Group, seconds: float = 60.0) -> None:
    codes = group.wait(seconds)
    assert set(codes.values()) == {0}, [group.log(k) for k in codes]


def begun(group: Group, round: int, seconds: float = 40.0) -> None:
    """Wait until the first site has begun a round."""
    until = time.monotonic() + seconds
    file = group.run(0).path / "run.sqlite"
    while time.monotonic() < until:
        if file.exists():
            with StoreReader(file.parent) as store:
                if store.here.round >= round:
                    return
        time.sleep(0.01)
    raise AssertionError(group.log(0))


def same_bits(group: Group) -> None:
    assert (group.models() == group.reference()).all()


def test_peers_have_the_bits_of_one_process(ended):
    same_bits(ended)
    for k in range(3):
        assert not ended.run(k).run_key().exists()
    # Everything is over: a start more ends at once, though nobody else is there.
    ended.start(0)
    ended_well(ended, 20)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["decor", "muffliato", "dp-netfleet", "gut"])
def test_other_algorithms_have_the_bits_of_one_process_too(group, algorithm):
    sites = group(3, algorithm=algorithm, rounds=6)
    sites.start_all()
    ended_well(sites)
    same_bits(sites)


def test_secrets_of_members_who_are_no_neighbours_have_the_bits_of_one_process(group):
    sites = group(3, algorithm="concord", graph="path", rounds=6)
    sites.start_all()
    ended_well(sites)
    assert sites.reference().std(0).max() < 1e-3  # one model
    same_bits(sites)


@pytest.mark.slow
def test_a_model_of_ones_own_is_trained_where_every_site_allows_its_module(group):
    own = "tests.peer.own_net"
    sites = group(
        2, graph="complete", rounds=3, model=f"{own}:Net", modules=(own, "others")
    )
    sites.start(1)
    settings = sites.home(0).path / "peer.toml"
    before = settings.read_text()
    settings.write_text(before.replace(f'"{own}"', '"tests.peer"'))
    assert settings.read_text() != before
    sites.start(0)
    assert sites.ended(0) == 2, sites.log(0)
    assert f"model is code of '{own}', which this site does not" in sites.log(0)
    settings.write_text(before)
    sites.start(0)
    ended_well(sites)
    same_bits(sites)
    assert audit_run(sites.home(0), sites.run(0)).ok


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_peer_that_dies_at_any_point_sends_nothing_else(group, when):
    sites = group(3, rounds=7)
    for number in (1, 2):
        sites.start(number)
    for point in POINTS:
        sites.start(0, (f"{point}:{when}", 2))
        until = time.monotonic() + 30
        while (code := sites.finished(0)) is None:
            assert time.monotonic() < until, sites.log(0)
            time.sleep(0.005)
        assert code == -signal.SIGKILL, (point, sites.log(0))
    sites.start(0)
    ended_well(sites)
    same_bits(sites)
    assert audit_run(sites.home(0), sites.run(0)).problems == ()
    for k in range(3):
        assert audit_run(sites.home(k), sites.run(k)).violations == 0


def test_all_may_be_killed_at_once_and_one_may_be_frozen(group):
    sites = group(3, rounds=14)
    sites.settings = replace(QUICK, long_poll=0.2, patience=0.2)
    sites.start_all()
    for round in (2, 4, 6):
        begun(sites, round)
        for k in list(sites.processes):
            sites.kill(k)
        sites.start_all()
    begun(sites, 8)
    sites.send(1, signal.SIGSTOP)
    time.sleep(sites.settings.allowance(20_000) + 0.2)  # longer than all time-outs
    sites.send(1, signal.SIGCONT)
    ended_well(sites)
    same_bits(sites)
