"""Whatever is handed over, every command ends as it should, and nothing that was there is lost.

Exit codes are 0, 2, 3 and 4 (and 130, when a command is asked to stop); a refusal is one sentence
of at most 300 characters that starts with `error:`; there is no traceback and no hang. The same
inputs by the million: `python tools/fuzz.py`.
"""

from __future__ import annotations

import json
import os
import runpy
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fuzz import cases, quick
from tests.fuzz.judge import Done, complaints, lost, performed, snapshot
from tests.fuzz.laboratory import KINDS, Laboratory, Verdict, memory

COMMANDS = {
    "options": 15,
    "run folders": 15,
    "studies": 20,
    "experiments": 15,
    "graphs": 40,
    "data": 40,
    "privacy": 5,
}
READERS = {kind: 150 if quick.OFTEN[kind] == 1 else 500 for kind in quick.QUICK}
INPUTS = {**COMMANDS, **READERS}
"""4,700 inputs of every kind, in half a minute of one core; `DPDL_FUZZ` multiplies them."""
TIMES = int(os.environ.get("DPDL_FUZZ", "1"))


@pytest.fixture(scope="module")
def laboratory() -> Iterator[Laboratory]:
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(dir=memory()) as place:
        found = Laboratory(Path(place))
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


@pytest.mark.parametrize("kind", [*quick.QUICK, "graphs", "data"])
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


# ------------------------------------------------------------------ a million of them
TOOL = Path(__file__).parents[2] / "tools" / "fuzz.py"


def verdict(k: int, *wrong: str) -> Verdict:
    return Verdict("reader: x", "read", wrong, input=f"{k:016x}")


def test_counts_go_on_where_a_killed_process_has_written_last(tmp_path: Path) -> None:
    tool = runpy.run_path(str(TOOL))
    path, about = tmp_path / "fuzz.json", {"seed": 1}
    counts = tool["Counts"](path, about)
    for k in (1, 2, 2):
        counts.add(verdict(k), k)
    counts.add(verdict(3, "a traceback"), 7)
    counts.write(0.5)
    with path.with_suffix(".seen").open("ab") as file:
        file.write(b"more, of a process that was killed")
    again = tool["Counts"](path, about)
    assert (again.done, again.minutes) == (4, 0.5)
    again.add(verdict(1), 8)
    again.write(1.0)
    found = json.loads(path.read_text())
    assert (found["done"], found["distinct"], found["wrong"]) == (5, 3, 1)
    assert found["ended"] == {"reader: x -> read": 5}
    (line,) = path.with_suffix(".wrong.jsonl").read_text().splitlines()
    assert json.loads(line)["number"] == 7
    with pytest.raises(SystemExit, match="counts other inputs"):
        tool["Counts"](path, {"seed": 2})


def test_every_kind_is_drawn_among_many() -> None:
    kind_of = runpy.run_path(str(TOOL))["kind_of"]
    assert {kind_of(Random(k), 0.2) for k in range(2000)} == set(KINDS)
    assert not {kind_of(Random(k), 0.0) for k in range(500)} & set(cases.KINDS)
