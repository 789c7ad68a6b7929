"""The options of an experiment that members agree on: every one, each with its value.

A manifest has all options of the resolved experiment, except for those that it says elsewhere: who
the sites are, what a record looks like and how many there are. Nothing is left to defaults, which
another version might change, and nothing is read or imported to check them: the algorithm is one
that is installed here under its name, never `module:Class`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment, from_mapping
from dpdl.experiment.options import options_of
from dpdl.experiment.shared import SHARED
from dpdl.graph import GRAPHS, Graph
from dpdl.options import checked
from dpdl.records import JsonObject
from dpdl.text import shown

if TYPE_CHECKING:
    from dpdl.algorithms import Algorithm

ELSEWHERE = ("sites", "shape", "scaling", "predict", "test", "records")
"""What other tables of a manifest say."""
NOT_FOR_PEERS = {
    "budget": "every site has a budget of its own",
    "stop_after_stalled": "no site sees the losses of others",
    "centre": "its release is not one of the rounds that peers agree on",
    "centre_noise": "its release is not one of the rounds that peers agree on",
}
"""Options that no run between peers can have, and why."""
GIVEN = "given"
"""Stands for a graph that has no name: its weights are in the manifest."""
OWN_CODE = ("model", "loss", "score")
"""Options that may name code of the members' own, as `module:name`."""
WHERE = "manifest.experiment"


def options_table(e: Experiment) -> JsonObject:
    """All options of a resolved experiment that are set, without those that are said elsewhere."""
    values = e.to_json().items()
    return {
        name: value
        for name, value in values
        if value is not None and name not in ELSEWHERE
    }


def experiment_from(
    table: JsonObject, said: Mapping[str, object], sigma: float
) -> Experiment:
    """The experiment of such a table, resolved, with the agreed noise multiplier.

    `said` are the options that are said elsewhere. An option that is wrong, unknown or missing is
    an `InputError` that names it.
    """
    _check_each(table)
    try:
        e = from_mapping({**table, **said}).resolved()
    except InputError as failure:
        raise InputError(f"{WHERE}: {failure}") from failure
    _check_complete(table, options_table(e))
    if e.randomness != "secure":
        raise InputError(f"{WHERE}.randomness must be 'secure', not {e.randomness!r}.")
    if e.sigma not in (None, sigma):
        raise InputError(
            f"{WHERE}.sigma is {e.sigma!r}, but manifest.privacy.sigma {sigma!r}."
        )
    return replace(e, sigma=sigma)


def check_own_code(e: Experiment, modules: Collection[str]) -> None:
    """Refuse code outside the package, unless it is of a module that this site allows."""
    for name in OWN_CODE:
        value = getattr(e, name)
        module, colon, attribute = (value or "").partition(":")
        if colon and module not in modules:
            raise InputError(
                f"{WHERE}.{name} is code of {shown(module)}, which this site does not allow: list "
                "it among modules in peer.toml if it may run here."
            )
        if colon and not attribute.isidentifier():  # not our_models:os.abort
            raise InputError(
                f"{WHERE}.{name} must be MODULE:NAME with a name of the module itself, not "
                f"{shown(value)}."
            )


def check_algorithm(name: str, algorithm: Algorithm, graph: Graph) -> None:
    """Refuse an algorithm of which no peer can do its part alone."""
    algorithm.check(graph)
    if why := algorithm.needs_shared_seed:
        raise InputError(f"{name} is not for peers, who share no seed: {why}.")
    if algorithm.public_records:
        raise InputError(
            f"{name} takes public records out of the data set that is divided; between peers "
            "nothing is divided."
        )


def is_named(graph: str) -> bool:
    """Whether a graph can be built again for any number of members, from its name alone."""
    return graph.partition(":")[0] in GRAPHS


def _check_each(table: JsonObject) -> None:
    algorithm = table.get("algorithm")
    if not isinstance(algorithm, str) or ":" in algorithm:
        raise InputError(
            f"{WHERE}.algorithm must be a name that is installed, not {shown(algorithm)}."
        )
    try:
        known = {**SHARED, **options_of(algorithm)}
    except InputError as failure:
        raise InputError(f"{WHERE}.algorithm: {failure}") from failure
    for name, value in table.items():
        if name not in known or name in ELSEWHERE:
            raise InputError(f"{WHERE} has an unknown field {shown(name)}.")
        if why := NOT_FOR_PEERS.get(name):
            raise InputError(f"{WHERE}.{name} must be left out: {why}.")
        try:
            checked(known[name], value)
        except InputError as failure:
            raise InputError(f"{WHERE}.{name}: {failure}") from failure
    _check_graph(str(table.get("graph")))


def _check_graph(graph: str) -> None:
    """A file would be looked for here, and it is only at the site that proposed it."""
    if graph != GIVEN and not is_named(graph):
        raise InputError(
            f"{WHERE}.graph must be the name of a graph or {GIVEN!r}, not {shown(graph)}."
        )


def _check_complete(table: JsonObject, wanted: JsonObject) -> None:
    for name, value in wanted.items():
        if name not in table:
            raise InputError(f"{WHERE} has no {name!r}.")
        if table[name] != value:
            raise InputError(
                f"{WHERE}.{name} must be {shown(value)}, not {shown(table[name])}."
            )
    for name in table:
        if name not in wanted:
            raise InputError(f"{WHERE} has an unknown field {shown(name)}.")
