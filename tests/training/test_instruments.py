"""What process 0 may look at: everything in a simulation, models only where records are protected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from dpdl.folder.checkpoint import Checkpoint
from dpdl.folder.states import States
from dpdl.net import blocks
from dpdl.planning.site import EvaluationRecords
from dpdl.tasks.data.form import Form
from dpdl.tasks.targets import Classes
from dpdl.tasks.task import Task
from dpdl.training.instruments import (
    Experimenter,
    Instruments,
    PublicInstruments,
    instruments_for,
    records_stay,
)
from dpdl.training.observe import Examiner
from dpdl.transport import Alone, Post
from dpdl.transport.threads import run_threads

AGENTS = 3
PLACE = blocks(AGENTS, 2)
ROWS = torch.arange(12.0).reshape(AGENTS, 4)
FORM = Form((2,), Classes(2))


def in_two(
    repeatable: bool,
    work: Callable[[Instruments, Tensor], Any],
    states: States | None = None,
) -> list[Any]:
    """What `work` returns in two processes that are apart; it is given the agents hosted there."""
    found: dict[int, Any] = {}

    def one(transport: Any) -> None:
        here = (transport.rank == PLACE).nonzero().flatten()
        made = instruments_for(Post(transport), PLACE, states, repeatable)
        found[transport.rank] = work(made, here)

    run_threads(2, one, apart=True)
    return [found[0], found[1]]


@pytest.mark.parametrize("repeatable", [True, False])
def test_models_are_collected_in_the_order_of_the_agents(repeatable: bool) -> None:
    first, second = in_two(repeatable, lambda i, here: i.models(ROWS[here]))
    assert torch.equal(first, ROWS)
    assert second is None


def test_an_experimenter_sees_what_agents_report() -> None:
    def work(i: Instruments, here: Tensor) -> Any:
        return i.diagnostics({"loss": here.double()}), i.broken(here + 1)

    (values, broken), other = in_two(True, work)
    assert values["loss"].tolist() == [0, 1, 2]
    assert broken == 6
    assert other == (None, None)


def test_where_records_are_protected_nothing_is_reported() -> None:
    def work(i: Instruments, here: Tensor) -> Any:
        return i.diagnostics({"loss": here.double()}), i.broken(here + 1)

    assert in_two(False, work) == [({}, None), (None, None)]


def examiner(here: Tensor, common: bool) -> Examiner:
    """Agent k has a record of class k modulo 2; models say class 1 when they are above 5."""
    task = Task(nn.Linear(2, 2, bias=False))
    x = torch.ones(1, 2)
    public = EvaluationRecords(x, torch.tensor([1]))
    tests = {
        int(k): public if common else EvaluationRecords(x, torch.tensor([int(k) % 2]))
        for k in here
    }
    return Examiner(task, FORM, tests, common)


ONES = torch.tensor([[0.0, 0, 1, 1]] * AGENTS)
"""Models that always say class 1."""


@pytest.mark.parametrize(
    ("repeatable", "common", "scores", "average"),
    [
        (True, True, [1, 1, 1], 1),
        (True, False, [0, 1, 0], pytest.approx(1 / 3)),
        (False, True, [1, 1, 1], 1),
        (False, False, [0, 1, 0], 0),  # on what process 0 has
    ],
)
def test_scores(
    repeatable: bool, common: bool, scores: list[int], average: Any
) -> None:
    def work(i: Instruments, here: Tensor) -> Any:
        tested = examiner(here, common)
        models = i.models(ONES[here])
        return i.scores(tested, ONES[here], models), i.score_of_average(tested, models)

    (found, of_average), other = in_two(repeatable, work)
    if not repeatable and not common:
        scores = [0, 1, 0][: len(found)]
    assert found.tolist() == scores
    assert of_average == average
    assert other == (None, None)


def test_state_is_one_file_in_a_simulation_and_one_per_process_otherwise(
    tmp_path: Path,
) -> None:
    def work(i: Instruments, here: Tensor) -> None:
        totals = torch.zeros(len(here), 2, dtype=torch.int64)
        i.save(Checkpoint(4, 1.0, {"x": ROWS[here]}, totals, tuple(here.tolist())))

    for repeatable, files in ((True, 1), (False, 2)):
        folder = tmp_path / str(repeatable)
        folder.mkdir()
        in_two(repeatable, work, States(folder))
        assert len(list(folder.glob("state*.safetensors"))) == files
        found = States(folder).load(4, [1, 2])
        assert found
        assert torch.equal(found.state["x"], ROWS[1:])


def test_who_is_alone_sees_everything() -> None:
    post = Post(Alone())
    assert not records_stay(post, repeatable=False)
    alone = instruments_for(post, blocks(AGENTS, 1), None, repeatable=False)
    assert isinstance(alone, Experimenter)
    assert torch.equal(alone.models(ROWS), ROWS)  # type: ignore[arg-type]


def test_processes_apart_with_secure_noise_have_public_instruments() -> None:
    kinds = in_two(False, lambda i, here: type(i))
    assert kinds == [PublicInstruments] * 2
    assert in_two(True, lambda i, here: type(i)) == [Experimenter] * 2
