"""Objects stand in for names; anything else is refused in one sentence that says what is allowed."""

from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest
import torch
from torch import nn

import dpdl
from dpdl.errors import InputError
from dpdl.planning.given import graph_of, module_of
from dpdl.planning.plan import plan
from tests.conftest import small_module
from tests.training.small import SMALL


class DataFrame:
    """Stands in for one of pandas, which is not installed here."""


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(25, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x.flatten(1))


def test_a_network_is_weighed_by_the_rule_of_the_experiment(blobs) -> None:
    e = dpdl.Experiment(**{**SMALL.as_dict(), "weights": "uniform"})
    p = plan(e, data=blobs, model=small_module(), graph=networkx.star_graph(4))
    assert len(p.graph) == 5
    assert np.array_equal(p.graph.W, dpdl.graph.star(5, "uniform").W)


@pytest.mark.parametrize("make", [Net, lambda: Net()], ids=["class", "function"])
def test_a_class_or_a_function_makes_the_model_by_the_seed(blobs, make) -> None:
    first, again = (plan(SMALL, data=blobs, model=make).task.initial for _ in range(2))
    assert torch.equal(first, again)
    other = dpdl.Experiment(**{**SMALL.as_dict(), "seed": 5})
    assert not torch.equal(first, plan(other, data=blobs, model=make).task.initial)
    assert plan(SMALL, data=blobs, model=make).own_module == "Net"


def test_what_is_given_as_it_is_stays_as_it_is() -> None:
    module, ring = Net(), dpdl.graph.ring(3)
    assert module_of(module, SMALL) is module and graph_of(ring, SMALL) is ring
    assert module_of(None, SMALL) is None and graph_of(None, SMALL) is None


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ({"data": DataFrame()}, "data must be a dpdl.Dataset, not DataFrame; make one"),
        ({"data": (1, 2)}, "data must be a dpdl.Dataset, not tuple"),
        ({"graph": [(0, 1)]}, "graph must be a dpdl.Graph or an undirected networkx"),
        ({"graph": "ring"}, r"not str; dpdl.Graph\(W\) takes a mixing matrix"),
        ({"graph": np.eye(3)}, "graph must be .* not ndarray"),
        ({"graph": networkx.DiGraph([(0, 1)])}, "must be undirected"),
        ({"model": "mlp"}, r"model must be .*, not str; Experiment\(model=...\)"),
        ({"model": lambda: 3}, "must give a torch.nn.Module, not int"),
        ({"model": nn.Linear}, "cannot be built without arguments"),
        ({"sites": "a.npz"}, "sites must be a list of files"),
        ({"sites": [DataFrame()]}, "one for each agent, not DataFrame"),
        ({"loss": "mse"}, "loss must be a function, not str"),
        ({"score": 3}, "score must be a function, not int"),
    ],
)
def test_anything_else_is_refused(objects: dict[str, Any], words: str) -> None:
    for call in (plan, dpdl.train):
        with pytest.raises(InputError, match=words) as refused:
            call(SMALL, **objects)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("experiment", [{"dataset": "digits"}, "digits", None])
def test_what_is_no_experiment_is_refused(experiment: object) -> None:
    with pytest.raises(InputError, match="experiment must be a dpdl"):
        dpdl.train(experiment)
