"""The trials of a search: what is known of them, and how they are run.

Successive halving (Jamieson and Talwalkar, Non-stochastic Best Arm Identification and
Hyperparameter Optimization, 2016) with factor 3 runs all trials for a ninth of the rounds, the
best third of them for a third, and the best third of those to the end. Other searches run all
trials to the end. A trial is one run with the noise of all its rounds: a rung stops it and a later
one resumes it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dpdl.errors import DpdlError, InputError, RunFailed
from dpdl.experiment.experiment import Experiment
from dpdl.folder import names
from dpdl.folder.run_folder import RunFolder
from dpdl.foreign import parse_json, read_text
from dpdl.studies.better_score import order
from dpdl.studies.folders import write_text
from dpdl.studies.held_out import load_held_out
from dpdl.studies.pool import PoolWatch, RunMany, at_once
from dpdl.studies.pool_messages import Ending, EndState, News, PooledRun
from dpdl.studies.search import FACTOR, Search, with_options
from dpdl.studies.search_records import Trial
from dpdl.training.interrupt import Interrupted

if TYPE_CHECKING:
    from dpdl.tasks.data import Dataset
    from dpdl.tasks.scores import Score


class Trials:
    """All trials of a search; `trials.jsonl` is written whenever more is known of one."""

    def __init__(self, s: Search, out: Path, progress: bool = False) -> None:
        self.search = s
        self._out = out
        self._progress = progress  # shown while data are fetched
        self._file = out / names.TRIALS
        found = _read_lines(self._file)
        known = dict(enumerate(found[: s.trials]))
        self.every = [_trial(s, k, known.get(k)) for k in range(s.trials)]
        # Those of an earlier, longer search are kept in the file.
        self._more = found[s.trials :]

    def experiment(self, k: int) -> Experiment:
        """What trial k runs."""
        e = with_options(self.search.experiment, self.every[k].values)
        return e.resolved()

    @cached_property
    def data(self) -> Dataset:
        """What trials are trained on and tested on."""
        return load_held_out(self.search.experiment, self._progress)

    @cached_property
    def score(self) -> Score:
        """What trials are compared by."""
        from dpdl.tasks.scores import score_of

        return score_of(self.search.experiment.score or self.data.form.targets.score)

    def check(self) -> None:
        """Look for everything that can be wrong with a trial that has not been started."""
        from dpdl.planning.plan import plan

        for k in range(self.search.trials):
            if RunFolder(self._folder(k)).started:
                continue
            try:
                plan(self.experiment(k), data=self.data)
            except DpdlError as failure:
                raise type(failure)(f"Trial {k}: {failure}") from failure

    def climb(self, jobs: int | None, watch: PoolWatch, pool: RunMany) -> None:
        """Rung by rung: run the trials that are left, and keep the best of them."""
        left = list(range(self.search.trials))
        for step in range(len(self.search.rungs())):
            rungs = {k: self.search.rungs(k)[step] for k in left}
            self._run(rungs, jobs, watch, pool)
            left.sort(key=lambda k: self._order(k, rungs[k]))
            left = left[: math.ceil(len(left) / FACTOR)]

    def ranked(self) -> list[Trial]:
        """Best first: those that got furthest, and among them by their last score."""
        return sorted(
            self.every,
            key=lambda one: (-len(one.scores), *self._order(one.trial, one.rounds)),
        )

    def _run(
        self,
        rungs: Mapping[int, int],
        jobs: int | None,
        watch: PoolWatch,
        pool: RunMany,
    ) -> None:
        """Run each of these trials up to its rung, unless it has a score there."""
        by_name: dict[str, int] = {}
        runs: list[PooledRun] = []
        for k, rung in rungs.items():
            if not self.every[k].scored(rung):
                folder = self._folder(k)
                by_name[folder.name] = k
                runs.append(PooledRun(folder, self.experiment(k), rung, held_out=True))

        def hear(name: str, news: News) -> None:
            if isinstance(news, Ending):
                k = by_name[name]
                self._record(k, rungs[k], news)
            watch(name, news)

        _refuse_unfinished(pool(runs, at_once(jobs, len(runs)), hear))

    def _record(self, k: int, rung: int, ending: Ending) -> None:
        trial = replace(self.every[k], error=ending.error)
        if ending.state is EndState.DIVERGED:
            trial = trial.with_score(rung, None)
        elif reached := ending.reached:
            trial = replace(
                trial.with_score(rung, reached.score),
                epsilon=reached.epsilon,
                epsilon_all_rounds=reached.epsilon_all_rounds,
            )
        self.every[k] = trial
        lines = [
            json.dumps(one.to_json(), allow_nan=False) + "\n"
            for one in [*self.every, *self._more]
        ]
        write_text(self._file, "".join(lines))

    def _order(self, k: int, rung: int) -> tuple[float, int]:
        score = self.every[k].score(rung)
        return order(score, self.score.lower_is_better), k

    def _folder(self, k: int) -> Path:
        return self._out / names.TRIAL_RUNS / names.run_of_trial(k)


def _trial(s: Search, k: int, known: Trial | None) -> Trial:
    """Trial k, with what is known of it; its options are those that the search draws."""
    values = s.values(k)
    return replace(known, trial=k, values=values) if known else Trial(k, values, {})


def _refuse_unfinished(endings: Mapping[str, Ending]) -> None:
    """Without all scores of a rung nobody can say who is best, so the search waits."""
    if any(one.state is EndState.INTERRUPTED for one in endings.values()):
        raise Interrupted(
            "Interrupted; the state of all trials is saved, continue with the same "
            "command."
        )
    for name, ending in endings.items():
        if ending.state is EndState.FAILED:
            raise RunFailed(
                f"{name} failed: {ending.error} Continue with the same command."
            )


def _read_lines(path: Path) -> list[Trial]:
    if not path.exists():
        return []
    try:
        lines = [parse_json(line) for line in read_text(path).splitlines()]
    except (OSError, ValueError) as failure:
        raise InputError(f"File {str(path)!r} is damaged: {failure}.") from failure
    return [Trial.from_json(one, f"{path}:{n}") for n, one in enumerate(lines, 1)]
