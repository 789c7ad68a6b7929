"""What is common to all trackers."""

from __future__ import annotations

import os

import pytest

from dpdl.trackers.base import Destination, unless_said


def test_what_a_person_has_said_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAID", "yes")
    monkeypatch.setenv("UNSAID", "")
    monkeypatch.delenv("UNSAID")
    unless_said(SAID="no", UNSAID="no")
    assert (os.environ["SAID"], os.environ["UNSAID"]) == ("yes", "no")


def test_by_default_nothing_leaves_the_run_folder() -> None:
    assert Destination() == Destination("run folder", sends=False)
