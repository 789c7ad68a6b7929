from __future__ import annotations

import json
import time

import pytest

from dpdl.peer.status import PulseWriter, Waiting, status_of
from dpdl.peer.trouble import Trouble


def test_the_status_of_a_run_that_has_ended(ended):
    found = status_of(ended.home(0), ended.run(0))
    assert (found.rounds, found.view, found.running) == (4, 0, False)
    assert found.epsilon == pytest.approx(ended.manifest.privacy.epsilon[0], rel=1e-6)
    assert set(found.approved) == set(found.members)
    assert found.score is not None
    assert "round 4 of 4" in found.line()
    assert found.shareable().score is None
    assert 'dpdl_peer_epsilon{site="mercy"' in found.prometheus()


def test_who_is_waited_for_is_said(group):
    sites = group(2, graph="complete")
    sites.start(0)
    until = time.monotonic() + 40
    while time.monotonic() < until:
        found = status_of(sites.home(0), sites.run(0))
        if found.waiting:
            break
        time.sleep(0.2)
    assert found.running
    assert [one.name for one in found.waiting] == ["olav"]
    assert "Nothing listens" in found.waiting[0].why
    assert "waits for the approval of olav" in found.line()


def test_the_pulse_is_a_file_that_ends_with_the_process(tmp_path):
    file = tmp_path / "private" / "status.json"
    trouble = {"olav": Trouble(time.time(), "Nothing listens.")}
    with PulseWriter(file, lambda: trouble):
        until = time.monotonic() + 10
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.01)
        found = json.loads(file.read_text())
        assert found["waiting"][0]["name"] == "olav"
    assert not file.exists()


def test_a_pulse_that_cannot_be_written_is_left_out_and_comes_again(tmp_path):
    file = tmp_path / "private" / "status.json"
    in_the_way = file.with_suffix(".new")
    in_the_way.mkdir(parents=True)
    beats: list[int] = []

    def trouble() -> dict[str, Trouble]:
        beats.append(1)
        return {}

    with PulseWriter(file, trouble, every=0.01):
        until = time.monotonic() + 10
        while len(beats) < 3 and time.monotonic() < until:
            time.sleep(0.01)
        assert not file.exists()
        in_the_way.rmdir()
        while not file.exists() and time.monotonic() < until:
            time.sleep(0.01)
        assert json.loads(file.read_text())["waiting"] == []
    assert len(beats) >= 3


def test_an_alarm_comes_after_the_agreed_time(ended):
    from dpdl.peer.status import alarm_of

    old = Waiting("olav", "2026-01-01T00:00:00+00:00", "Nothing listens.")
    assert "olav has not answered for more than 60 minutes" in (
        alarm_of((old,), 60) or ""
    )
    assert alarm_of((), 60) is None
