"""Objects that a person gives in place of the names in an experiment, checked before all else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Union

from torch import nn

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.graph import Graph, from_networkx
from dpdl.graph.networks import is_network
from dpdl.tasks.data import Dataset
from dpdl.tasks.data.site_records import Owner
from dpdl.tasks.losses import Loss
from dpdl.tasks.models import made_by
from dpdl.tasks.scores import RecordScore, Score

if TYPE_CHECKING:
    import networkx

GivenGraph = Union[Graph, "networkx.Graph"]
"""A graph of ours, or an undirected one of networkx."""
GivenModel = nn.Module | Callable[[], nn.Module]
"""A module, or a class or a function that gives one without arguments."""
FORM = "dpdl.Dataset(name, x, y, x_test, y_test, classes=...)"


class Objects(TypedDict, total=False):
    """Objects that stand in for the names in an experiment."""

    data: Dataset | None
    model: GivenModel | None
    graph: GivenGraph | None
    sites: Sequence[Owner] | None
    loss: Loss | None
    score: Score | RecordScore | None


def check_given(experiment: object, objects: Objects) -> None:
    """Refuse what is no experiment, no data set, no site, no loss and no score."""
    if not isinstance(experiment, Experiment):
        raise _wrong("experiment", "a dpdl.Experiment", experiment)
    data = objects.get("data")
    if data is not None and not isinstance(data, Dataset):
        raise _wrong("data", "a dpdl.Dataset", data, f"; make one of tensors: {FORM}")
    _check_sites(objects.get("sites"))
    for name in ("loss", "score"):
        value = objects.get(name)
        if value is not None and not (callable(value) or hasattr(value, "total")):
            hint = f"; Experiment({name}=...) takes a name"
            raise _wrong(name, "a function", value, hint)


def graph_of(given: object, e: Experiment) -> Graph | None:
    """The graph that was given, with the weights of the experiment if it has none itself."""
    if given is None or isinstance(given, Graph):
        return given
    if is_network(given):
        network: Any = given
        return from_networkx(network, e.weights, e.seed)
    wanted = "a dpdl.Graph or an undirected networkx.Graph"
    hint = "; dpdl.Graph(W) takes a mixing matrix, Experiment(graph=...) a name"
    raise _wrong("graph", wanted, given, hint)


def module_of(given: object, e: Experiment) -> nn.Module | None:
    """The module that was given, or that a class or a function makes."""
    if given is None or isinstance(given, nn.Module):
        return given
    if not callable(given):
        wanted = "a torch.nn.Module, or a class or a function that gives one"
        raise _wrong("model", wanted, given, "; Experiment(model=...) takes a name")
    name = getattr(given, "__qualname__", type(given).__qualname__)
    return made_by(given, f"model {name}", e.seed)


def _check_sites(sites: object) -> None:
    if sites is None:
        return
    wanted = "a list of files or of dpdl.Dataset, one for each agent"
    if not isinstance(sites, list | tuple):
        raise _wrong("sites", wanted, sites)
    for one in sites:
        if not isinstance(one, str | Path | Dataset):
            raise _wrong("sites", wanted, one)


def _wrong(name: str, wanted: str, given: object, hint: str = "") -> InputError:
    return InputError(f"{name} must be {wanted}, not {type(given).__name__}{hint}.")
