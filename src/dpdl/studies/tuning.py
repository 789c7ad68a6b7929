"""Hyper-parameters that do well on records held out of training.

What is tried is in `dpdl.studies.search`, how trials are run in `dpdl.studies.trials`. Scores are
those of the models on a tenth of the training records, never on the test records. They are not
private: see `WARNING`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from dpdl.errors import InputError
from dpdl.experiment.experiment import Experiment
from dpdl.experiment.shared import SHARED
from dpdl.folder import names
from dpdl.folder.lock import locked, refuse_difference
from dpdl.options import Value
from dpdl.privacy.epsilon import Epsilon
from dpdl.studies.folders import write_record, write_text
from dpdl.studies.pool import PoolWatch, RunMany, at_once, run_many
from dpdl.studies.schedule import Schedule, schedules
from dpdl.studies.search import Search, with_options
from dpdl.studies.search_records import (
    Composed,
    SearchFile,
    SearchResult,
    file_of,
    result_of,
    terms_of,
)
from dpdl.studies.trials import Trials

WARNING = (
    "Tuning reads private records, and the epsilon of a run does not account for it: "
    "every trial releases messages of its own, and the scores are computed from the "
    "held-out records without any noise."
)

Planner = Callable[[Experiment, float, bool], Sequence[Schedule]]
"""Rounds and batches to choose from, for an experiment, some work, and whether to show progress."""


def tune(
    s: Search,
    out: Path,
    *,
    jobs: int | None,
    watch: PoolWatch,
    progress: bool = False,
    planner: Planner = schedules,
    pool: RunMany = run_many,
) -> SearchResult:
    """Run what is missing, and write and return the result.

    Nothing is run before all of it was checked. `planner` is asked once, for a new search that has
    a budget; `pool` runs the trials.
    """
    at_once(jobs, 1)
    with locked(out, names.SEARCH, SearchFile) as before:
        if before:
            there, now = before.asked.resolved(), terms_of(s).resolved()
            refuse_difference(out, there.to_json(), now.to_json())
        s = _planned(s, before, planner, progress)
        trials = Trials(s, out, progress)
        trials.check()
        write_record(out / names.SEARCH, file_of(s))
        trials.climb(jobs, watch, pool)
        result = _result(trials, out)
        write_record(out / names.SEARCH_RESULT, result)
        best = with_options(s.experiment, result.best)
        write_text(out / names.BEST, as_toml(best))
        return result


def _planned(
    s: Search, before: SearchFile | None, planner: Planner, progress: bool
) -> Search:
    """The search with its schedules; a folder that was started keeps those that it has."""
    if s.work is None:
        return s
    if before and before.plan is not None:
        return replace(s, plan=before.plan)
    return replace(s, plan=tuple(planner(s.experiment, s.work, progress)))


def _result(trials: Trials, out: Path) -> SearchResult:
    """The best trial, all trials best first, and what tuning has cost."""
    s = trials.search
    ranked = [result_of(one) for one in trials.ranked()]
    best = ranked[0]
    if best.score is None:
        raise InputError(
            "All trials diverged; ask for smaller values with --range lr=low:high."
        )
    spent = [one.epsilon_all_rounds for one in trials.every]
    return SearchResult(
        best=best.values,
        score=best.score,
        algorithm=s.experiment.algorithm,
        trials=tuple(ranked),
        search=s.search,
        threat=s.experiment.threat,
        warning=WARNING,
        composed=composed(s.experiment, spent),
        out=str(out),
        plan=None if s.work is None else s.plan,
        score_name=None if trials.score.name == "accuracy" else trials.score.name,
    )


def composed(e: Experiment, epsilons: Sequence[Epsilon]) -> Composed | None:
    """What all trials together give away of a record that they trained on; None: nothing holds.

    By basic composition the epsilons and the deltas add up, if the trials draw independent noise.
    Each counts with all its rounds, even if it was stopped early: which one is stopped depends on
    what all have released. Trials whose randomness is repeatable do not: all have the same seed,
    and whoever hears two of them can cancel their noise.
    """
    from dpdl.planning.build import make_algorithm
    from dpdl.planning.plan import make_randomness

    randomness = make_randomness(e, make_algorithm(e.resolved()))
    bounded = [one.finite for one in epsilons if one.finite is not None]
    if randomness.repeatable or len(bounded) < len(epsilons):
        return None
    return Composed(Epsilon(math.fsum(bounded)), len(epsilons) * e.delta)


def as_toml(e: Experiment) -> str:
    """An experiment file with every option that is not at its default."""
    asked = {
        name: getattr(e, name)
        for name, f in SHARED.items()
        if getattr(e, name) != f.default
    }
    own = {name: value for name, value in e.options.items() if value is not None}
    return "".join(f"{name} = {_toml(v)}\n" for name, v in {**asked, **own}.items())


def _toml(value: Value) -> str:
    """A text, a number, a truth value or a list of texts as TOML writes it."""
    if isinstance(value, str | bool | tuple):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)
