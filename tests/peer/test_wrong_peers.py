"""Real processes of a site that is wrong on purpose: what watches over the right ones notices.

mercy is a real process; its neighbour is played by the test over real TLS, and keeps what arrived.
`test_controls` has the same within one process.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dpdl.peer.frame import Frame, Slot
from dpdl.peer.round_key import RoundKey
from dpdl.peer.store_reader import DATABASE
from tests.peer.group import Group
from tests.peer.neighbour import Answer, Neighbourly

FIRST, ANSWERED = Slot(0, 1, 0), Slot(0, 1, 1)
CLIP, BATCH = 1.0, 16


def two(group: Callable[..., Group], algorithm: str) -> Group:
    return group(2, graph="complete", rounds=5, algorithm=algorithm, batch=BATCH)


def sent(sites: Group, olav: Neighbourly, slot: Slot = FIRST) -> Frame:
    """What mercy sends in a slot, before it is killed."""
    sites.start(0)
    until = time.monotonic() + 120
    while (found := olav.sent(slot)) is None:
        assert time.monotonic() < until, sites.log(0)
        time.sleep(0.01)
    sites.kill(0)
    return found


def refused(sites: Group, code: int = 3) -> str:
    """Why mercy stops before it sends anything."""
    sites.start(0)
    assert sites.ended(0, 120) == code, sites.log(0)
    return sites.log(0).splitlines()[-1]


def snapshot(sites: Group, path: Path, point: str) -> None:
    """The folder of mercy's run, as it is when mercy dies at a point."""
    sites.start(0, (point, 1))
    assert sites.ended(0, 120) == -9, sites.log(0)
    shutil.copytree(sites.run(0).path, path)


def put_back(sites: Group, path: Path) -> None:
    shutil.rmtree(sites.run(0).path)
    shutil.copytree(path, sites.run(0).path)


def forget_frames(sites: Group) -> None:
    """As a peer would be that compares nothing."""
    with sqlite3.connect(sites.run(0).path / DATABASE) as db:
        db.execute("DELETE FROM outbox")
    db.close()


def fresh_secret(sites: Group) -> None:
    key = RoundKey(sites.run(0).round_key)
    known = key.material(0, 1)
    key.begin(0, 1, tuple(os.urandom(32) for _ in known))


def lying(value: float) -> Answer:
    """The same number everywhere as a model, and nothing after it."""
    return lambda me, slot, head: None if slot.step else me.honest(slot, head, value)


def test_a_fresh_secret_at_a_restart_is_stopped_by_the_comparison_and_by_hello(group):
    sites = two(group, "muffliato")  # the first thing that it sends has noise
    with Neighbourly(sites) as olav:
        before = sent(sites, olav)
        fresh_secret(sites)
        assert "gave another frame for olav than was committed before" in refused(
            sites, 4
        )
        forget_frames(sites)
        olav.shows = before
        assert "olav has a frame of round 1 that is not in it" in refused(sites)
        olav.shows = None  # without both, another frame leaves in the same place
        assert sent(sites, olav).head.sha256 != before.head.sha256


def test_what_left_before_it_was_committed_is_noticed_at_the_restart(group, tmp_path):
    sites = two(group, "muffliato")
    with Neighbourly(sites) as olav:
        snapshot(sites, tmp_path / "early", "outbox:before")
        early = sent(sites, olav)
        put_back(
            sites, tmp_path / "early"
        )  # it died between the two, in the wrong order
        olav.shows = early
        assert "olav has a frame of round 1 that is not in it" in refused(sites)


def test_two_answers_under_one_secret_do_not_show_what_the_noise_hides(group, tmp_path):
    """A neighbour that lies when the round is repeated, to a peer that has forgotten its answer."""
    sites = two(group, "dpdl-sound")
    with Neighbourly(sites) as olav:
        snapshot(sites, tmp_path / "begun", "publish:before")
        answers = []
        for value in (0.0, -0.01, 0.0):  # at 0.01, all units are off as well
            put_back(sites, tmp_path / "begun")
            olav.answer = lying(value)
            answers.append(np.frombuffer(sent(sites, olav, ANSWERED).payload, "f4"))
        first, second, again = answers
        assert (first == again).all(), "the secret and the row are all that matters"
        # Sums of clipped gradients differ by 2 C at most; noise that cancelled would leave that.
        assert np.linalg.norm(first - second) > 20 * CLIP
