"""Names that do not exist are refused before torch is imported, as a plan would refuse them."""

from __future__ import annotations

from pathlib import Path

import pytest

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.planning.early import check_data, check_names, look_ahead
from dpdl.planning.plan import plan

WRONG = [
    ({"dataset": "mnits"}, "Did you mean 'mnist'"),
    ({"dataset": "nowhere.npz"}, "The data file nowhere.npz does not exist"),
    ({"dataset": "nowhere:load"}, "No module named 'nowhere'"),
    ({"graph": "rong"}, "Did you mean 'ring'"),
    ({"graph": "bipartite", "agents": 5}, "odd"),
    ({"model": "lennet"}, "Did you mean 'lenet'"),
    ({"model": "nowhere:Net"}, "No module named 'nowhere'"),
    ({"loss": "hinge"}, "Unknown loss 'hinge'"),
    ({"score": "acuracy"}, "Did you mean 'accuracy'"),
    ({"budget": "-1"}, "finite epsilons above 0"),
]


@pytest.mark.parametrize(("given", "hint"), WRONG)
def test_what_a_plan_refuses_is_refused_early(
    given: dict, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    e = from_mapping({"dataset": "digits", "agents": 4, "sigma": 1.0, **given})
    with pytest.raises(InputError, match=hint) as early:
        look_ahead(e)
    with pytest.raises(InputError) as later:
        plan(e)
    assert str(early.value) == str(later.value)


def test_the_graph_is_the_plans() -> None:
    e = Experiment(dataset="digits", graph="erdos-renyi", agents=6, seed=3, sigma=1.0)
    graph = look_ahead(e)
    assert (graph.W == plan(e).graph.W).all()
    assert plan(e, graph=graph).graph is graph


def test_names_and_data_can_be_checked_alone(tmp_path: Path) -> None:
    check_names(Experiment(dataset="digits", model="mlp", score="accuracy"))
    file = tmp_path / "mine.npz"
    file.touch()
    check_data(Experiment(dataset=str(file)))
    check_data(Experiment(sites=("elsewhere.npz", "there.npz")))
    with pytest.raises(InputError, match="lennet"):
        check_names(Experiment(dataset="digits", model="lennet"))
