"""Whatever is handed over, every command ends as it should, and nothing that was there is lost.

Exit codes are 0, 2, 3 and 4 (and 130, when a command is asked to stop); a refusal is one sentence
of at most 300 characters that starts with `error:`; there is no traceback and no hang. The same
inputs by the million: `python tools/fuzz.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import cases, quick
from tests.fuzz.judge import Done, complaints, lost, performed, snapshot
from tests.fuzz.laboratory import KINDS, Laboratory

INPUTS = {**dict.fromkeys(cases.KINDS, 30), **dict.fromkeys(quick.QUICK, 300)}
"""Inputs of every kind; `DPDL_FUZZ` multiplies them."""
TIMES = int(os.environ.get("DPDL_FUZZ", "1"))


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    before = dict(os.environ)
    found = Laboratory(tmp_path_factory.mktemp("fuzz"))
    found.warm_up()
    yield found
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("kind", KINDS)
def test_no_input_breaks_anything(kind: str, laboratory: Laboratory) -> None:
    wrong = []
    for number in range(INPUTS[kind] * TIMES):
        found = laboratory.try_one(kind, Random(f"{kind} {number}"))
        if found.wrong:
            wrong.append(f"{number}: {found.wrong}\n{found.about}\n{found.err[-2000:]}")
    assert not wrong, "\n\n".join(wrong[:5])


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=5,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    database=None,
)
@given(r=st.randoms(use_true_random=False))
def test_hypothesis_finds_no_input_that_does(
    kind: str, laboratory: Laboratory, r: Random
) -> None:
    found = laboratory.try_one(kind, r)
    assert not found.wrong, f"{found.about}\n{found.err[-2000:]}"


def test_every_command_is_tried() -> None:
    drawn = {cases.of_options(Random(k), Path()).words[:1] for k in range(500)}
    assert {names[:1] for names in cases.commands()} <= drawn
    assert ("privacy", "verify") in cases.commands()


# ------------------------------------------------------------------ the judge itself
@pytest.mark.parametrize(
    ("done", "complaint"),
    [
        (Done(1, "", "", 0), "exit code 1"),
        (Done(None, "", "Traceback (most", 0), "a traceback"),
        (Done(2, "", "", 0), "0 errors at exit code 2"),
        (Done(2, "", "error: a\nerror: b\n", 0), "2 errors at exit code 2"),
        (Done(0, "", "error: a\n", 0), "1 errors at exit code 0"),
        (Done(2, "", f"error: {'a' * 300}\n", 0), "an error of 307 characters"),
        (Done(4, "", "error: \x1b[0m\n", 0), "an error with control characters"),
    ],
    ids=range(7),
)
def test_the_judge_complains(done: Done, complaint: str) -> None:
    assert complaint in set(complaints(done))


def test_the_judge_is_content_with_a_refusal() -> None:
    assert not list(complaints(performed(["graph", "rong"])))


def test_the_judge_sees_what_is_lost(tmp_path: Path) -> None:
    for name in ("kept", "changed", "gone", "mine"):
        (tmp_path / name).write_text(name)
    before = snapshot(tmp_path)
    (tmp_path / "changed").write_text("x")
    (tmp_path / "mine").write_text("x")
    (tmp_path / "gone").unlink()
    found = list(lost(before, snapshot(tmp_path), ["mine"]))
    assert found == ["changed was changed", "gone was lost"]
