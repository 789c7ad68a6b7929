"""The state of agents after a round is found in whichever files have it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from dpdl.errors import InputError
from dpdl.folder import names
from dpdl.folder.checkpoint import Checkpoint, digest
from dpdl.folder.states import States


def state(round: int, *agents: int, seconds: float = 1.0) -> Checkpoint:
    """Rows that say of whom and of when they are."""
    rows = torch.tensor([[100.0 * round + agent] for agent in agents])
    totals = torch.tensor([[agent, round] for agent in agents])
    return Checkpoint(round, seconds, {"x": rows}, totals, agents)


def values(checkpoint: Checkpoint) -> list[float]:
    return checkpoint.state["x"].flatten().tolist()


def test_one_file_has_all_agents(tmp_path: Path) -> None:
    states = States(tmp_path)
    assert (states.last(), states.common(0)) == (0, "")
    states.save(state(3, 0, 1, 2)._replace(agents=None))
    assert states.last() == 3
    assert states.has(3, [0, 1, 2])
    assert not states.has(4, [0])
    assert values(states.load(3, [2, 0])) == [302.0, 300.0]
    assert states.common(3) == digest(tmp_path / names.STATE)
    assert states.common(2) == ""


def test_files_of_processes_are_put_together(tmp_path: Path) -> None:
    states = States(tmp_path)
    states.save_part(1, state(5, 2, 3, seconds=9.0))
    states.save_part(0, state(5, 0, 1))
    found = states.load(5, [3, 0])
    assert values(found) == [503.0, 500.0]
    assert found.totals.tolist() == [[3, 5], [0, 5]]
    assert (found.agents, found.seconds) == ((3, 0), 9.0)
    assert values(states.load(5, [1])) == [501.0]
    assert states.common(5) == ""


def test_a_process_keeps_the_round_before(tmp_path: Path) -> None:
    states = States(tmp_path)
    for t in (2, 4, 6):
        states.save_part(1, state(t, 2, 3))
    assert [states.has(t, [2, 3]) for t in (2, 4, 6)] == [False, True, True]
    states.save_part(1, state(6, 2, 3, seconds=7.0))
    assert states.has(4, [2]), "the same round again replaces itself only"
    assert values(states.load(4, [3])) == [403.0]


def test_process_0_says_which_round_all_have(tmp_path: Path) -> None:
    states = States(tmp_path)
    states.save_part(1, state(2, 1))
    assert states.last() == 0
    states.save_part(0, state(2, 0))
    states.save_part(1, state(4, 1))
    assert states.last() == 2


def test_after_round_0_everybody_knows_the_state_unless_it_is_over(
    tmp_path: Path,
) -> None:
    states = States(tmp_path)
    assert states.has(0, [0, 1])
    states.save_part(1, state(2, 1))
    assert states.has(0, [1])
    states.save_part(1, state(4, 1))
    assert not states.has(0, [1]), "process 0 had saved round 2"


def test_what_is_not_there_is_refused(tmp_path: Path) -> None:
    states = States(tmp_path)
    states.save_part(0, state(2, 0))
    for round, agents in ((3, [0]), (2, [0, 1])):
        with pytest.raises(InputError, match=f"no checkpoint of round {round}"):
            states.load(round, agents)
