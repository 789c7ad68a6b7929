"""Before the first round: who hosts whom, from which round, and in which folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dpdl.errors import InputError
from dpdl.planning.plan import Plan
from dpdl.tasks.data import Dataset
from dpdl.training.meeting import chosen_folder, meet
from dpdl.transport import Alone, Post
from dpdl.transport.threads import run_threads
from tests.training.small import changed, planned, train


def met(p: Plan, run: Path | None, size: int) -> dict[int, Any]:
    found: dict[int, Any] = {}

    def one(transport: Any) -> None:
        found[transport.rank] = meet(Post(transport), p, run)

    run_threads(size, one)
    return found


def test_agents_are_hosted_in_blocks_and_start_from_the_beginning(
    blobs: Dataset,
) -> None:
    found = met(planned(blobs), None, 2)
    assert [list(found[rank].site.records) for rank in (0, 1)] == [[0, 1, 2], [3, 4]]
    assert [found[rank].start for rank in (0, 1)] == [None, None]


def test_more_processes_than_agents_are_refused(blobs: Dataset) -> None:
    with pytest.raises(InputError, match="at most one process per agent"):
        met(planned(blobs), None, 6)


def test_all_go_on_from_the_last_round_with_their_own_agents(
    blobs: Dataset, tmp_path: Path
) -> None:
    train(blobs, changed(rounds=6), out=tmp_path / "run")
    p = planned(blobs, changed(rounds=6))
    found = met(p, tmp_path / "run", 2)
    assert [found[rank].start.round for rank in (0, 1)] == [6, 6]
    assert [len(found[rank].start.state["x"]) for rank in (0, 1)] == [3, 2]


def test_a_folder_is_that_of_process_0(blobs: Dataset, tmp_path: Path) -> None:
    found: dict[int, Path] = {}

    def one(transport: Any) -> None:
        own = tmp_path / f"of-{transport.rank}"
        found[transport.rank] = chosen_folder(Post(transport), p, own, again=again)

    p = planned(blobs)
    again = False
    run_threads(2, one)
    assert found == {0: tmp_path / "of-0", 1: tmp_path / "of-0"}
    again = True
    run_threads(2, one)
    assert found == {0: tmp_path / "of-0", 1: tmp_path / "of-1"}


def test_one_process_keeps_its_folder(blobs: Dataset, tmp_path: Path) -> None:
    post = Post(Alone())
    assert chosen_folder(post, planned(blobs), tmp_path, again=False) == tmp_path
