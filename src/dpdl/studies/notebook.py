"""`compare`, `tune` and `report` as functions, for scripts and notebooks.

They do what `dpdl compare`, `dpdl tune` and `dpdl report` do, and give back what those print as
JSON. Runs are processes of their own, so data, modules and graphs are named, not given as objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.experiment.shared import SHARED
from dpdl.objects import place_of
from dpdl.options import Value
from dpdl.studies import comparison, tuning
from dpdl.studies.comparison_request import Equal, make_comparison
from dpdl.studies.comparison_table import ComparisonTable
from dpdl.studies.folders import comparison_folder, search_folder
from dpdl.studies.pages import WrittenPage, make_page
from dpdl.studies.pool import PoolWatch
from dpdl.studies.pool_messages import News
from dpdl.studies.search import SearchName, make_search
from dpdl.studies.search_records import SearchResult

Ranges = Mapping[str, tuple[float, float]]


def compare(
    experiment: Experiment,
    algorithms: Sequence[str],
    *,
    seeds: int = 1,
    own: Mapping[str, Mapping[str, Value]] | None = None,
    equal: Equal | None = None,
    megabytes: float | None = None,
    out: Path | str | None = None,
    jobs: int | None = None,
    watch: PoolWatch | None = None,
) -> ComparisonTable:
    """Several algorithms on the same data, graph and seeds, under equal conditions.

    `experiment` says what all share; its algorithm does not matter. `own` are options of single
    algorithms, by their name. Equal are the epsilon, the noise or the bytes (`megabytes` that a
    run may send). The same call continues what was interrupted. A run that failed is in its row.
    """
    _check(experiment)
    sets = [
        f"{algorithm}.{name}={value}"
        for algorithm, options in (own or {}).items()
        for name, value in options.items()
    ]
    c = make_comparison(
        ",".join(_texts("algorithms", algorithms)),
        seeds,
        _given(experiment),
        sets,
        equal=equal,
        megabytes=megabytes,
    )
    place = place_of("out", out) if out else comparison_folder(c)
    return comparison.compare(c, place, jobs=jobs, watch=watch or _ignore)


def tune(
    experiment: Experiment,
    over: Sequence[str],
    *,
    trials: int = 16,
    search: SearchName = "random",
    ranges: Ranges | None = None,
    work: float | None = None,
    out: Path | str | None = None,
    jobs: int | None = None,
    watch: PoolWatch | None = None,
) -> SearchResult:
    """Options that do well on records held out of training; no epsilon accounts for the search.

    `over` are the options that are searched, `ranges` their lowest and highest values where those
    that they declare are not wanted. With `work`, rounds and batch are chosen too, for the epsilon
    of the experiment. The same call continues what was interrupted.
    """
    _check(experiment)
    given = [f"{name}={low!r}:{high!r}" for name, (low, high) in (ranges or {}).items()]
    named = ",".join(_texts("over", over))
    s = make_search(experiment, named, trials, search, given, work)
    place = place_of("out", out) if out else search_folder(s)
    return tuning.tune(s, place, jobs=jobs, watch=watch or _ignore)


def report(
    *folders: Path | str, out: Path | str | None = None, public: bool = False
) -> WrittenPage:
    """One HTML page about runs, attacks or reproduced cells.

    A `public` one leaves out what no epsilon covers.
    """
    if not folders:
        raise InputError("report needs at least one folder.")
    return make_page(
        [place_of("folder", one) for one in folders],
        place_of("out", out) if out else None,
        public,
    )


def _check(experiment: object) -> None:
    if not isinstance(experiment, Experiment):
        kind = type(experiment).__name__
        raise InputError(f"experiment must be a dpdl.Experiment, not {kind}.")


def _texts(name: str, value: object) -> list[str]:
    """One name, or several."""
    found = [value] if isinstance(value, str) else value
    if not isinstance(found, list | tuple) or not all(
        isinstance(one, str) for one in found
    ):
        raise InputError(f"{name} must be a list of names, not {value!r}.")
    return [*found]


def _given(e: Experiment) -> dict[str, Value]:
    """The options that are not at their default, as a command line would give them."""
    shared = {
        name: getattr(e, name)
        for name, f in SHARED.items()
        if name != "algorithm" and getattr(e, name) != f.default
    }
    own = {name: value for name, value in e.options.items() if value is not None}
    return {**shared, **own}


def _ignore(name: str, news: News) -> None:
    """Nobody watches."""
