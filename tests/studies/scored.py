"""Stand-ins for what takes long in a search: the accountant, and the pool of runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from dpdl.experiment.experiment import Experiment
from dpdl.planning.privacy_model import PrivacyModel
from dpdl.privacy.epsilon import Epsilon
from dpdl.privacy.threats import Threat
from dpdl.studies.pool import PoolWatch
from dpdl.studies.pool_messages import Ending, EndState, PooledRun, Standing
from dpdl.studies.schedule import schedules
from dpdl.studies.search import Search
from dpdl.studies.search_records import SearchResult
from dpdl.studies.tuning import tune

E = Experiment(
    dataset="digits",
    agents=3,
    partition="iid",
    batch=32,
    algorithm="dp-dpsgd",
    rounds=8,
    epsilon=60.0,
    delta=1e-5,
    records="exact",
)
RECORDS = 1437 // 3


def quick(model: PrivacyModel, epsilon: float, threat: Threat) -> float:
    """An accountant that answers at once: sigma^2 = 0.3 + 100 q^2 T.

    So n falls to a limit, as it really does.
    """
    rate = model.batch / min(model.records)
    return math.sqrt(0.3 + 100 * rate**2 * model.rounds) * 60 / epsilon


planned = partial(schedules, sigma_of=quick)


class Scored:
    """A pool that runs nothing: a function of its run is the score of a trial.

    None: the trial diverged.
    """

    def __init__(self, score: Callable[[PooledRun], float | None]) -> None:
        self._score = score
        self.ran: list[PooledRun] = []

    def __call__(
        self, runs: Sequence[PooledRun], jobs: int, watch: PoolWatch
    ) -> dict[str, Ending]:
        self.ran += runs
        endings = {}
        for run in runs:
            endings[run.name] = self._ending(run)
            watch(run.name, endings[run.name])
        return endings

    def _ending(self, run: PooledRun) -> Ending:
        score = self._score(run)
        if score is None:
            return Ending(EndState.DIVERGED, error="Training diverged.")
        spent = Epsilon(float(run.until or 0))
        return Ending(
            EndState.PAUSED, Standing(run.until or 0, score, spent, Epsilon(9.0))
        )


def tuned(s: Search, out: str, pool: Scored, planner=planned) -> SearchResult:
    """A search with such a pool and such an accountant."""
    return tune(
        s,
        Path(out),
        jobs=None,
        watch=lambda name, news: None,
        planner=planner,
        pool=pool,
    )
